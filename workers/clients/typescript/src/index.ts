// Cairn from TypeScript and JavaScript: `Client` starts and follows runs, `Worker` executes their steps. Nothing but
// `fetch` and other standards of the web: it runs on Node 18 or later, Bun and Deno.
export type {
  Any,
  Difference,
  Explanation,
  Fact,
  Fields,
  Goal,
  OpenQuestion,
  OpenStep,
  Question,
  RunEvent,
  RunRow,
  RunState,
  Status,
} from "./api.js";
export { Client, Run } from "./client.js";
export type { CancelOptions, EventOptions, ForkChanges, ManyStart } from "./client.js";
export type { RunFilter, StartOptions, WaitOptions } from "./client.js";
export { CairnError, Refused, Unavailable } from "./http.js";
export type { Address } from "./http.js";
export { Again, Final } from "./failures.js";
export type { ModelReply } from "./model.js";
export type { Message, ModelOptions } from "./model_api.js";
export { Label, label } from "./step.js";
export type { Context } from "./step.js";
export { Worker } from "./worker.js";
export type {
  HandlerFunction,
  HandlerOptions,
  Outputs,
  Patch,
  ToolFunction,
  ToolOptions,
  WorkerOptions,
} from "./worker.js";
