-- A table of which each node has a copy.
select create_reference_table(('cairn.' || $1::text)::regclass)
