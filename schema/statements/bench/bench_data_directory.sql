-- The folder of the server's data; no row where that is another machine's, or this role may not know it.
select s.setting as directory
from pg_settings s
where s.name = 'data_directory' and (inet_server_addr() is null or inet_server_addr() = inet_client_addr())
