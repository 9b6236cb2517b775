// The runs that match a filter, the newest first, as they come.
import { useSignal } from "@preact/signals";
import { useLayoutEffect, useMemo, useRef } from "preact/hooks";
import { getPage, may, type Page as ListPage } from "../../api/client";
import { parametersOf, termsOf } from "../../api/filter";
import { useResource } from "../../api/resource";
import type { RunListed } from "../../api/types";
import { useChosen } from "../../parts/chosen";
import { Empty, Read } from "../../parts/states";
import { amend, go, link, route } from "../../router";
import { curlLine, quoted, useCommandLines } from "../../shell/command_lines";
import { sayRefusal } from "../../shell/notices";
import { FilterBar } from "./filter_bar";
import { BulkDialog } from "./bulk";
import { pushedOff } from "../../parts/pushed_off";
import { RunTable } from "./run_table";
import { Views } from "./views";

const pageRuns = 50;
const olderMax = 5_000; // then the list begins again with its first page

export function Page() {
  const where = route.value.query.get("where") ?? "";
  const bulk = useSignal<{ where: string; newest: RunListed } | undefined>(undefined); // stays when none match any more
  const terms = useMemo(() => termsOf(where), [where]);
  const query = [...parametersOf(terms), ["limit", String(pageRuns)] as [string, string]];
  const newest = useResource<ListPage<RunListed>>(
    where,
    (signal) => getPage<RunListed>("runs", query, "after", signal),
    2000,
  );
  useCommandLines(curlLine("runs", query), `cairn runs${where === "" ? "" : ` --where ${quoted(where)}`}`);
  return (
    <>
      <h1 class="hidden">Runs</h1>
      <Views where={where} />
      <FilterBar where={where} onChange={(text) => amend({ where: text }, "push")} />
      <Read from={newest}>
        {(page) =>
          page.items.length === 0
            ? <NoRuns isFiltered={where !== ""} />
            : <RunList key={where} first={page} query={query}
                onBulk={() => (bulk.value = { where, newest: page.items[0]! })} />
        }
      </Read>
      {bulk.value !== undefined && <BulkDialog {...bulk.value} onClose={() => (bulk.value = undefined)} />}
    </>
  );
}

function NoRuns({ isFiltered }: { isFiltered: boolean }) {
  if (isFiltered) return <Empty title="No run matches"><a href={link(["runs"])}>Show all runs</a></Empty>;
  return (
    <Empty title="No runs yet">
      <p>A run is one execution of a graph. Start the first one:</p>
      <pre>cairn start plan_runner --input '{`{"goal": "g", "sub_goals": []}`}'</pre>
    </Empty>
  );
}

interface ListProps {
  first: ListPage<RunListed>;
  query: [string, string][];
  onBulk: () => void;
}

// The page that is read again all the time, and the older ones that were asked for.
function RunList(props: ListProps) {
  const older = useSignal<RunListed[]>([]);
  const goesOn = useSignal<string | undefined>(undefined);
  const isBusy = useSignal(false);
  const next = older.value.length > 0 ? goesOn.value : props.first.next;
  const newest = new Set(props.first.items.map((run) => run.run));
  const runs = [...props.first.items, ...older.value.filter((run) => !newest.has(run.run))];
  const chosen = useChosen({ rows: runs, nameOf: (run) => run.run, noun: "run", open: (run) => go(["run", run.run]) });
  const before = useRef(props.first.items);
  useLayoutEffect(() => {
    const pushed = pushedOff(before.current, props.first.items, (run) => run.run);
    before.current = props.first.items;
    if (older.value.length === 0 && !isBusy.value) return; // the next page begins where the first one ends
    const isWhole = pushed !== undefined && pushed.length + older.value.length <= olderMax;
    if (!isWhole || pushed.length > 0) older.value = isWhole ? [...pushed, ...older.value] : [];
  }, [props.first]);
  const more = async () => {
    isBusy.value = true;
    goesOn.value = next;
    try {
      const page = await getPage<RunListed>("runs", [...props.query, ["after", next!]], "after");
      older.value = [...older.value, ...page.items];
      goesOn.value = page.next;
    } finally {
      isBusy.value = false;
    }
  };
  return (
    <>
      <div class="list-head">
        <span class="muted number">{runs.length.toLocaleString()}{next === undefined ? "" : "+"}{" "}
          {runs.length === 1 ? "run" : "runs"}</span>
        {may("operate") && (
          <button type="button" onClick={props.onBulk}>Act on all that match…</button>
        )}
      </div>
      <RunTable runs={runs} chosen={chosen} />
      {next !== undefined && (
        <p class="more">
          <button type="button" disabled={isBusy.value} onClick={() => void more().catch(sayRefusal)}>
            Older runs
          </button>
        </p>
      )}
    </>
  );
}
