-- (offset 0: as in lock_runs.sql.)
delete from cairn.hook_delivery d
where d.hook = $1::text and exists (select from cairn.hook h where h.name = $1::text and h.removed offset 0)
