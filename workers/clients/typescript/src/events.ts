// Server-sent events, as the standard for EventSource describes their form.

export interface Frame {
  id: string; // "": it has none
  event: string; // "message", unless it says another one
  data: string;
}

// The frames of a stream of bytes. A frame that the end of the stream cuts off is left out.
export async function* framesOf(body: ReadableStream<Uint8Array>): AsyncGenerator<Frame> {
  let frame: Frame = { id: "", event: "message", data: "" };
  let hasData = false;
  for await (const line of linesOf(body)) {
    if (line === "") {
      if (hasData) yield frame;
      frame = { id: "", event: "message", data: "" };
      hasData = false;
      continue;
    }
    const colon = line.indexOf(":");
    const name = colon < 0 ? line : line.slice(0, colon);
    const value = colon < 0 ? "" : line.slice(line[colon + 1] === " " ? colon + 2 : colon + 1);
    if (name === "data") {
      frame.data += hasData ? "\n" + value : value;
      hasData = true;
    } else if (name === "id" || name === "event") {
      frame[name] = value;
    }
  }
}

// Lines that a line end ends, which is \r\n, \n or \r.
async function* linesOf(body: ReadableStream<Uint8Array>): AsyncGenerator<string> {
  const decoder = new TextDecoder();
  const reader = body.getReader();
  let rest = "";
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      const lines = (rest + decoder.decode(value, { stream: true })).split(/\r\n|\n|\r(?!$)/);
      rest = lines.pop() ?? "";
      yield* lines;
    }
  } finally {
    await reader.cancel().catch(() => undefined);
  }
}
