-- Drops the rows that create_distributed_table and create_reference_table leave where they were, unseen.
select truncate_local_data_after_distributing_table(('cairn.' || $1::text)::regclass)
