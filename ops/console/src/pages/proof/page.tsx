// Proof: histories verified and decided again, as jobs whose report is an address; an export read without a database.
import { may, Refusal, type Query } from "../../api/client";
import { Failure } from "../../parts/states";
import { go, isRun, link, route } from "../../router";
import { curlLine, quoted, useCommandLines } from "../../shell/command_lines";
import { AskForm, type Given } from "./ask_form";
import { FilePage } from "./file/file_page";
import { limitMax, parametersOfRuns, type Asked, type Kind } from "./job";
import { JobReport } from "./job_report";

const limitAtFirst = 1000;
const pageMax = 1000; // runs that the API lists at once

// What the address asks for; nothing: nothing yet, or a run that is none.
function askedOf(query: URLSearchParams): Asked | undefined {
  const kind = query.get("do");
  if (kind !== "verify" && kind !== "replay" && kind !== "changed" && kind !== "blame") return undefined;
  const run = query.get("run") ?? "";
  if (run !== "" && !isRun(run)) return undefined;
  const limit = Number(query.get("limit") ?? limitAtFirst);
  return {
    kind: kind as Kind,
    where: query.get("where") ?? "",
    run,
    limit: Number.isInteger(limit) ? Math.min(Math.max(limit, 1), limitMax) : limitAtFirst,
    handlers: query.get("handlers") === "true",
    graph: query.get("graph") ?? "",
  };
}

export function Page() {
  const { rest, query } = route.value;
  if (rest[0] === "file") return <FilePage />;
  return <OfRuns asked={askedOf(query)} />;
}

// The line for one run, which may be a variable of the shell; FILE has the changed graph.
function curlOf({ kind, handlers }: Given, run: string): string {
  const query: Query = handlers && kind === "replay" ? { handlers } : {};
  const line = curlLine(`runs/RUN/${kind === "changed" ? "replay" : kind}`, query);
  const asked = line.replaceAll("'", '"').replace("RUN", run);
  if (kind !== "changed") return asked;
  const more = handlers ? ', \\"handlers\\": true' : "";
  return `${asked} -H "Content-Type: application/json" -d "{\\"graph\\": $(cat FILE)${more}}"`;
}

// For many runs a list of them, page by page in the program, the first page by curl.
function lines(asked: Given): [string, string] {
  const { kind, where, run, handlers, limit } = asked;
  const which = run !== "" ? quoted(run) : where === "" ? "--all" : `--where ${quoted(where)}`;
  const more = `${kind === "changed" ? " --graph FILE" : ""}${handlers ? " --handlers" : ""}`;
  const cairn = `cairn ${kind === "changed" ? "replay" : kind} ${which}${more}`;
  if (run !== "") return [curlOf(asked, run), cairn];
  const list = curlLine("runs", [...parametersOfRuns(asked), ["limit", String(Math.min(limit, pageMax))]]);
  // A row's own key, by those after it: a tag, a cause or the origin of a fork may have `run` too.
  const ids = `grep -o '"run":"[^"]*","started_at":[^{}]*"tags":{' | cut -d '"' -f 4`;
  return [`${list} | ${ids} | while read -r run; do ${curlOf(asked, "$run")}; done`, cairn];
}

function OfRuns({ asked }: { asked: Asked | undefined }) {
  const given: Given = { kind: asked?.kind ?? "verify", where: asked?.where ?? "", run: asked?.run ?? "",
    limit: asked?.limit ?? limitAtFirst, handlers: asked?.handlers ?? false, graph: asked?.graph ?? "" };
  useCommandLines(...lines(given));
  const isForbidden = asked?.kind === "changed" && !may("operate");
  return (
    <>
      <div class="page-head">
        <h1>Proof</h1>
        <a class="button to-file" href={link(["proof", "file"])}>Read an export file…</a>
      </div>
      <AskForm key={JSON.stringify(given)} given={given} onAsk={(wanted) => go(["proof"], {
        do: wanted.kind, where: wanted.run === "" ? wanted.where : "", run: wanted.run, graph: wanted.graph,
        limit: wanted.run === "" ? wanted.limit : "", handlers: wanted.handlers ? "true" : "",
      })} />
      {isForbidden
        ? <Failure error={new Refusal("forbidden", "A replay under another graph needs the role operate.", 403)} />
        : asked === undefined ? <About /> : <JobReport key={JSON.stringify(asked)} asked={asked} />}
    </>
  );
}

function About() {
  return (
    <dl class="about-proof">
      <div>
        <dt>Verify</dt>
        <dd>Hashes of all events are computed again, each event is held against the one before, large values and derived
          rows against the events. Signatures are compared by <code>cairn verify</code>, which knows the keys.</dd>
      </div>
      <div>
        <dt>Replay</dt>
        <dd>Each run is decided again from its record. The same graph must give the same events.</dd>
      </div>
      <div>
        <dt>Under a changed graph</dt>
        <dd>The same with a text of yours in place of each run's graph: would these runs have gone another way, and at
          which node? Nothing is written and nothing outside is called.</dd>
      </div>
      <div>
        <dt>Blame</dt>
        <dd>On which earlier outcomes do the ends of failed runs depend? Each is followed back in its record, over what
          was read and which edges were chosen; all else is left out. Nothing is run again.</dd>
      </div>
    </dl>
  );
}
