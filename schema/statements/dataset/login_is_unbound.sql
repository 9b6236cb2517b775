-- True if no right limits this connection's login: it is, or may become, a superuser, or one that makes roles or
-- databases, replicates, passes by the security of rows, or may reach files and programs of the server.
select exists (select from pg_roles
               where (rolsuper or rolcreaterole or rolcreatedb or rolreplication or rolbypassrls
                      or rolname in ('pg_read_server_files', 'pg_write_server_files', 'pg_execute_server_program'))
                 and pg_has_role(session_user, oid, 'member'))
