// The moment that the page of a run shows: its latest one, which moves on, or any event that the slider stands at.
import { computed, effect, signal, type ReadonlySignal, type Signal } from "@preact/signals";
import { createContext } from "preact";
import { useContext, useEffect, useMemo, useRef } from "preact/hooks";
import { get, Refusal } from "../../api/client";
import type { Explanation, Run, Step } from "../../api/types";
import { attempts } from "../../api/resource";
import { amend, route } from "../../router";
import { History } from "./history";

const ended = ["done", "failed", "aborted"];

export class RunView {
  readonly history: History;
  readonly head = signal<Run | undefined>(undefined); // the run as it is now
  readonly explanation = signal<Explanation | undefined>(undefined);
  readonly asked: Signal<number | undefined> = signal(undefined); // nothing: now
  readonly shown = signal<Run | undefined>(undefined); // as of the moment; the last one while the next is on its way
  readonly fault = signal<Refusal | undefined>(undefined);
  readonly momentFault = signal<Refusal | undefined>(undefined);
  readonly last = computed(() => this.head.value?.seq ?? 0);
  readonly at = computed(() => Math.min(this.asked.value ?? this.last.value, Math.max(this.last.value, 1)));
  readonly rested = signal(0); // the event where the slider came to rest
  readonly isNow = computed(() => this.asked.value === undefined);
  // Steps that wait or are executed at the moment; none of a run that has ended, which its end closed.
  readonly open: ReadonlySignal<Step[]> = computed(() => {
    const run = this.shown.value;
    return run === undefined || ended.includes(run.status) ? [] : run.steps;
  });
  readonly isOver: ReadonlySignal<boolean> = computed(() => ended.includes(this.head.value?.status ?? ""));
  private readonly aborter = new AbortController();
  private timer = 0;
  private failures = 0;
  private isReading = false;
  private readonly stop: () => void;

  constructor(readonly run: string) {
    this.history = new History(run);
    const at = Math.round(Number(route.peek().query.get("at")));
    if (at >= 1) this.asked.value = at;
    void this.readHead();
    this.stop = effect(() => {
      const stands = this.at.value;
      clearTimeout(this.resting);
      if (this.rested.peek() === 0) this.rested.value = stands;
      else this.resting = window.setTimeout(() => (this.rested.value = stands), 120);
      void this.isNow.value;
      void this.head.value;
      void this.readMoment();
    });
  }

  close(): void {
    this.aborter.abort();
    this.stop();
    this.history.close();
    clearTimeout(this.timer);
    clearTimeout(this.resting);
    clearTimeout(this.writing);
  }

  private reading = Promise.resolve();

  // Reads what is new. One at a time: what is asked for while another reads comes after it.
  readonly readHead = (): Promise<void> => (this.reading = this.reading.then(this.readOnce));

  private readonly readOnce = async (): Promise<void> => {
    clearTimeout(this.timer);
    if (this.aborter.signal.aborted) return;
    const began = performance.now();
    try {
      await this.readNews();
      this.failures = 0;
      this.fault.value = undefined;
    } catch (fault) {
      if (this.aborter.signal.aborted) return;
      this.failures += 1;
      this.fault.value = fault as Refusal;
    }
    const isCalm = document.hidden || this.isOver.value; // a run that has ended may be tried again
    const calm = Math.max(isCalm ? 5000 : 1000, 4 * (performance.now() - began));
    const pause = this.failures > 0 ? Math.min(500 * 2 ** this.failures, 4000) : calm;
    this.timer = window.setTimeout(this.readHead, pause); // also for one that is not there: its start may wait
  };

  private explainedAt = 0;

  // The run and why it stands where it stands; a long one costs the server much, so both are read only if there is an
  // event more, and the explanation once in a while.
  private async readNews(): Promise<void> {
    const { signal } = this.aborter;
    const seen = this.head.value?.seq;
    const query = { from: (seen ?? 0) + 1, limit: 1, raw: true };
    const news = () => get<unknown[]>(`runs/${this.run}/events`, query, signal);
    const isNew = seen === undefined || seen === 0 || (await news()).length > 0;
    if (isNew) {
      const reading = get<Run>(`runs/${this.run}`, {}, signal);
      if (seen === undefined) this.history.readTo(1); // at the same time
      this.head.value = await reading;
    }
    if (this.last.peek() === 0) return; // its start waits: there is nothing else yet
    this.history.readTo(this.last.peek());
    if (this.momentFault.peek() !== undefined) void this.readMoment();
    const isExplained = this.isOver.peek() ? this.explainedAt > 0 : performance.now() - this.explainedAt < 5000;
    if (!isNew && isExplained) return;
    this.explanation.value = await get<Explanation>(`runs/${this.run}/explain`, {}, signal);
    this.explainedAt = performance.now();
  }

  // One request at a time: where the slider has moved on meanwhile, the newest moment is read next.
  private async readMoment(): Promise<void> {
    if (this.isNow.peek()) {
      this.momentFault.value = undefined;
      this.shown.value = this.head.peek();
      return;
    }
    if (this.isReading || this.last.peek() === 0) return;
    this.isReading = true;
    const at = this.at.peek();
    try {
      const shown = await get<Run>(`runs/${this.run}`, { at }, this.aborter.signal);
      this.momentFault.value = undefined;
      if (!this.isNow.peek()) this.shown.value = shown;
    } catch (fault) {
      if (!this.aborter.signal.aborted) this.momentFault.value = fault as Refusal;
    }
    this.isReading = false;
    if (!this.aborter.signal.aborted && (this.isNow.peek() || this.at.peek() !== at)) void this.readMoment();
  }

  // All of it, also why it stands where it stands.
  readAgain(): Promise<void> {
    this.reading = this.reading.then(() => {
      this.explainedAt = -Infinity;
    });
    return this.readHead();
  }

  // The run as of an event, also while the slider is on its way.
  async stateAt(seq: number, aborted: AbortSignal): Promise<Run> {
    const shown = this.shown.peek();
    return shown?.seq === seq ? shown : get<Run>(`runs/${this.run}`, { at: seq }, aborted);
  }

  // Moves by so many events; after the last one is now, so that a run that goes on is followed.
  step(by: number): void {
    const to = this.at.peek() + by;
    this.moveTo(by > 0 && to >= this.last.peek() ? undefined : to);
  }

  private writing = 0;
  private resting = 0;

  // Moves to an event; the address follows when the slider rests.
  moveTo(seq: number | undefined): void {
    const bounded = seq === undefined ? undefined : Math.max(1, Math.min(Math.round(seq), this.last.peek()));
    this.asked.value = bounded;
    clearTimeout(this.writing);
    this.writing = window.setTimeout(() => {
      const { page, rest } = route.peek();
      if (page === "run" && rest[0] === this.run) amend({ at: bounded });
    }, 200);
  }
}

const Context = createContext<RunView | undefined>(undefined);
export const RunProvider = Context.Provider;

export function useRun(): RunView {
  return useContext(Context)!;
}

export function useRunView(run: string): RunView {
  const view = useMemo(() => new RunView(run), [run]);
  useEffect(() => () => view.close(), [view]);
  const isFirst = useRef(true);
  useEffect(() => {
    if (!isFirst.current) void view.readAgain();
    isFirst.current = false;
  }, [attempts.value]);
  const asked = route.value.query.get("at");
  useEffect(() => {
    const at = asked === null ? undefined : Math.round(Number(asked));
    if (at !== view.asked.peek() && (at === undefined || at >= 1)) view.asked.value = at;
  }, [asked]);
  return view;
}
