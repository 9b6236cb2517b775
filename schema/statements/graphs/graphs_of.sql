select name, version, text, current, actor, at from cairn.graph where version = any($1::text[]) order by name, version
