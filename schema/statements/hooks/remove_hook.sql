delete from cairn.hook h where h.name = $1::text and h.removed
