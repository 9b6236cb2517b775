// An export that is dropped here: its runs and events, and its hash chains checked by this browser. Nothing is sent.
import { useSignal } from "@preact/signals";
import { useRef } from "preact/hooks";
import { useKeys } from "../../../keys";
import { shortId } from "../../../parts/status";
import { duration, Exact } from "../../../parts/time";
import { link, route } from "../../../router";
import { curlLine, useCommandLines } from "../../../shell/command_lines";
import { FileRuns } from "./file_runs";
import { FileEvents } from "./file_events";
import { readFile, reading, type Reading } from "./reading";

export function FilePage() {
  const isOver = useSignal(false);
  const picker = useRef<HTMLInputElement>(null);
  useCommandLines(curlLine("runs/RUN/export"), "cairn verify --file FILE --trust KEYFILE");
  useKeys([{ keys: "o", says: "Open a file", act: () => picker.current?.click() }]);
  const take = (files: FileList | null | undefined) => {
    isOver.value = false;
    const file = files?.[0];
    if (file !== undefined) void readFile(file);
  };
  return (
    <div class={isOver.value ? "file-page is-over" : "file-page"}
      onDragOver={(event) => {
        event.preventDefault();
        isOver.value = true;
      }}
      onDragLeave={() => (isOver.value = false)}
      onDrop={(event) => {
        event.preventDefault();
        take(event.dataTransfer?.files);
      }}>
      <div class="page-head">
        <h1>An export, read here</h1>
        <a class="to-file" href={link(["proof"])}>Proof of runs in the database</a>
      </div>
      <div class="drop card">
        <p>Drop a file of <code>cairn export</code> on this page. It is read by this browser alone: nothing is sent, and
          no database is asked.</p>
        <input ref={picker} id="export-file" type="file" class="hidden" tabIndex={-1} aria-label="Export file"
          onChange={(event) => take(event.currentTarget.files)} />
        <button type="button" onClick={() => picker.current?.click()}>Choose a file…</button>
      </div>
      {reading.value !== undefined && <Read reading={reading.value} />}
    </div>
  );
}

function Read({ reading: of }: { reading: Reading }) {
  if (of.state === "refused")
    return <div class="state failure" role="alert"><h2><bdi>{of.name}</bdi> cannot be read</h2><p>{of.says}</p></div>;
  const run = of.check.runs.find((one) => one.run === route.value.query.get("run"));
  return (
    <>
      {of.state === "reading" ? (
        <div class="progress">
          <progress aria-label="Progress" max={of.content.size} value={of.bytes} />
          <span role="status">{of.check.events.toLocaleString()} events so far</span>
        </div>
      ) : <Verdict reading={of} />}
      {run === undefined ? <FileRuns reading={of} /> : <FileEvents key={run.run} reading={of} run={run} />}
    </>
  );
}

const many = (count: number, one: string) => `${count.toLocaleString()} ${count === 1 ? one : `${one}s`}`;

// What a file says of its time may be no time.
function When({ at }: { at: string }) {
  return Number.isNaN(Date.parse(at)) ? <bdi>{at.slice(0, 40)}</bdi> : <Exact at={at} />;
}

function Verdict({ reading: of }: { reading: Reading }) {
  const { check } = of;
  const isSound = check.findings.length === 0;
  const inFile = check.runs.filter((run) => run.leftOut === "").length;
  return (
    <div class={isSound ? "verdict is-good" : "verdict is-bad"} role="status">
      <p class="verdict-line">
        <span aria-hidden="true">{isSound ? "✓" : "✕"}</span>{" "}
        {isSound ? "The file agrees with itself" : many(check.findings.length, "finding")}
      </p>
      <p class="muted">
        <bdi>{of.name}</bdi>: {many(inFile, "run")}, {many(check.events, "event")}, {many(check.graphs, "graph")},{" "}
        {many(check.blobs, "large value")}, made <When at={String(check.head?.made_at ?? "")} /> by{" "}
        <bdi>{String(check.head?.by ?? "")}</bdi>. Read in {duration(of.tookMs)}.
      </p>
      <ul class="findings">
        {check.findings.slice(0, 50).map((finding) => (
          <li key={`${finding.run}/${finding.seq}/${finding.says}`}>
            {finding.run !== "" && (
              <a href={link(["proof", "file"], { run: finding.run, event: finding.seq || undefined })}>
                {shortId(finding.run)}{finding.seq > 0 && ` event ${finding.seq}`}
              </a>
            )} <bdi>{finding.says}</bdi>
          </li>
        ))}
      </ul>
      {check.findings.length > 50 && <p class="muted">50 of {check.findings.length} are shown.</p>}
      <Scope reading={of} />
    </div>
  );
}

function Scope({ reading: { check, sum } }: { reading: Reading }) {
  return (
    <div class="scope">
      <div>
        <h2>Checked here</h2>
        <ul>
          <li>Each event's hash follows from its content and the event before it; none is missing, no time goes
            back</li>
          <li>The texts of graphs and large values have their hashes</li>
          <li>{sum === "unchecked" ? "Not the sum of the whole file, which is too large or cut off"
            : "The counts of the end, and the sum of the whole file"}</li>
        </ul>
      </div>
      <div>
        <h2>Not checked here</h2>
        <ul>
          <li>Signatures: {check.checkpoints === 0 ? "the file has none" :
            `${many(check.checkpoints, "checkpoint")} of ${many(check.keys.size, "key")}`}. A chain that was computed
            again as a whole agrees with itself as well; only a signature contradicts it</li>
          <li>Whether each event can follow by the rules of the engine</li>
        </ul>
        <p><code>cairn verify --file FILE --trust KEYFILE</code> checks both.</p>
      </div>
    </div>
  );
}
