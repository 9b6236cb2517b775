select to_regclass('cairn.migration') is not null
