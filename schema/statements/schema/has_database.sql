select from pg_database where datname = 'cairn'
