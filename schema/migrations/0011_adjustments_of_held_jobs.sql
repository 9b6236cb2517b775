-- A command that moves a run adjusts the queue, priority and timeout of its jobs. A held row keeps its own, because its
-- permit counts in its queue; what was wanted stands here, with the step and attempt for which it holds, until the row
-- is released. Null: nothing.
alter table cairn.job add column on_release jsonb;
