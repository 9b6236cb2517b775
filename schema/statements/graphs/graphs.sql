select name, version, text, current, actor, at from cairn.graph order by name, version
