// The newest notice of each hook, of which the list of hooks says nothing: read when the hook's numbers have changed,
// or while that notice waits.
import { type Signal, useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { get } from "../../api/client";
import type { Hook, HookDelivery } from "../../api/types";

interface Last {
  stamp: string;
  notice: HookDelivery | undefined;
}

export type Lasts = ReadonlyMap<string, Last>;

const hooksMost = 50; // of which it is read; those after them show none

const stampOf = (hook: Hook) => `${hook.created_at}/${hook.waiting}/${hook.parked}/${hook.delivered}`;

function isOld(hook: Hook, last: Last | undefined): boolean {
  return last === undefined || last.stamp !== stampOf(hook) || last.notice?.status === "waiting";
}

async function read(hooks: Hook[], lasts: Signal<Lasts>, signal: AbortSignal): Promise<void> {
  for (const hook of hooks) {
    const path = `hooks/${encodeURIComponent(hook.name)}/deliveries`;
    const [notice] = await get<HookDelivery[]>(path, { limit: 1 }, signal).catch(() => []); // it may be removed by now
    if (signal.aborted) return;
    lasts.value = new Map([...lasts.value, [hook.name, { stamp: stampOf(hook), notice }]]);
  }
}

export function useLasts(hooks: Hook[]): Lasts {
  const lasts = useSignal<Lasts>(new Map());
  useEffect(() => {
    const aborter = new AbortController();
    const old = hooks.slice(0, hooksMost).filter((hook) => isOld(hook, lasts.peek().get(hook.name)));
    void read(old, lasts, aborter.signal);
    return () => aborter.abort();
  }, [hooks]);
  return lasts.value;
}
