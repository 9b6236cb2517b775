-- The login of an embedded cluster for everything but migrations, archives and databases: run by its owner after each
-- migrate. It may see what other logins do, so that `cairn doctor` does. Functions with which a reader of a data set
-- could change its limits, write WAL or take locks are for the roles of Cairn alone.
do $$
declare
  taken regprocedure;
begin
  if not exists (select from pg_roles where rolname = 'cairn') then
    create role cairn login;
  end if;
  if not pg_has_role('cairn', 'cairn_app', 'usage') then
    grant cairn_app to cairn;
  end if;
  if not pg_has_role('cairn', 'pg_read_all_stats', 'usage') then
    grant pg_read_all_stats to cairn;
  end if;
  for taken in
    select oid from pg_proc
    where pronamespace = 'pg_catalog'::regnamespace and has_function_privilege('public', oid, 'execute')
      and (proname in ('set_config', 'pg_logical_emit_message', 'pg_export_snapshot', 'lo_creat', 'lo_create',
                       'lo_from_bytea', 'lo_put', 'lowrite', 'lo_truncate', 'lo_truncate64', 'lo_unlink')
           or proname like 'pg_advisory%lock%' or proname like 'pg_try_advisory%lock%')
  loop
    execute format('revoke execute on function %s from public', taken);
    execute format('grant execute on function %s to cairn_app, cairn_read, cairn_archive', taken);
  end loop;
end $$;
