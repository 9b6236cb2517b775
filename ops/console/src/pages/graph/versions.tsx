// The versions of a graph, the newest first: who added each, which runs are under it, how it differs from another.
import { useSignal } from "@preact/signals";
import { get, mayBring, post, type Refusal } from "../../api/client";
import { useResource } from "../../api/resource";
import type { Graph, GraphListed, UseReport } from "../../api/types";
import { Status } from "../../parts/status";
import { Time } from "../../parts/time";
import { link } from "../../router";
import { say, sayRefusal } from "../../shell/notices";
import type { Shown } from "./page";

const shownAtFirst = 8; // each is asked for its runs

export function Versions({ shown, onAdded }: { shown: Shown; onAdded: () => void }) {
  const count = useSignal(shownAtFirst);
  const lines = shown.versions.slice(0, count.value);
  return (
    <>
      <table class="list cards versions">
        <thead>
          <tr>
            <th scope="col">Version</th><th scope="col">Since</th><th scope="col">By</th><th scope="col">Runs</th>
            <th scope="col"><span class="hidden">Difference</span></th>
          </tr>
        </thead>
        <tbody>
          {lines.map((line, at) => (
            <Row key={line.version} line={line} before={shown.versions[at + 1]} onAdded={onAdded} />
          ))}
        </tbody>
      </table>
      {shown.versions.length > count.value && (
        <p class="more"><button type="button" onClick={() => (count.value += 20)}>Older versions</button></p>
      )}
    </>
  );
}

interface RowProps {
  line: GraphListed;
  before: GraphListed | undefined;
  onAdded: () => void;
}

function Row({ line, before, onAdded }: RowProps) {
  const { name, version } = line;
  return (
    <tr>
      <td class="name">
        <a href={link(["graph", name], { version, show: "text" })} title={version}>
          <code>{version.slice(0, 12)}</code>
        </a>
        {line.current && <span class="status is-done"><span aria-hidden="true">✓</span>current</span>}
      </td>
      <td data-label="Since">{line.at === undefined ? "–" : <Time at={line.at} />}</td>
      <td data-label="By"><bdi>{line.actor ?? "–"}</bdi></td>
      <td data-label="Runs"><Runs version={version} isCurrent={line.current} /></td>
      <td class="row-actions">
        {before !== undefined && (
          <a href={link(["graph", name], { show: "difference", from: before.version, version })}>
            Difference to the one before
          </a>
        )}
        {!line.current && mayBring(line) && <MakeCurrent line={line} onAdded={onAdded} />}
      </td>
    </tr>
  );
}

const againMs = 5000;
const over = ["done", "failed", "aborted"];

// The runs under this version by status. They change where it is current or a run of it is open.
function Runs({ version, isCurrent }: { version: string; isCurrent: boolean }) {
  const isLive = useSignal(isCurrent);
  const report = useResource<UseReport>(version, async (signal) => {
    const found = await get<UseReport>("report", { version }, signal);
    isLive.value = isCurrent || Object.entries(found.statuses).some(([status, n]) => n > 0 && !over.includes(status));
    return found;
  }, isLive.value ? againMs : 0);
  const refusal = report.error.value;
  if (refusal !== undefined)
    return refusal.code === "not_found" ? <span class="muted">none</span>
      : <a href={link(["runs"], { where: `version=${version}` })} title={refusal.message}>many</a>;
  const found = report.data.value;
  if (found === undefined) return <span class="muted">…</span>;
  const statuses = Object.entries(found.statuses).filter(([, count]) => count > 0);
  if (statuses.length === 0) return <span class="muted">none</span>;
  return (
    <span class="run-counts">
      {statuses.map(([status, count]) => (
        <a key={status} href={link(["runs"], { where: `version=${version},status=${status}` })}>
          {count.toLocaleString()} <Status of={status} />
        </a>
      ))}
    </span>
  );
}

function MakeCurrent({ line, onAdded }: { line: GraphListed; onAdded: () => void }) {
  const isBusy = useSignal(false);
  const make = async () => {
    isBusy.value = true;
    try {
      await post("graphs", await get<Graph>(`graphs/${line.version}`));
      say(`New runs of ${line.name} take version ${line.version.slice(0, 12)}.`);
      onAdded();
    } catch (refusal) {
      sayRefusal(refusal as Refusal);
    }
    isBusy.value = false;
  };
  return <button type="button" disabled={isBusy.value} onClick={() => void make()}>Make current</button>;
}
