// What is used of a queue's budgets in the windows that are now: by the queue as a whole, then by keys.
import { caller, get } from "../../api/client";
import { useResource } from "../../api/resource";
import type { BudgetUse, Queue } from "../../api/types";
import { Read } from "../../parts/states";
import { Until } from "../../parts/time";
import { amountWords } from "./budgets";
import { everyMs } from "./reading";

const keysMost = 20;

export const hasBudgets = (queue: Queue) => queue.budgets.length + queue.key_budgets.length > 0;

export function BudgetTable({ queue }: { queue: Queue }) {
  const path = `queues/${encodeURIComponent(queue.queue)}/budgets`;
  const uses = useResource<BudgetUse[]>(path, (signal) => get<BudgetUse[]>(path, { limit: keysMost }, signal), everyMs);
  return (
    <>
      <h3>Budgets</h3>
      <Read from={uses}>{(found) => <Uses uses={found} />}</Read>
      {queue.key_budgets.length > 0 && <p class="muted">{keysSentence()}</p>}
    </>
  );
}

const keysSentence = () => caller.value?.all_runs === false ? "Keys are shown to a token that may see all runs."
  : "Of the keys, those that used most are shown; one that used nothing is not.";

function Uses({ uses }: { uses: BudgetUse[] }) {
  if (uses.length === 0) return null;
  return (
    <table class="list budget-uses">
      <caption class="hidden">What is used of the budgets now</caption>
      <thead>
        <tr>
          <th scope="col">Of</th><th scope="col">Budget</th><th scope="col">Used</th><th scope="col">Window ends</th>
        </tr>
      </thead>
      <tbody>{uses.map((use) => <Use key={JSON.stringify([use.key, use.unit, use.per])} use={use} />)}</tbody>
    </table>
  );
}

// Steps whose runs have nothing at the key's place share the empty one.
const whoseWords = (key: string | null) => (key === null ? "the whole queue" : key || "the empty key");

// As a Gauge, of amounts that are long: in groups of digits, and wrapped.
function UsedOf({ use }: { use: BudgetUse }) {
  const { key, unit, per, used, cap } = use;
  const share = Math.min(1, used / cap);
  const words = `${amountWords(used)} of ${amountWords(cap)}${share === 1 ? ", used up" : ""}`;
  return (
    <span class={share === 1 ? "gauge is-full" : "gauge"}>
      <span class="number">{words}</span>
      <span class="gauge-bar" role="meter" aria-label={`Used of ${unit} per ${per}: ${whoseWords(key)}`}
        aria-valuemin={0} aria-valuemax={cap} aria-valuenow={Math.min(used, cap)} aria-valuetext={words}>
        <span style={{ width: `${(share * 100).toFixed(1)}%` }} />
      </span>
    </span>
  );
}

function Use({ use }: { use: BudgetUse }) {
  return (
    <tr>
      <td class="key">{use.key ? <bdi>{use.key}</bdi> : <em>{whoseWords(use.key)}</em>}</td>
      <td data-label="Budget">{use.unit} per {use.per}</td>
      <td data-label="Used"><UsedOf use={use} /></td>
      <td data-label="Window ends"><Until at={use.until} /></td>
    </tr>
  );
}
