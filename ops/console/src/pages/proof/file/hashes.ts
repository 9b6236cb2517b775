// The hash chain of a run as ops/audit/README.md describes it, computed by this browser.
const encoder = new TextEncoder();

export type Bytes = Uint8Array<ArrayBuffer>;

export const bytesOf = (text: string): Bytes => encoder.encode(text);

// Browsers have hashes only on pages that came over HTTPS or from this machine.
export const canHash = () => globalThis.crypto?.subtle !== undefined;

export async function sha256(bytes: BufferSource): Promise<Bytes> {
  return new Uint8Array(await crypto.subtle.digest("SHA-256", bytes));
}

export const hex = (bytes: Uint8Array) => Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");

export function unhex(text: string): Bytes {
  const bytes = new Uint8Array(text.length >> 1);
  for (let at = 0; at < bytes.length; at += 1) bytes[at] = Number.parseInt(text.slice(2 * at, 2 * at + 2), 16);
  return bytes;
}

const uuidBytes = (run: string) => unhex(run.replaceAll("-", ""));

function joined(parts: Uint8Array[]): Bytes {
  const whole = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
  }
  return whole;
}

function textBytes(text: string): Bytes {
  const bytes = bytesOf(text);
  const length = new Uint8Array(4);
  new DataView(length.buffer).setUint32(0, bytes.length);
  return joined([length, bytes]);
}

export interface ChainedEvent {
  run: string;
  shard: number;
  seq: number;
  at_us: number;
  type: number;
  version: number;
  commit: bigint; // beyond what a number of JavaScript holds
  step: number;
  actor: string;
}

const startMark = bytesOf("CAIRN-RUN-1");
const eventMark = bytesOf("CAIRN-EVT-1");

export const chainStart = (run: string, graphVersion: string): Promise<Bytes> =>
  sha256(joined([startMark, uuidBytes(run), textBytes(graphVersion)]));

export function chainNext(event: ChainedEvent, payloadHash: Bytes, before: Bytes): Promise<Bytes> {
  const numbers = new Uint8Array(52);
  const view = new DataView(numbers.buffer);
  view.setUint32(0, event.shard);
  numbers.set(uuidBytes(event.run), 4);
  view.setBigUint64(20, BigInt(event.seq));
  view.setBigInt64(28, BigInt(event.at_us));
  view.setUint16(36, event.type);
  view.setUint16(38, event.version);
  view.setBigInt64(40, event.commit);
  view.setUint32(48, event.step);
  return sha256(joined([eventMark, numbers, textBytes(event.actor), payloadHash, before]));
}
