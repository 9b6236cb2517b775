// The types of what the HTTP API takes and gives, in the API's own names.

// A value whose form is known to the author of a graph, not to this package.
// eslint-disable-next-line @typescript-eslint/no-explicit-any
export type Any = any;
export type Fields = { [name: string]: Any };

// --- runs -----------------------------------------------------------------------------------------------------------

export type Status = "running" | "waiting" | "paused" | "done" | "failed" | "aborted";

export interface Question {
  id: string;
  kind: string;
  prompt?: string;
  [more: string]: Any;
}

export interface OpenStep {
  step: number;
  node: string;
  attempt: number;
  waits_for: string;
  [more: string]: Any;
}

// The folded state of a run: now, or as of an event.
export interface RunState<Output = Any> {
  run: string;
  graph: string;
  version: string;
  status: Status;
  reason: string | null;
  seq: number;
  input: Any;
  output?: Output;
  channels: Fields;
  key: string;
  tags: Record<string, string>;
  steps: OpenStep[];
  questions: Question[];
  plan: Any[];
  started_at: string;
  updated_at: string;
  [more: string]: Any;
}

// A run as lists have it.
export interface RunRow {
  run: string;
  graph: string;
  version: string;
  status: Status;
  reason: string | null;
  events: number;
  started_at: string;
  updated_at: string;
  parent: string | null;
  continues: string | null;
  forked_from: { run: string; seq: number } | null;
  tags: Record<string, string>;
  [more: string]: Any;
}

export interface RunEvent {
  run: string;
  seq: number;
  at: string;
  type: string;
  step: number;
  actor: string;
  [field: string]: Any;
}

export interface Explanation {
  run: string;
  status: Status;
  reasons: { kind: string; says: string; node: string | null; step: number | null; [more: string]: Any }[];
}

export interface StartBody {
  graph: string;
  input: Any;
  key?: string;
  tags?: Record<string, string>;
}

export interface ForkBody {
  at: number;
  set?: Fields;
  answer?: Fields;
  graph?: Any;
  tags?: Record<string, string>;
  recorded?: boolean;
}

// --- claims ---------------------------------------------------------------------------------------------------------

export interface DeclaredHandler {
  name: string;
  version?: number;
  labels?: string[];
  reads?: string[];
  plan?: boolean;
}

export interface DeclaredTool {
  name: string;
  queue?: string;
  about?: string;
}

export interface Fact extends Fields {
  type: string;
}

export type Report = { claim: string; facts?: Fact[] } & (
  | { label?: string; patch: Any }
  | { outputs: Any }
  | { error: string; message?: string; again?: boolean; retry_ms?: number }
  | { release: true; retry_ms?: number }
);

export interface ClaimsBody {
  worker: string;
  session?: string;
  queues: string[];
  handlers: DeclaredHandler[];
  tools: DeclaredTool[];
  max: number;
  wait_ms: number;
  close?: boolean;
  finished?: Report[];
}

export interface Claim {
  claim: string;
  run: string;
  graph: string;
  node: string;
  step: number;
  attempt: number;
  key: string;
  input: Any;
  tags: Record<string, string>;
  deadline_ms: number;
  handler?: string;
  tool?: string;
  sub_goal?: string;
  data?: Fields;
  given?: Any;
  plan?: Any[];
  failed?: { error: string; message: string };
}

export type ReportStatus = "committed" | "already" | "stale" | "closed" | "conflict" | "invalid";

export interface ClaimsAnswer {
  session: string;
  heartbeat_ms: number;
  results: { claim: string; status: ReportStatus; says?: string }[];
  claims: Claim[];
}

export interface HeartbeatBody {
  session: string;
  claims: string[];
  progress?: Record<string, string>;
}

export interface HeartbeatAnswer {
  cancel: string[];
  stale: string[];
}
