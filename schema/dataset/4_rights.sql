-- What the login of the data set may do: read it.
grant usage on schema sample_shop to cairn_data;
grant select on all tables in schema sample_shop to cairn_data;
