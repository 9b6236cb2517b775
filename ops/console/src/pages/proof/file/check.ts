// The check of an export (ops/audit/export_format.md), line by line. Checked: the order of events, the hash chain of
// each run, the hashes of graphs and large values, times that go back, the counts. Not checked here: signatures, and
// whether each event can follow by the rules of the engine; `cairn verify --file` does both.
import { bytesOf, chainNext, chainStart, hex, sha256, unhex, type Bytes, type ChainedEvent } from "./hashes";
import type { FileLine } from "./lines";

export interface FileFinding {
  run: string; // "": of the file
  seq: number;
  says: string;
}

export interface FileRun {
  run: string;
  graph: string;
  status: string;
  head: number;
  chainHash: string; // of the last event, as the run's line says
  isSound: boolean;
  leftOut: string; // why it is not in the export; "": it is
  from: number[]; // the places of its events' lines
  to: number[];
}

interface EventLine extends Omit<ChainedEvent, "commit"> {
  payload: string;
  chain_hash: string;
  more?: boolean;
}

// An event with its whole payload and its place.
interface Pending {
  event: ChainedEvent;
  payload: string;
  chainHash: string;
  line: FileLine;
}

export const findingsMax = 1000;
const batchMax = 256;

const commitOf = (line: string) => BigInt(/"commit":(-?\d+)/.exec(line)?.[1] ?? "0");

interface Line {
  kind: string;
  [field: string]: unknown;
}

export class ExportCheck {
  readonly runs: FileRun[] = [];
  readonly findings: FileFinding[] = [];
  readonly keys = new Set<string>(); // that signed the checkpoints
  head: Line | undefined;
  end: (Line & { at: number }) | undefined;
  events = 0;
  graphs = 0;
  blobs = 0;
  checkpoints = 0;
  private readonly versions = new Set<string>();
  private run: FileRun | undefined;
  private batch: Pending[] = [];
  private whole: Pending | undefined; // an event whose parts are not all there
  private seq = 0;
  private at = -Infinity;
  private before: Bytes | undefined; // the hash of the event before
  private wanted = new Set<string>(); // large values that the run refers to
  private there = new Set<string>(); // those of it that have come, each once
  private blob: { hash: string; parts: Bytes[] } | undefined;

  async take(line: FileLine): Promise<void> {
    if (this.end !== undefined) return this.find("", 0, "Expected nothing after the end, but there is more.");
    const fields = this.parsed(line);
    if (fields === undefined) return;
    if (this.head === undefined) return this.takeHead(fields);
    switch (fields.kind) {
      case "event": return this.takeEvent(fields as unknown as EventLine, line);
      case "part": return this.takePart(fields);
      case "run": return this.takeRun(fields);
      case "graph": return this.takeGraph(fields);
      case "blob": return this.takeBlob(fields);
      case "left_out": return this.leaveOut(fields);
      case "checkpoint": return this.takeCheckpoint(fields);
      case "end": return this.takeEnd(fields, line);
      default: return this.find("", 0, `Expected a kind of line of version 2, but found "${fields.kind}".`);
    }
  }

  find(run: string, seq: number, says: string): void {
    if (this.findings.length < findingsMax) this.findings.push({ run, seq, says });
    if (this.run !== undefined && run === this.run.run) this.run.isSound = false;
  }

  private parsed(line: FileLine): Line | undefined {
    try {
      const fields = JSON.parse(line.text) as unknown;
      if (typeof fields === "object" && fields !== null && "kind" in fields) return fields as Line;
    } catch {
      // said below
    }
    this.find("", 0, `Expected a JSON object with a kind, but the line at byte ${line.from} is none.`);
    return undefined;
  }

  private takeHead(fields: Line): void {
    if (fields.kind !== "head" || fields.format !== "cairn-export")
      throw new Error("Expected an export of Cairn, but this file does not begin as one.");
    if (typeof fields.version !== "number" || fields.version > 2)
      throw new Error(`Expected version 1 or 2 of the format, but found ${String(fields.version)}.`);
    this.head = fields;
  }

  private async takeRun(fields: Line): Promise<void> {
    await this.closeRun();
    this.run = { run: String(fields.run), graph: String(fields.graph), status: String(fields.status),
      head: Number(fields.head), chainHash: String(fields.chain_hash), isSound: true, leftOut: "", from: [], to: [] };
    this.runs.push(this.run);
    this.seq = 0;
    this.at = -Infinity;
    this.before = undefined;
  }

  private async takeEvent(fields: EventLine, line: FileLine): Promise<void> {
    if (this.run === undefined || fields.run !== this.run.run)
      return this.find(fields.run, fields.seq, "Expected an event after its run's line, but it stands alone.");
    const { run, shard, seq, at_us, type, version, step, actor } = fields;
    const event = { run, shard, seq, at_us, type, version, step, actor, commit: commitOf(line.text) };
    const pending = { event, payload: fields.payload, chainHash: fields.chain_hash, line };
    if (fields.more === true) this.whole = pending;
    else await this.addPending(pending);
  }

  private async takePart(fields: Line): Promise<void> {
    if (this.whole === undefined || fields.seq !== this.whole.event.seq)
      return this.find(String(fields.run), Number(fields.seq), "Expected a part after its event, but it stands alone.");
    this.whole.payload += String(fields.payload);
    if (fields.more === true) return;
    const pending = this.whole;
    this.whole = undefined;
    await this.addPending(pending);
  }

