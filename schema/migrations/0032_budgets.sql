-- Budgets of queues (decision 0107): what the steps of a queue used of a unit in the window that began at `since`, as
-- commits in this shard counted it. Rows of the latest window are added up over the shards; those of an earlier one
-- count no more. An empty key: the queue as a whole; one that begins with =: that key.
create table cairn.budget_use (
  shard int not null,
  queue text not null,
  key text not null,
  unit text not null,
  per text not null,
  since bigint not null,
  used bigint not null,
  primary key (queue, key, unit, per, shard)
) with (fillfactor = 50, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 500,
        autovacuum_vacuum_cost_delay = 0);

comment on column cairn.budget_use.used is 'Tokens as they are, cost in millionths.';

do $$
begin
  if exists (select from pg_roles where rolname = 'cairn_app') then
    grant select, insert, update, delete on cairn.budget_use to cairn_app;
  end if;
exception
  when insufficient_privilege then
    raise notice 'grants are left as they are: this login does not own the schema cairn';
end $$;
