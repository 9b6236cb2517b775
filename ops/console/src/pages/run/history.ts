// The whole history of a run in little room: a few numbers for each event, so that every view follows the slider
// without asking the server. Pages of events are read from the beginning to the end in the background; a page's events
// themselves are kept only while they were looked at last.
import { signal } from "@preact/signals";
import { get, Refusal } from "../../api/client";
import type { Event, EventOf, EventType } from "../../api/types";
import { StepBook } from "./steps";

export const pageEvents = 1000;
const pagesKept = 12;
const inheritedMax = 20_000; // events of the runs that a fork came from; those before them show no other ways as a rule

const pause = () => new Promise<void>((resolve) => setTimeout(resolve, 1000));

// Numbers that are added at the end, in blocks that double.
class Column<T extends Float64Array | Int32Array | Uint8Array> {
  length = 0;
  constructor(private values: T, private readonly make: (size: number) => T) {}
  push(value: number): void {
    if (this.length === this.values.length) {
      const wider = this.make(this.length * 2);
      wider.set(this.values);
      this.values = wider;
    }
    this.values[this.length] = value;
    this.length += 1;
  }
  at(index: number): number {
    return this.values[index]!;
  }
}

const numbers = () => new Column(new Int32Array(1024), (size) => new Int32Array(size));

// Words that have numbers.
export class Words {
  readonly words: string[] = [];
  private readonly numbers = new Map<string, number>();
  number(word: string): number {
    let number = this.numbers.get(word);
    if (number === undefined) {
      number = this.words.length;
      this.words.push(word);
      this.numbers.set(word, number);
    }
    return number;
  }
}

function subjectOf(event: Event): string {
  if ("node" in event && typeof event.node === "string") return event.node;
  if ("sub_goal" in event && typeof event.sub_goal === "string") return event.sub_goal;
  if ("tool" in event && typeof event.tool === "string") return event.tool;
  if ("question" in event && typeof event.question === "string") return event.question;
  return "";
}

type Origin = NonNullable<EventOf<"run_started">["forked_from"]>;

export function isFailure(event: Event): boolean {
  if (event.type === "step_failed" || event.type === "decomposition_failed") return true;
  if (event.type === "run_finished") return event.status === "failed";
  if (event.type === "sub_goal_closed" || event.type === "child_finished") return event.status === "failed";
  return (event.type === "model_called" || event.type === "tool_called") && event.ok === false;
}

export class History {
  readonly known = signal(0); // how many events, from the first on, are in the columns
  readonly fault = signal<Refusal | undefined>(undefined);
  readonly types = new Words();
  readonly subjects = new Words();
  readonly steps = new StepBook();
  readonly models: number[] = []; // the numbers of the events that are model calls
  readonly questions: number[] = [];
  private readonly type = new Column(new Uint8Array(1024), (size) => new Uint8Array(size));
  private readonly subject = numbers();
  private readonly step = numbers();
  private readonly failed = new Column(new Uint8Array(1024), (size) => new Uint8Array(size));
  private readonly time = new Column(new Float64Array(1024), (size) => new Float64Array(size));
  private readonly pages = new Map<number, Event[]>();
  private readonly extra = new Map<number, Event>(); // of pages that were too large to come whole
  private readonly asked = new Set<number>();
  readonly arrived = signal(0); // counts the ends of what rows asked for; a row whose event is not at hand looks again
  readonly inherited = signal(false); // the ways that led to a fork are known
  private readonly aborter = new AbortController();
  private isReading = false;
  private wanted = 0;
  private newest = -1; // the page that was looked at last

  constructor(readonly run: string) {}

  close(): void {
    this.aborter.abort();
  }

  // Reads on until that many events are known.
  readTo(count: number): void {
    this.wanted = Math.max(this.wanted, count);
    if (!this.isReading && this.time.length < this.wanted) void this.readOn();
  }

  // When so many events are known, or nobody waits any more.
  async hasRead(count: number, aborted: AbortSignal): Promise<void> {
    this.readTo(count);
    while (this.time.length < count && !aborted.aborted) await new Promise((resolve) => setTimeout(resolve, 50));
  }

