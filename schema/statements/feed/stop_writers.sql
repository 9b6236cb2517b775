-- Waits for the commits under way and holds back later ones until the transaction ends. A statement of a commit locks
-- this table before it looks for consumers, so the later ones see those that are committed now.
lock table cairn.feed in share row exclusive mode
