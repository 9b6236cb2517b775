-- The settings that differ from the defaults, without names of files.
select name, current_setting(name)
from pg_settings
where source in ('configuration file', 'command line', 'database', 'user', 'database user', 'global')
  and category not like 'File Locations%' and category not like 'Client Connection Defaults / Locale%'
  and vartype <> 'string' or name in ('fsync', 'synchronous_commit', 'full_page_writes', 'autovacuum')
order by name
