-- True if an index of this name is there that no query uses, because its building was interrupted.
select exists (select from pg_index where indexrelid = to_regclass('cairn.' || $1::text) and not indisvalid)
