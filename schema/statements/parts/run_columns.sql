-- The columns of a run `r` that read_runs() expects; run_cause.sql has the last one.
select r.run_id, r.graph, r.version, r.status, r.waiting, r.head, r.chain_hash, r.parent, r.continues, r.started_at,
  r.updated_at, r.reason, r.tags::text, r.origin, r.origin_seq, last.cause::text as cause
