-- Runs of a graph by their start: lists of one graph, and those that its policy ("keep") lets go, whatever else is in
-- the table. Neither column changes after the start.
create index concurrently if not exists run_graph on cairn.run (graph, started_at, run_id);
