select name, version, text, current from cairn.graph order by name, version
