-- True if no right limits this connection's login: it is a superuser, or may reach files and programs of the server.
select rolsuper or pg_has_role(oid, 'pg_read_server_files', 'member')
       or pg_has_role(oid, 'pg_write_server_files', 'member') or pg_has_role(oid, 'pg_execute_server_program', 'member')
from pg_roles
where rolname = session_user
