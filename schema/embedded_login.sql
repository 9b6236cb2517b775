-- The login of an embedded cluster for everything but migrations, archives and databases: run by its owner after each
-- migrate. It may see what other logins do, so that `cairn doctor` does.
do $$
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
end $$;
