// What the HTTP API takes and gives, in its own names: openapi.ts is made from its description when the package is
// packed.
import type { components } from "./openapi.js";

type Schemas = components["schemas"];

// A value whose form is known to the author of a graph, not to this package.
// eslint-disable-next-line @typescript-eslint/no-explicit-any
export type Any = any;
export type Fields = { [name: string]: Any };

// --- runs -----------------------------------------------------------------------------------------------------------

export type Status = Schemas["RunStatus"];
export type Question = Omit<Schemas["Question"], "prompt" | "schema" | "default"> & {
  prompt: Any;
  schema?: Any;
  default?: Any;
};
export type OpenStep = Schemas["Step"];

// The folded state of a run: now, or as of an event.
export type RunState<Output = Any> = Omit<Schemas["Run"], "input" | "channels" | "output" | "questions"> & {
  input: Any;
  channels: Fields;
  output?: Output;
  questions: Question[];
};

export type RunRow = Schemas["RunListed"]; // a run as lists have it
export type RunEvent = Schemas["Event"]; // its `type` says which fields it has
export type Explanation = Schemas["Explanation"];
export type Difference = Schemas["Difference"]; // `first` is the first event that differs
export type Goal = Omit<Schemas["SubGoal"], "inputs" | "outputs"> & { inputs?: Any; outputs?: Any };
export type OpenQuestion = Omit<Schemas["OpenQuestion"], "prompt" | "schema" | "default"> & {
  prompt: Any;
  schema: Any;
  default?: Any;
};
export type StartBody = Omit<Schemas["StartRequest"], "input"> & { input: Any };
export type StartedMany = Schemas["StartedMany"];
export type ForkBody = Schemas["ForkRequest"];

// --- claims ---------------------------------------------------------------------------------------------------------

export type DeclaredHandler = Exclude<Schemas["HandlerOffered"], string>;
export type DeclaredTool = Exclude<Schemas["ToolOffered"], string>;
export type Fact = Fields & { type: string };
export type Report = Omit<Schemas["ClaimReport"], "patch" | "outputs" | "facts"> & {
  patch?: Any;
  outputs?: Any;
  facts?: Fact[];
};
export type Claim = Omit<Schemas["Claim"], "input" | "data" | "given"> & { input: Any; data?: Fields; given?: Any };
export type ClaimsAnswer = Omit<Schemas["Claims"], "claims"> & { claims: Claim[] };
export type HeartbeatBody = Schemas["HeartbeatRequest"];
export type HeartbeatAnswer = Schemas["Heartbeat"];
