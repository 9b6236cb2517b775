lock table cairn.graph in share row exclusive mode
