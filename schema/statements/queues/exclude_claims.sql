lock table cairn.queue in exclusive mode
