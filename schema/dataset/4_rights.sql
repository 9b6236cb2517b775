-- The rights of the data set's login: it may read, and nothing else.
grant usage on schema sample_shop to cairn_data;
grant select on all tables in schema sample_shop to cairn_data;
