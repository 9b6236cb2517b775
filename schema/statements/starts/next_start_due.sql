-- The database's clock, and when the first key has to be looked at; null: there is none.
select (extract(epoch from clock_timestamp()) * 1000000)::bigint as now,
  (select look_at from cairn.start_key order by look_at, graph, key limit 1) as look_at
