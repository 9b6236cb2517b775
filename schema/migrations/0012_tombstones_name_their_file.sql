-- Where the archive was written: what a person looks for first. It may have been moved since, so it is not signed;
-- file_digest tells whether a file is the one.
alter table cairn.tombstone add column file text not null default '';

comment on column cairn.tombstone.file is 'The archive''s path when it was written; empty: an older program archived.';
