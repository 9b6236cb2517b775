-- Whether a language model answers the session's steps; false: only the rule book does. Null: a worker of an earlier
-- release, which does not say.
alter table cairn.worker add column has_model boolean;
