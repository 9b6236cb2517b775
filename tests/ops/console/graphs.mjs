// Graphs of the tests: one that asks a person, and one that fails by its graph.
export const order = {
  name: "order",
  start: "check",
  limits: { steps: 60 },
  channels: { notes: { reducer: "append" } },
  budgets: { calls: { cap: 5 } },
  input: {
    type: "object",
    required: ["customer"],
    properties: {
      customer: { type: "string", title: "Customer" },
      amount: { type: "number", minimum: 0 },
      express: { type: "boolean" },
      size: { enum: ["small", "large"] },
    },
  },
  nodes: {
    check: {
      do: "tool.call",
      with: { tool: "echo", inputs: { customer: { $: "customer" } }, into: "checked" },
      on: { ok: "approve", error: "refused" },
    },
    approve: {
      ask: {
        kind: "approval",
        prompt: "Approve the order?",
        schema: {
          type: "object",
          required: ["ok"],
          properties: { ok: { type: "boolean", title: "Approve it" }, note: { type: "string", title: "Note" } },
        },
      },
      into: "approval",
      on: { answered: "bill", expired: "refused" },
    },
    bill: {
      do: "tool.call",
      with: { tool: "echo", inputs: { approval: { $: "approval" } }, into: "billed" },
      on: { ok: "over", error: "refused" },
    },
    over: { end: { status: "done", output: { billed: { $: "billed" } } } },
    refused: { end: { status: "failed", reason: "The order was refused." } },
  },
};

export const dry = {
  name: "dry",
  start: "make",
  limits: { steps: 10 },
  nodes: {
    make: {
      do: "tool.call",
      with: { tool: "fail", inputs: { message: "No water." } },
      on: { ok: "over", error: "none" },
    },
    over: { end: "done" },
    none: { end: { status: "failed", reason: "No coffee today." } },
  },
};

export const chat = {
  name: "chat",
  start: "ask",
  limits: { steps: 10 },
  nodes: {
    ask: { do: "model.chat", with: { prompt: "What is the sky?", into: "said" }, on: { ok: "over", error: "none" } },
    over: { end: { status: "done", output: { said: { $: "said" } } } },
    none: { end: "failed" },
  },
};

// A question with every kind of field.
export const every = {
  name: "every",
  start: "ask",
  limits: { steps: 10 },
  nodes: {
    ask: {
      ask: {
        kind: "details",
        prompt: "Please fill in all of this.",
        schema: {
          type: "object",
          required: ["title", "size"],
          properties: {
            title: { type: "string", minLength: 3, description: "As it stands on the invoice." },
            amount: { type: "number", minimum: 0, maximum: 10 },
            count: { type: "integer" },
            mail: { type: "string", format: "email", title: "Address of mail" },
            urgent: { type: "boolean" },
            size: { enum: ["small", "large"] },
            colours: { type: "array", items: { enum: ["red", "green", "blue"] } },
            address: { type: "object", properties: { city: { type: "string" }, code: { type: "string" } } },
            anything: { type: "object" },
          },
        },
      },
      into: "given",
      on: { answered: "over", expired: "over" },
    },
    over: { end: "done" },
  },
};

// A step of a worker over HTTP.
export const far = {
  name: "far",
  start: "do",
  limits: { steps: 10 },
  nodes: { do: { do: "far.work", labels: ["ok"], queue: "far", on: { ok: "over" } }, over: { end: "done" } },
};

// A question with what a form can still show: references, alternatives, words with titles, null, a default.
export const odd = {
  name: "odd",
  start: "ask",
  limits: { steps: 10 },
  nodes: {
    ask: {
      ask: {
        kind: "odd",
        prompt: "Which of these?",
        default: { reply: "later", level: 1, note: null, place: { code: "N1" } },
        schema: {
          type: "object",
          required: ["reply", "level", "note"],
          properties: {
            reply: {
              anyOf: [
                { type: "string", title: "A text" },
                { type: "object", title: "The end", required: ["end"], properties: { end: { const: true } } },
              ],
            },
            level: { oneOf: [{ const: 1, title: "low" }, { const: 2, title: "high" }] },
            note: { type: ["string", "null"] },
            place: { $ref: "#/$defs/place" },
            several: { type: "array", items: { type: "object" } },
          },
          $defs: { place: { type: "object", properties: { code: { type: "string", pattern: "^[A-Z][0-9]$" } } } },
        },
      },
      into: "given",
      on: { answered: "over", expired: "over" },
    },
    over: { end: "done" },
  },
};
