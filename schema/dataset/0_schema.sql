-- The sample data set: a schema of its own, and a login that may read it and nothing else.
do $$
begin
  if not exists (select from pg_roles where rolname = 'cairn_data') then
    create role cairn_data login;
  end if;
exception
  when duplicate_object or unique_violation then
    null;  -- another database of this cluster was quicker
end $$;
alter role cairn_data set default_transaction_read_only = on;
do $$
begin
  alter role cairn_data set temp_file_limit = '1GB';
exception
  when insufficient_privilege then
    null;  -- only a superuser may
end $$;
create schema sample_shop;
comment on schema sample_shop is 'The sample data set of Cairn, version 1.';
