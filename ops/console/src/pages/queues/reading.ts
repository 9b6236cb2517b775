// The queues and the workers that serve them, read together, and the samples of what the queues held.
import { get } from "../../api/client";
import type { Queue, Session } from "../../api/types";
import { Samples } from "../../parts/chart/samples";

export interface Reading {
  queues: Queue[];
  workers: Session[];
}

export const samples = new Samples();
export const everyMs = 2000;

const spanMax = 5 * 60_000;
const spanMin = 30_000;
let firstAt = 0;

// The time that the lines show: all that was seen, at most five minutes.
export const spanMs = () => Math.min(spanMax, Math.max(spanMin, firstAt === 0 ? 0 : Date.now() - firstAt));

export async function readQueues(signal: AbortSignal): Promise<Reading> {
  const [queues, workers] = await Promise.all([
    get<Queue[]>("queues", {}, signal),
    get<Session[]>("workers", {}, signal),
  ]);
  const now = queues.map((one): [string, Record<string, number>] => [
    one.queue, { ready: one.ready, later: one.later, held: one.held },
  ]);
  firstAt ||= Date.now();
  samples.add(Date.now(), new Map(now));
  return { queues, workers };
}

export const servedBy = (queue: string, workers: Session[]) =>
  workers.filter((worker) => worker.alive && worker.queues.includes(queue));
