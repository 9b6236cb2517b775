-- Passages that have more than half of the words asked for, those with most of them first; no row that remembers an
-- unread file.
with asked as (
  select array_agg(lexeme) as words,
         string_agg('''' || replace(replace(lexeme, '\', '\\'), '''', '''''') || '''', ' | ')::tsquery as any_of
  from unnest(to_tsvector('pg_catalog.english', $2::text))
), found as (
  select p.source, p.position, p.title, p.text, ts_rank_cd(p.words, a.any_of) as rank, cardinality(a.words) as asked,
         (select count(*) from unnest(a.words) as word where word = any (tsvector_to_array(p.words))) as met
  from cairn.passage p, asked a
  where p.corpus = $1::text and p.words @@ a.any_of and p.title <> $4::text
)
select source, title, text from found
where met * 2 > asked
order by met desc, rank desc, source, position
limit $3::int
