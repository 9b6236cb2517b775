-- Roles and what they may do. Run again by every migrate; a login without the right to make roles continues without
-- them.
do $$
declare
  wanted text;
begin
  foreach wanted in array array['cairn_app', 'cairn_read', 'cairn_archive'] loop
    continue when exists (select from pg_roles where rolname = wanted);
    begin
      execute format('create role %I nologin', wanted);
    exception
      when insufficient_privilege then
        raise notice 'role % is missing and this login may not create it; its grants are left out', wanted;
      when duplicate_object or unique_violation then
        null;  -- another database of this cluster was quicker
    end;
  end loop;

  if exists (select from pg_roles where rolname = 'cairn_app') then
    grant usage on schema cairn to cairn_app;
    grant select on all tables in schema cairn to cairn_app;
    grant insert, update, delete on cairn.run, cairn.job, cairn.snapshot, cairn.question, cairn.worker,
      cairn.permit, cairn.rate, cairn.key_turn, cairn.budget_use, cairn.home, cairn.progress, cairn.feed,
      cairn.feed_place, cairn.schedule, cairn.hook, cairn.hook_delivery, cairn.start_key, cairn.waiting_start
      to cairn_app;
    grant insert, delete on cairn.feed_consumer to cairn_app;
    grant insert, update, delete on cairn.saved_view to cairn_app;
    grant insert on cairn.link_key to cairn_app;
    grant insert, update on cairn.graph, cairn.queue to cairn_app;
    grant insert, delete on cairn.passage to cairn_app;
    grant insert on cairn.event, cairn.blob, cairn.checkpoint, cairn.import, cairn.schedule_note, cairn.hook_note,
      cairn.queue_change to cairn_app;
    grant update (put_at) on cairn.blob to cairn_app;
    revoke update, delete, truncate on cairn.event, cairn.schedule_note, cairn.hook_note, cairn.queue_change
      from cairn_app, public;
    revoke insert, update, delete, truncate on cairn.token from cairn_app, public;  -- a server reads them
  end if;
  if exists (select from pg_roles where rolname = 'cairn_read') then
    grant usage on schema cairn to cairn_read;
    grant select on all tables in schema cairn to cairn_read;
    revoke all on cairn.token, cairn.link_key from cairn_read;
  end if;
  -- The one role that may remove a history. `cairn archive` and `cairn erase` take it on for that
  -- alone; who runs them must be a member.
  if exists (select from pg_roles where rolname = 'cairn_archive') then
    grant usage on schema cairn to cairn_archive;
    grant select on all tables in schema cairn to cairn_archive;
    revoke all on cairn.token, cairn.link_key from cairn_archive;
    grant update, delete on cairn.run to cairn_archive;
    grant delete on cairn.event, cairn.job, cairn.snapshot, cairn.question, cairn.import to cairn_archive;
    grant delete on cairn.blob, cairn.progress to cairn_archive;
    grant insert, delete on cairn.erasing to cairn_archive;
    grant insert, update on cairn.tombstone to cairn_archive;
  end if;
  -- Made by `cairn distribute`; each transaction on a node of a cluster begins with it.
  if to_regprocedure('cairn.hold_shard(bigint)') is not null then
    revoke execute on function cairn.hold_shard(bigint) from public;
    foreach wanted in array array['cairn_app', 'cairn_read', 'cairn_archive'] loop
      continue when not exists (select from pg_roles where rolname = wanted);
      execute format('grant execute on function cairn.hold_shard(bigint) to %I', wanted);
    end loop;
  end if;
exception
  when insufficient_privilege then
    raise notice 'grants are left as they are: this login does not own the schema cairn';
end $$;
