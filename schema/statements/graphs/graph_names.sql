-- As graphs.sql, but without the texts.
select name, version, '' as text, current, actor, at from cairn.graph order by name, version
