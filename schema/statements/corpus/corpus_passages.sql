-- The passages of a corpus in order, but for the rows that remember unread files.
select source, title, text from cairn.passage
where corpus = $1::text and title <> $2::text
order by source, position
limit $3::int
