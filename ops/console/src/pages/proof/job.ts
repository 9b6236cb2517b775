// A proof over many runs as a job: the runs are counted first, then looked at a few at a time, until all are done or it
// is stopped. Jobs go on while other pages are shown; each is known by the address that asked for it.
import { signal, type Signal } from "@preact/signals";
import { get, getPage, post, Refusal, type Query } from "../../api/client";
import { parametersOf, termsOf } from "../../api/filter";
import type { Blame, ReplayReport, RunListed, Verified } from "../../api/types";
import { Report } from "./report";
import { unpacked } from "./packed";

export type Kind = "verify" | "replay" | "changed" | "blame";

export interface Asked {
  kind: Kind;
  where: string;
  run: string; // one run alone; "": those of `where`
  limit: number; // the newest so many
  handlers: boolean;
  graph: string; // of `changed`, packed
}

export interface Job {
  asked: Asked;
  state: Signal<"counting" | "working" | "over" | "stopped">;
  total: Signal<number>;
  done: Signal<number>;
  report: Signal<Report>;
  fault: Signal<Refusal | undefined>; // that ended it
  startedAt: number;
  endedAt: Signal<number>;
  stop: () => void;
}

export const limitMax = 100_000; // runs
const atOnce = 4;
const pageRuns = 500;
const jobsKept = 8;
const jobs = new Map<string, Job>();

// As GET /runs takes them; of a blame those that failed, unless another status is asked for.
export function parametersOfRuns({ kind, where }: Pick<Asked, "kind" | "where">): [string, string][] {
  const terms = parametersOf(termsOf(where));
  if (kind !== "blame" || terms.some(([name]) => name === "status")) return terms;
  return [...terms, ["status", "failed"]];
}

async function runsOf(asked: Asked, found: (count: number) => void, aborted: AbortSignal): Promise<string[]> {
  if (asked.run !== "") return [asked.run];
  const runs: string[] = [];
  const terms = parametersOfRuns(asked);
  const isBlame = asked.kind === "blame";
  let after: string | undefined;
  do {
    const limit = String(Math.min(pageRuns, asked.limit - runs.length));
    const query: [string, string][] = [...terms, ["limit", limit]];
    if (after !== undefined) query.push(["after", after]);
    const page = await getPage<RunListed>("runs", query, "after", aborted);
    runs.push(...page.items.filter((run) => !isBlame || run.status === "failed").map((run) => run.run));
    found(runs.length);
    after = page.next;
  } while (after !== undefined && runs.length < asked.limit);
  return runs;
}

type Look = (run: string, report: Report, aborted: AbortSignal) => Promise<void>;

async function lookOf(asked: Asked): Promise<Look> {
  if (asked.kind === "verify")
    return async (run, report, aborted) =>
      report.addVerified(await get<Verified>(`runs/${run}/verify`, {}, aborted));
  if (asked.kind === "blame")
    return async (run, report, aborted) =>
      report.addBlamed(await get<Blame>(`runs/${run}/blame`, {}, aborted));
  if (asked.kind === "replay") {
    const query: Query = asked.handlers ? { handlers: true } : {};
    return async (run, report, aborted) =>
      report.addReplayed(await get<ReplayReport>(`runs/${run}/replay`, query, aborted));
  }
  const graph: unknown = JSON.parse(await unpacked(asked.graph));
  const body = { graph, handlers: asked.handlers };
  return async (run, report, aborted) =>
    report.addReplayed(await post<ReplayReport>(`runs/${run}/replay`, body, aborted));
}

// A refusal about one run is a line of the report; one that would meet every run ends the job.
const meetsAll = (refusal: Refusal) =>
  ["lost", "unavailable", "forbidden", "unauthorized"].includes(refusal.code) || refusal.faults.length > 0;

async function work(job: Job, aborted: AbortSignal): Promise<void> {
  const look = await lookOf(job.asked);
  const runs = await runsOf(job.asked, (count) => (job.total.value = count), aborted);
  job.total.value = runs.length;
  job.state.value = "working";
  let next = 0;
  const one = async () => {
    while (next < runs.length && !aborted.aborted) {
      const run = runs[next]!;
      next += 1;
      const report = job.report.peek();
      try {
        await look(run, report, aborted);
      } catch (fault) {
        if (!(fault instanceof Refusal) || meetsAll(fault) || aborted.aborted) throw fault;
        report.addRefused(run, fault.message);
      }
      job.done.value += 1;
    }
  };
  await Promise.all(Array.from({ length: atOnce }, one));
}

function begin(asked: Asked): Job {
  const aborter = new AbortController();
  const job: Job = {
    asked, state: signal("counting"), total: signal(0), done: signal(0), report: signal(new Report()),
    fault: signal(undefined), startedAt: Date.now(), endedAt: signal(0), stop: () => aborter.abort(),
  };
  work(job, aborter.signal).then(() => "over" as const, (fault: unknown) => {
    if (aborter.signal.aborted) return "stopped" as const;
    aborter.abort();
    job.fault.value = fault instanceof Refusal ? fault : new Refusal("invalid", String(fault), 0);
    return "stopped" as const;
  }).then((state) => {
    job.state.value = aborter.signal.aborted ? "stopped" : state;
    job.endedAt.value = Date.now();
  });
  return job;
}

// The job of that address; it begins where it has not begun.
export function jobOf(asked: Asked): Job {
  const key = JSON.stringify(asked);
  let job = jobs.get(key);
  if (job === undefined) {
    job = begin(asked);
    jobs.set(key, job);
    const oldest = jobs.keys().next().value;
    if (jobs.size > jobsKept && oldest !== undefined) {
      jobs.get(oldest)!.stop();
      jobs.delete(oldest);
    }
  }
  return job;
}

export function beginAgain(asked: Asked): Job {
  const key = JSON.stringify(asked);
  jobs.get(key)?.stop();
  jobs.delete(key);
  return jobOf(asked);
}
