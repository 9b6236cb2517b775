-- The isolation that transactions of this login have in this database unless they say another.
select current_setting('default_transaction_isolation')