  private async addPending(pending: Pending): Promise<void> {
    this.run!.from.push(pending.line.from);
    this.run!.to.push(pending.line.to);
    this.batch.push(pending);
    if (this.batch.length >= batchMax) await this.flush();
  }

  // The payloads' hashes are computed together, the chain one event after the other.
  private async flush(): Promise<void> {
    const batch = this.batch;
    this.batch = [];
    const hashes = await Promise.all(batch.map(({ payload }) => sha256(bytesOf(payload))));
    for (const [at, pending] of batch.entries()) await this.chain(pending, hashes[at]!);
  }

  private async chain({ event, payload, chainHash }: Pending, payloadHash: Bytes): Promise<void> {
    const { run, seq } = event;
    this.events += 1;
    if (seq !== this.seq + 1)
      this.find(run, seq, `Expected event ${this.seq + 1}, but event ${seq} follows event ${this.seq}.`);
    if (event.at_us < this.at) this.find(run, seq, "Expected times that do not go back, but this event's does.");
    if (seq === 1) this.before = await this.startOf(run, payload);
    for (const match of payload.matchAll(/\{"\$blob":"([0-9a-f]{64})"/g)) this.wanted.add(match[1]!);
    const hash = this.before === undefined ? undefined : await chainNext(event, payloadHash, this.before);
    if (hash === undefined || hex(hash) !== chainHash)
      this.find(run, seq, `Expected the hash of event ${seq} to follow from its content and the event before it, but ` +
        "it does not.");
    this.seq = seq;
    this.at = event.at_us;
    this.before = unhex(chainHash); // each event is held against the one before it as it stands
  }

  private async startOf(run: string, payload: string): Promise<Bytes> {
    const { version } = JSON.parse(payload) as { version: string };
    if (!this.versions.has(version))
      this.find(run, 1, `Expected the graph ${version.slice(0, 12)} before the run, but it is not in the file.`);
    return chainStart(run, version);
  }

  // All of a run's lines have come.
  private async closeRun(): Promise<void> {
    await this.flush();
    const { run } = this;
    if (run === undefined) return;
    if (this.whole !== undefined)
      this.find(run.run, this.whole.event.seq, "Expected the rest of a payload, but it ends.");
    if (this.seq !== run.head || (this.before !== undefined && hex(this.before) !== run.chainHash))
      this.find(run.run, this.seq, `Expected the run to end with event ${run.head} and its hash, but it ends with ` +
        `event ${this.seq}.`);
    for (const hash of [...this.wanted].filter((one) => !this.there.has(one)))
      this.find(run.run, 0, `Expected the large value ${hash.slice(0, 12)}, but it is not in the file.`);
    this.leaveRun();
  }

  private leaveRun(): void {
    this.wanted = new Set();
    this.there = new Set();
    this.whole = undefined;
    this.run = undefined;
  }

  private async takeGraph(fields: Line): Promise<void> {
    await this.flush();
    this.graphs += 1;
    const version = hex(await sha256(bytesOf(String(fields.text))));
    if (version !== fields.version)
      this.find("", 0, `Expected the text of graph ${String(fields.name)} to have its version's hash, but it has not.`);
    this.versions.add(String(fields.version));
  }

  private async takeBlob(fields: Line): Promise<void> {
    await this.flush();
    const part = Uint8Array.from(atob(String(fields.base64)), (letter) => letter.charCodeAt(0));
    this.blob ??= { hash: String(fields.hash), parts: [] };
    this.blob.parts.push(part);
    if (fields.more === true) return;
    const { hash, parts } = this.blob;
    this.blob = undefined;
    this.blobs += 1;
    const found = hex(await sha256(await new Blob(parts).arrayBuffer()));
    if (found !== hash)
      this.find(String(fields.run), 0,
        `Expected a large value with the hash ${hash.slice(0, 12)}, but it has another one.`);
    this.there.add(hash);
  }

  private async leaveOut(fields: Line): Promise<void> {
    await this.flush();
    const { run } = this;
    if (run === undefined) return;
    this.events -= run.from.length;
    const kept = this.findings.filter((finding) => finding.run !== run.run);
    this.findings.splice(0, this.findings.length, ...kept);
    run.leftOut = String(fields.says);
    run.isSound = false;
    this.leaveRun();
  }

  private async takeCheckpoint(fields: Line): Promise<void> {
    await this.closeRun();
    this.checkpoints += 1;
    this.keys.add(String(fields.key));
  }

  private async takeEnd(fields: Line, line: FileLine): Promise<void> {
    await this.closeRun();
    this.end = { ...fields, at: line.from };
    const counted: [string, number][] = [
      ["runs", this.runs.filter((run) => run.leftOut === "").length], ["events", this.events], ["graphs", this.graphs],
      ["blobs", this.blobs], ["checkpoints", this.checkpoints],
    ];
    for (const [name, count] of counted)
      if (fields[name] !== undefined && fields[name] !== count)
        this.find("", 0, `Expected ${String(fields[name])} ${name} as the end says, but the file has ${count}.`);
  }
}
