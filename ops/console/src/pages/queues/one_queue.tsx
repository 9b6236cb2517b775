// One queue: its lines over the last minutes, what is used of its budgets, the workers that serve it, and what was set
// for it by whom.
import type { Queue, Session } from "../../api/types";
import { Sparkline } from "../../parts/chart/sparkline";
import { duration } from "../../parts/time";
import { link } from "../../router";
import { workerName } from "../workers/name";
import { BudgetTable, hasBudgets } from "./budget_table";
import { QueueHistory } from "./history";
import { samples, servedBy, spanMs } from "./reading";

interface Props {
  name: string;
  queue: Queue | undefined;
  workers: Session[];
}

const charts = [["ready", "Ready"], ["held", "Held"], ["later", "Later"]] as const;

export function OneQueue({ name, queue, workers }: Props) {
  const serving = servedBy(name, workers);
  const row = samples.of(name).value;
  const most = (of: string) => Math.max(0, ...row.map((sample) => sample.values[of] ?? 0));
  return (
    <section class="one-queue card" aria-label={`Queue ${name}`}>
      <h2><bdi>{name}</bdi></h2>
      {queue === undefined && <p class="muted">Nothing is in it now, and nothing is set for it.</p>}
      <div class="charts">
        {charts.map(([of, title]) => (
          <figure key={of}>
            <figcaption>
              {title} <strong class="number">{(queue?.[of] ?? 0).toLocaleString()}</strong>
              {most(of) > 0 && <span class="most">most {most(of).toLocaleString()}</span>}
            </figcaption>
            <Sparkline samples={row} of={of} width={360} height={80} spanMs={spanMs()} label={`${title} in ${name}`}
              most={of === "held" ? queue?.concurrency ?? undefined : undefined} />
          </figure>
        ))}
      </div>
      {queue !== undefined && hasBudgets(queue) && <BudgetTable queue={queue} />}
      <h3>Served by {serving.length === 0 ? "no worker" : serving.length === 1 ? "1 worker" :
        `${serving.length} workers`}</h3>
      <ul class="serving">
        {serving.map((worker) => (
          <li key={worker.session}>
            <a href={link(["workers", String(worker.session)])}><bdi>{workerName(worker)}</bdi></a>{" "}
            <span class="muted">holds {worker.held}</span>
          </li>
        ))}
      </ul>
      <p class="muted">The lines are of what this page has seen in the last {duration(spanMs())}.</p>
      {queue !== undefined && queue.revision > 0 && <QueueHistory name={name} stamp={String(queue.revision)} />}
    </section>
  );
}
