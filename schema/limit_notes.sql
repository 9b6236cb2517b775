-- Notes, outside the schema cairn, what limits of queues let through: each claimed job with its transaction, each rate
-- with the time by which a claim was allowed, and with each claim what is held then of its queue and of its key. For
-- the benchmark's case of exactness, and for tests. May be run again.
create table if not exists public.claimed (tx bigint not null, key text);
create table if not exists public.allowed (
  nth bigserial,
  tx bigint,
  key text not null,
  at bigint not null,
  full_at bigint not null
);
create table if not exists public.held (queue text not null, of_queue bigint not null, of_key bigint not null);
grant all on public.claimed, public.allowed, public.allowed_nth_seq, public.held to public;

create or replace function public.note_claimed() returns trigger language plpgsql as $$
begin
  insert into public.claimed values (txid_current(), new.limit_key);
  insert into public.held
  select new.queue, count(*), count(*) filter (where j.limit_key is not distinct from new.limit_key)
  from cairn.job j
  where j.queue = new.queue and j.session is not null;
  return null;
end $$;

create or replace function public.note_allowed() returns trigger language plpgsql as $$
begin
  insert into public.allowed (tx, key, at, full_at) values (txid_current(), new.key, new.at, new.full_at);
  return null;
end $$;

create or replace trigger note_claimed after update of session on cairn.job
  for each row when (old.session is null and new.session is not null) execute function public.note_claimed();
create or replace trigger note_allowed after insert or update on cairn.rate
  for each row execute function public.note_allowed();
