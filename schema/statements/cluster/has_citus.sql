-- Whether the extension is in this database.
select exists (select from pg_extension where extname = 'citus')
