// Something that is read from the server and kept up to date while it is looked at, and the refusal of the last
// attempt. What was there stays until the next answer.
import { signal, type Signal } from "@preact/signals";
import { useEffect, useMemo } from "preact/hooks";
import { Refusal, token } from "./client";

export interface Resource<T> {
  data: Signal<T | undefined>;
  error: Signal<Refusal | undefined>;
  reload: () => void;
}

// Counts how often all that is shown is to be read again.
export const attempts = signal(0);

// Reads all that is shown again.
export function reloadAll(): void {
  attempts.value += 1;
}

const retryMs = [500, 1000, 2000, 4000];

const restOfAnswer = 4; // what takes long is asked for less often

// Reads again when the key changes, every so many milliseconds while the page is visible, and until the server is back.
export function useResource<T>(key: string, load: (signal: AbortSignal) => Promise<T>, everyMs = 0): Resource<T> {
  return useRead(key, key, load, everyMs);
}

// The same of something that changes with its key, as a run does with its events: what was there stays until the next
// answer, and with it what a reader has opened.
export function useFollowed<T>(
  of: string, key: string, load: (signal: AbortSignal) => Promise<T>, everyMs = 0,
): Resource<T> {
  return useRead(of, key, load, everyMs);
}

function useRead<T>(of: string, key: string, load: (signal: AbortSignal) => Promise<T>, everyMs: number): Resource<T> {
  const resource = useMemo(() => {
    const data = signal<T | undefined>(undefined);
    const error = signal<Refusal | undefined>(undefined);
    return { data, error, again: signal(0) };
  }, [of]);
  useEffect(() => {
    const aborter = new AbortController();
    let timer = 0;
    let failures = 0;
    let tookMs = 0;
    const read = async () => {
      clearTimeout(timer);
      const began = performance.now();
      try {
        const found = await load(aborter.signal);
        if (aborter.signal.aborted) return;
        failures = 0;
        resource.error.value = undefined;
        resource.data.value = found;
      } catch (fault) {
        if (aborter.signal.aborted) return;
        failures += 1;
        resource.error.value = fault instanceof Refusal ? fault : new Refusal("internal", String(fault), 0);
      }
      tookMs = performance.now() - began;
      plan();
    };
    const plan = () => {
      const isAway = resource.error.value?.code === "lost" || resource.error.value?.code === "unavailable";
      const pause = isAway ? retryMs[Math.min(failures, retryMs.length) - 1]! :
        everyMs > 0 ? Math.max(everyMs, restOfAnswer * tookMs) : 0;
      if (pause > 0 && (isAway || !document.hidden)) timer = window.setTimeout(() => void read(), pause);
    };
    const onVisible = () => {
      if (!document.hidden && everyMs > 0) void read();
    };
    document.addEventListener("visibilitychange", onVisible);
    void read();
    return () => {
      aborter.abort();
      clearTimeout(timer);
      document.removeEventListener("visibilitychange", onVisible);
    };
  }, [key, attempts.value, resource.again.value, token.value, everyMs]);
  const reload = () => {
    resource.again.value += 1;
  };
  return { data: resource.data, error: resource.error, reload };
}
