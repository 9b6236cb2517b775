select name, version, text, current from cairn.graph where version = any($1::text[]) order by name, version
