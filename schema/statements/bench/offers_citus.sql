-- True where the server has loaded the extension, so that each of its databases may have it.
select current_setting('shared_preload_libraries') ~ '\mcitus\M'
  and exists (select from pg_available_extensions where name = 'citus')
