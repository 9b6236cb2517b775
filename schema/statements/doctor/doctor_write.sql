-- Writes a little where tables are, to see whether there is room; gone when the transaction ends.
create temporary table cairn_doctor_wrote on commit drop as
select n, repeat('x', 1000) as text from generate_series(1, 100) n
