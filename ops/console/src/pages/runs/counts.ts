// How many runs of each status there are, as the server counts them once in a while; nothing for a caller who does not
// see all runs.
import { hasNoScope, send } from "../../api/client";
import { useResource } from "../../api/resource";

export type Counts = Record<string, number>;

async function read(signal: AbortSignal): Promise<Counts> {
  const metrics = new URL("metrics", new URL(".", location.href));
  const text = await (await send(metrics, { signal })).text();
  const lines = text.matchAll(/^cairn_runs\{status="(\w+)"\} (\S+)$/gm);
  return Object.fromEntries([...lines].map(([, status, count]) => [status!, Number(count)]));
}

export function useCounts(): Counts {
  const isAllowed = hasNoScope();
  const found = useResource<Counts>(`counts ${isAllowed}`, (signal) =>
    isAllowed ? read(signal) : Promise.resolve({}), 10_000);
  return found.data.value ?? {};
}
