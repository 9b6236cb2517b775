select distinct zone, zone_mark from cairn.schedule
