-- The database's clock, and when the first schedule has to be looked at; null: there is none.
select (extract(epoch from clock_timestamp()) * 1000000)::bigint as now,
  (select look_at from cairn.schedule order by look_at, name limit 1) as look_at
