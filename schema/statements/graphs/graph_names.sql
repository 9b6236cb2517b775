-- As graphs.sql, but without the texts.
select name, version, '' as text, current from cairn.graph order by name, version
