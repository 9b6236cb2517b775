-- Sessions of workers that claim over HTTP: as whom they came, and what they say of their handlers and tools, as JSON.
-- Null: a worker of its own process.
alter table cairn.worker add column caller text, add column declares text;
