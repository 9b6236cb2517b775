// Views of the list under a name: some that everyone needs, and those that were saved on the server for all.
import { useSignal } from "@preact/signals";
import { caller, get, may, post, send, address, type Refusal } from "../../api/client";
import { useResource } from "../../api/resource";
import type { SavedView } from "../../api/types";
import { Dialog } from "../../parts/dialog";
import { link } from "../../router";
import { say, sayRefusal } from "../../shell/notices";

const own: [string, string][] = [
  ["All", ""],
  ["Failed today", "status=failed,since=24h"],
  ["Waiting", "status=waiting"],
  ["Running long", "status=running,lasted=1h"],
];

function Saving({ where, onClose }: { where: string; onClose: (name?: string) => void }) {
  const name = useSignal("");
  const fault = useSignal("");
  const submit = async (event: Event) => {
    event.preventDefault();
    try {
      await post("views", { name: name.value, address: link(["runs"], { where }).slice(2) });
      onClose(name.value);
    } catch (refusal) {
      fault.value = (refusal as Refusal).message;
    }
  };
  return (
    <Dialog title="Save this view for all" onClose={() => onClose()}>
      <form class="answer" onSubmit={submit}>
        <p class="muted"><code><bdi>{where === "" ? "all runs" : where}</bdi></code></p>
        <label>Name
          <input type="text" required maxLength={100} value={name.value}
            onInput={(event) => (name.value = event.currentTarget.value)} />
        </label>
        {fault.value !== "" && <p class="refusal" role="alert">{fault.value}</p>}
        <button type="submit" class="primary">Save</button>
      </form>
    </Dialog>
  );
}

function Saved({ view, isHere, onGone }: { view: SavedView; isHere: boolean; onGone: () => void }) {
  const remove = async () => {
    try {
      await send(address(`views/${encodeURIComponent(view.name)}`), { method: "DELETE" });
      say(`The view ${view.name} is removed.`);
      onGone();
    } catch (refusal) {
      sayRefusal(refusal);
    }
  };
  return (
    <span class="view">
      <a href={`#/${view.address}`} aria-current={isHere ? "page" : undefined} title={`Saved by ${view.created_by}`}>
        <bdi>{view.name}</bdi>
      </a>
      {isHere && may("operate") && (
        <button type="button" class="quiet" aria-label={`Remove the view ${view.name}`} onClick={() => void remove()}>
          ×
        </button>
      )}
    </span>
  );
}

export function Views({ where }: { where: string }) {
  const isAllowed = caller.value?.all_runs === true;
  const read = useResource<SavedView[]>(`views ${isAllowed}`, (signal) =>
    isAllowed ? get<SavedView[]>("views", {}, signal) : Promise.resolve([]), 30_000);
  const isSaving = useSignal(false);
  const saved = read.data.value ?? [];
  const here = link(["runs"], { where }).slice(2);
  const isKnown = own.some(([, each]) => each === where) || saved.some((view) => view.address === here);
  return (
    <nav class="views" aria-label="Views">
      {own.map(([name, each]) => (
        <a key={name} href={link(["runs"], { where: each })} aria-current={each === where ? "page" : undefined}>
          {name}
        </a>
      ))}
      {saved.map((view) => (
        <Saved key={view.name} view={view} isHere={view.address === here} onGone={read.reload} />
      ))}
      {isAllowed && may("operate") && !isKnown && (
        <button type="button" class="quiet" onClick={() => (isSaving.value = true)}>Save this view…</button>
      )}
      {isSaving.value && <Saving where={where} onClose={(name) => {
        isSaving.value = false;
        if (name !== undefined) say(`The view ${name} is saved for all.`);
        read.reload();
      }} />}
    </nav>
  );
}
