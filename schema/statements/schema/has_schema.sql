-- The owner of the schema of our name: "nobody", "empty" (made beforehand, for us), "cairn" or "others".
select case when to_regnamespace('cairn') is null then 'nobody'
            when (select count(*) from pg_attribute
                  where attrelid = to_regclass('cairn.migration') and not attisdropped
                    and attname in ('number', 'name', 'shards', 'applied_at')) = 4 then 'cairn'
            when not exists (select from pg_depend
                             where refclassid = 'pg_namespace'::regclass and refobjid = to_regnamespace('cairn')
                               and deptype = 'n') then 'empty'
            else 'others' end
