// A file that is read and checked: its progress, and what there is of it. Kept while the console is open.
import { signal } from "@preact/signals";
import { ExportCheck, type FileRun } from "./check";
import { canHash, hex, sha256 } from "./hashes";
import { linesOf } from "./lines";

export interface Reading {
  name: string;
  size: number; // as it is given
  state: "reading" | "over" | "refused";
  says: string; // why it was refused
  bytes: number; // read
  check: ExportCheck;
  sum: "right" | "wrong" | "unchecked"; // of the whole file
  content: Blob;
  tookMs: number;
}

export const reading = signal<Reading | undefined>(undefined);

const wholeMax = 512 * 1024 * 1024; // a sum is computed over a file in one piece
const zstdMagic = [0x28, 0xb5, 0x2f, 0xfd];
const gzipMagic = [0x1f, 0x8b];

const beginsWith = (bytes: Uint8Array, magic: number[]) => magic.every((byte, at) => bytes[at] === byte);

async function contentOf(file: Blob): Promise<Blob> {
  const first = new Uint8Array(await file.slice(0, 4).arrayBuffer());
  if (beginsWith(first, zstdMagic))
    throw new Error("Expected plain JSON lines, but this file is compressed by Zstandard, which browsers cannot " +
      "read: `zstd -d FILE` unpacks it, and `cairn verify --file FILE` reads it as it is.");
  if (beginsWith(first, gzipMagic))
    return new Response(file.stream().pipeThrough(new DecompressionStream("gzip"))).blob();
  return file;
}

function amend(of: Reading, change: Partial<Reading>): void {
  Object.assign(of, change);
  if (reading.peek()?.check === of.check) reading.value = { ...of };
}

const isCurrent = (of: Reading) => reading.peek()?.check === of.check;

async function sumOf({ check, content }: Reading): Promise<Reading["sum"]> {
  const { end } = check;
  if (end === undefined || end.at > wholeMax) return "unchecked";
  const sum = hex(await sha256(await content.slice(0, end.at).arrayBuffer()));
  if (sum === end.sha256) return "right";
  check.find("", 0, "Expected the sum of the whole file as its end says, but it has another one.");
  return "wrong";
}

async function readAll(of: Reading): Promise<void> {
  for await (const lines of linesOf(of.content)) {
    for (const line of lines) {
      await of.check.take(line);
      if (!isCurrent(of)) return; // another file was given
    }
    amend(of, { bytes: lines.at(-1)?.to ?? of.bytes });
  }
  if (of.check.head === undefined) throw new Error("Expected an export of Cairn, but this file is empty.");
  if (of.check.end === undefined) of.check.find("", 0, "Expected a line that ends the file, but it is cut off before.");
  amend(of, { sum: await sumOf(of) });
}

export async function readFile(file: File): Promise<void> {
  const startedAt = performance.now();
  const of: Reading = { name: file.name, size: file.size, state: "reading", says: "", bytes: 0,
    check: new ExportCheck(), sum: "unchecked", content: file, tookMs: 0 };
  reading.value = { ...of };
  try {
    if (!canHash())
      throw new Error("Expected this page over HTTPS or from this machine, but it is not: only there do browsers " +
        "compute hashes. `cairn verify --file FILE` checks the file.");
    of.content = await contentOf(file);
    await readAll(of);
    amend(of, { state: "over", tookMs: performance.now() - startedAt });
  } catch (fault) {
    amend(of, { state: "refused", says: (fault as Error).message });
  }
}

export type EventLine = Record<string, unknown>;

const togetherMax = 4 * 1024 * 1024; // bytes that are read at once

// Some events of a run, those that are so many from `first` on. Lines of large values may stand between them.
export async function eventsAt(of: Reading, run: FileRun, first: number, count: number): Promise<EventLine[]> {
  const from = run.from.slice(first, first + count);
  const to = run.to.slice(first, first + count);
  const [begin = 0, end = 0] = [from[0], to.at(-1)];
  if (end - begin > togetherMax)
    return Promise.all(from.map(async (at, n) => JSON.parse(await of.content.slice(at, to[n]).text()) as EventLine));
  const bytes = new Uint8Array(await of.content.slice(begin, end).arrayBuffer());
  const decoder = new TextDecoder();
  return from.map((at, n) => JSON.parse(decoder.decode(bytes.subarray(at - begin, to[n]! - begin))) as EventLine);
}
