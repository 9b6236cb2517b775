-- The documents of a folder as it was loaded, each with a digest of its content.
select source, encode(sha256(convert_to(title || E'\n' || string_agg(text, E'\n' order by position), 'UTF8')), 'hex')
from cairn.passage
where corpus = $1::text and starts_with(source, $2::text || '/')
group by source, title
