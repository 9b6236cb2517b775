-- A table that stays where it is, and can be asked from each node.
select citus_add_local_table_to_metadata(('cairn.' || $1::text)::regclass)