  private async readOn(): Promise<void> {
    this.isReading = true;
    try {
      let next = this.ask(this.time.length + 1);
      while (this.time.length < this.wanted && !this.aborter.signal.aborted) {
        const events = await next;
        const last = events[events.length - 1]?.seq;
        if (last === undefined) throw new Refusal("lost", "Expected more events of this run, but none came.", 0);
        if (last < this.wanted) next = this.ask(last + 1); // on its way while this page is read
        next.catch(() => undefined); // it is waited for in the next turn
        if (this.wanted <= pagesKept * pageEvents) this.keep(events); // of a longer run, those that are looked at
        for (const event of events) if (event.seq === this.time.length + 1) this.add(event);
        this.publish(this.time.length >= this.wanted);
        await new Promise((resolve) => setTimeout(resolve, 0)); // a frame may be drawn
      }
      this.fault.value = undefined;
    } catch (fault) {
      if (!this.aborter.signal.aborted) this.fault.value = fault as Refusal;
    }
    this.isReading = false;
    if (this.aborter.signal.aborted) return; // no one looks any more
    this.publish(true);
    if (this.time.length < this.wanted && this.fault.value === undefined) this.readTo(this.wanted);
  }

  private publishedAt = 0;

  // Views are drawn again only so often while much is read.
  private publish(isLast: boolean): void {
    if (!isLast && this.known.peek() > 0 && performance.now() - this.publishedAt < 300) return;
    this.publishedAt = performance.now();
    this.known.value = this.time.length;
  }

  private ask(from: number): Promise<Event[]> {
    const query = { from, limit: pageEvents, raw: true };
    return get<Event[]>(`runs/${this.run}/events`, query, this.aborter.signal);
  }

  private keep(events: Event[]): void {
    const page = Math.floor((events[0]!.seq - 1) / pageEvents);
    if ((events[0]!.seq - 1) % pageEvents !== 0) return;
    this.newest = page;
    this.pages.delete(page);
    this.pages.set(page, events);
    if (this.pages.size > pagesKept) this.pages.delete(this.pages.keys().next().value!);
  }

  private add(event: Event): void {
    this.type.push(this.types.number(event.type));
    this.subject.push(this.subjects.number(subjectOf(event)));
    this.step.push(event.step);
    this.failed.push(isFailure(event) ? 1 : 0);
    this.time.push(Date.parse(event.at));
    if (event.type === "model_called") this.models.push(event.seq);
    if (event.type === "question_asked") this.questions.push(event.seq);
    this.steps.add(event);
    if (event.type === "run_started" && event.forked_from !== undefined)
      this.inherit(event.forked_from).catch(() => undefined); // the origin may be erased, or not be this reader's
  }

  // The ways that led to the event where a fork began are its own as well.
  private async inherit(first: Origin): Promise<void> {
    let origin: Origin | undefined = first;
    for (let left = inheritedMax; origin !== undefined && left > 0;) {
      const { run, seq }: Origin = origin;
      origin = undefined;
      for (let from = 1; from <= seq && left > 0;) {
        const query = { from, limit: Math.min(pageEvents, seq - from + 1), raw: true };
        const events: Event[] = await get<Event[]>(`runs/${run}/events`, query, this.aborter.signal);
        if (events.length === 0) return;
        for (const event of events) {
          this.steps.inherit(event);
          if (event.type === "run_started") origin = event.forked_from;
        }
        from += events.length;
        left -= events.length;
      }
    }
    this.inherited.value = true;
  }

  typeAt(seq: number): EventType {
    return this.types.words[this.type.at(seq - 1)] as EventType;
  }
  subjectAt(seq: number): string {
    return this.subjects.words[this.subject.at(seq - 1)]!;
  }
  stepAt(seq: number): number {
    return this.step.at(seq - 1);
  }
  isFailureAt(seq: number): boolean {
    return this.failed.at(seq - 1) === 1;
  }
  timeAt(seq: number): number {
    return this.time.at(Math.max(0, Math.min(seq, this.time.length) - 1));
  }

  // The event, if it is at hand; else it is asked for, and `arrived` says when it has come.
  event(seq: number): Event | undefined {
    const number = Math.floor((seq - 1) / pageEvents);
    const page = this.pages.get(number);
    const found = page?.[(seq - 1) % pageEvents] ?? this.extra.get(seq);
    if (page !== undefined && number !== this.newest) this.keep(page);
    if (found === undefined) this.fetch(page === undefined ? number * pageEvents + 1 : seq);
    return found;
  }

  // An answer that did not come is asked for again after a pause.
  private fetch(from: number): void {
    if (this.asked.has(from) || this.asked.size > 4) return;
    this.asked.add(from);
    this.ask(from)
      .then(async (events) => {
        if (events.length === 0) {
          await pause();
          return;
        }
        if (this.extra.size > 4 * pageEvents) this.extra.clear();
        if ((from - 1) % pageEvents === 0) this.keep(events);
        else for (const event of events) this.extra.set(event.seq, event);
      })
      .catch(pause)
      .finally(() => {
        this.asked.delete(from);
        if (!this.aborter.signal.aborted) this.arrived.value += 1;
      });
  }
}
