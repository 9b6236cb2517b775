// The runs of a file.
import { Rows } from "../../../parts/rows";
import { Status } from "../../../parts/status";
import { amend, link, route } from "../../../router";
import type { FileRun } from "./check";
import type { Reading } from "./reading";

const matches = (run: FileRun, words: string) =>
  words === "" || run.run.includes(words) || run.graph.includes(words) || run.status.includes(words);

export function FileRuns({ reading }: { reading: Reading }) {
  const words = route.value.query.get("find") ?? "";
  const { runs } = reading.check;
  const shown = words === "" ? runs : runs.filter((run) => matches(run, words));
  const height = 36;
  return (
    <section aria-label="Runs of the file">
      <div class="file-head">
        <h2>{shown.length.toLocaleString()} {shown.length === 1 ? "run" : "runs"}</h2>
        <input type="text" aria-label="Runs, graphs or statuses with these letters" placeholder="Find" value={words}
          onInput={(event) => amend({ find: event.currentTarget.value })} />
      </div>
      <div class="file-rows" style={{ height: `${Math.min(shown.length * height + 2, 560)}px` }}>
        <Rows count={shown.length} height={height} label="Runs" row={(index) => {
          const run = shown[index]!;
          return (
            <a key={run.run} class="file-row file-run" href={link(["proof", "file"], { run: run.run })}>
              <span class={run.isSound ? "mark is-good" : "mark refusal"}>
                {run.leftOut !== "" ? "left out" : run.isSound ? "✓ sound" : "✕ findings"}
              </span>
              <code>{run.run}</code>
              <bdi>{run.graph}</bdi>
              <Status of={run.status} />
              <span class="number muted">{run.leftOut === "" ? `${run.from.length} events` : ""}</span>
            </a>
          );
        }} />
      </div>
    </section>
  );
}
