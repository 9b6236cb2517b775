set local role cairn_archive
