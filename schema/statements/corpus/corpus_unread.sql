-- Files of a loaded folder that could not be read, each with the reason.
select source, text from cairn.passage
where corpus = $1::text and title = $2::text
order by source
limit 50
