-- The owner of the sample's schema: "nobody", "cairn" or "others".
select case when to_regnamespace('sample_shop') is null then 'nobody'
            when obj_description(to_regnamespace('sample_shop'), 'pg_namespace') like 'The sample data set of Cairn%'
              then 'cairn'
            else 'others' end
