// Proof: histories verified and decided again, as jobs whose report is an address; an export read without a database.
import { may } from "../../api/client";
import { Refusal } from "../../api/client";
import { Failure } from "../../parts/states";
import { go, link, route } from "../../router";
import { curlLine, quoted, useCommandLines } from "../../shell/command_lines";
import { AskForm, type Given } from "./ask_form";
import { FilePage } from "./file/file_page";
import { limitMax, type Asked, type Kind } from "./job";
import { JobReport } from "./job_report";

const limitAtFirst = 1000;

// What the address asks for; nothing: nothing yet.
function askedOf(query: URLSearchParams): Asked | undefined {
  const kind = query.get("do");
  if (kind !== "verify" && kind !== "replay" && kind !== "changed") return undefined;
  const limit = Number(query.get("limit") ?? limitAtFirst);
  return {
    kind: kind as Kind,
    where: query.get("where") ?? "",
    run: query.get("run") ?? "",
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

function lines(asked: Asked | undefined): [string, string] {
  if (asked === undefined) return [curlLine("runs", { limit: limitAtFirst }), "cairn verify --all"];
  const { kind, where, run, handlers } = asked;
  const verb = kind === "verify" ? "verify" : "replay";
  const which = run !== "" ? run : where === "" ? "--all" : `--where ${quoted(where)}`;
  const more = `${kind === "changed" ? " --graph FILE" : ""}${handlers ? " --handlers" : ""}`;
  return [curlLine(`runs/${run || "RUN"}/${verb}`, handlers ? { handlers } : {}), `cairn ${verb} ${which}${more}`];
}

function OfRuns({ asked }: { asked: Asked | undefined }) {
  useCommandLines(...lines(asked));
  const given: Given = { kind: asked?.kind ?? "verify", where: asked?.where ?? "", run: asked?.run ?? "",
    limit: asked?.limit ?? limitAtFirst, handlers: asked?.handlers ?? false, graph: asked?.graph ?? "" };
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
    </dl>
  );
}
