-- No row: there is no such view.
delete from cairn.saved_view where name = $1::text returning name
