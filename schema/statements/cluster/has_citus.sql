-- True where this database has the extension.
select exists (select from pg_extension where extname = 'citus')
