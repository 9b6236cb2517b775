-- What create_distributed_table and create_reference_table leave behind, unseen.
select truncate_local_data_after_distributing_table(('cairn.' || $1::text)::regclass)
