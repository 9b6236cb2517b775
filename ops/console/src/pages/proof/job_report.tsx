// A job's progress and what came of it.
import { useSignal } from "@preact/signals";
import { copyText } from "../../parts/copy";
import { Failure } from "../../parts/states";
import { shortId } from "../../parts/status";
import { useWalk } from "../../parts/walk";
import { clockTime, duration, now } from "../../parts/time";
import { link } from "../../router";
import { say, sayRefusal } from "../../shell/notices";
import { BlameList } from "./blame_list";
import { beginAgain, jobOf, type Asked, type Job } from "./job";
import { examplesMax, type Example, type Report } from "./report";

export function JobReport({ asked }: { asked: Asked }) {
  const job = useSignal(jobOf(asked));
  useWalk(".finding", "finding");
  const shown = job.value;
  const isAtWork = shown.state.value === "counting" || shown.state.value === "working";
  return (
    <section class="proof-report" aria-label="Report">
      <Progress job={shown} isAtWork={isAtWork} />
      {shown.fault.value !== undefined && <Failure error={shown.fault.value} />}
      {shown.done.value > 0 && <Summary job={shown} isAtWork={isAtWork} done={shown.done.value} />}
      <Found asked={asked} report={shown.report.value} done={shown.done.value} />
      {!isAtWork && <Actions job={shown} onAgain={() => (job.value = beginAgain(asked))} />}
    </section>
  );
}

// The causes of one run stand in their order, those of many by how many runs depend on them.
function Found({ asked, report, done }: { asked: Asked; report: Report; done: number }) {
  const ofOne = asked.kind === "blame" && asked.run !== "" ? report.blame : undefined;
  if (ofOne !== undefined) return <BlameList blame={ofOne} />;
  return <Kinds report={report} done={done} isReplay={asked.kind === "replay" || asked.kind === "changed"} />;
}

function Progress({ job, isAtWork }: { job: Job; isAtWork: boolean }) {
  const { total, done, state } = job;
  if (!isAtWork) return null;
  const says = state.value === "counting" ? `Counting: ${total.value.toLocaleString()} runs so far`
    : `${done.value.toLocaleString()} of ${total.value.toLocaleString()} runs`;
  return (
    <div class="progress">
      <progress aria-label="Progress" max={Math.max(1, total.value)}
        {...(state.value === "counting" ? {} : { value: done.value })} />
      <span role="status">{says}, {duration(now.value - job.startedAt)}</span>
      <button type="button" onClick={job.stop}>Stop</button>
    </div>
  );
}

const many = (count: number, one: string) => `${count.toLocaleString()} ${count === 1 ? one : `${one}s`}`;

interface SummaryProps {
  job: Job;
  isAtWork: boolean;
  done: number; // with each run that is done the report has more, which is no signal: by this number it is drawn again
}

function Summary(props: SummaryProps) {
  return props.job.asked.kind === "blame" ? <BlameSummary {...props} /> : <ProofSummary {...props} />;
}

// A blame finds nothing good or bad: it says on what ends depend.
function BlameSummary({ job, isAtWork, done }: SummaryProps) {
  const { blame } = job.report.value;
  const isOfOne = job.asked.run !== "";
  const says = blame === undefined ? `${many(done, "run")}, none of which can be blamed`
    : !isOfOne ? `${many(done, "failed run")}, and what ${done === 1 ? "it depends" : "they depend"} on`
      : blame.causes.length === 0 ? "It depends on no earlier outcome"
        : `It depends on ${many(blame.causes.length + blame.left_out, "earlier outcome")}`;
  return (
    <div class="verdict is-plain">
      <p class="verdict-line">{says}</p>
      <p class="muted">
        {isOfOne && blame !== undefined ? <bdi>{blame.of.says}</bdi>
          : "By graph, node and kind, the most frequent first."}
        {!isAtWork && ` Read at ${clockTime(job.endedAt.value)} in ${duration(job.endedAt.value - job.startedAt)}`}
        {job.state.value === "stopped" ? `, stopped after ${many(done, "run")}` : ""}{!isAtWork && "."}
      </p>
    </div>
  );
}

function ProofSummary({ job, isAtWork, done }: SummaryProps) {
  const report = job.report.value;
  const bad = report.runs - report.good;
  const isVerify = job.asked.kind === "verify";
  const unread = report.found().some((kind) => kind.title === "unreadable" || kind.title === "refused");
  const word = isVerify ? "with findings"
    : `${bad === 1 ? "goes" : "go"} another way${unread ? " or cannot be read" : ""}`;
  const stopped = job.state.value === "stopped" ? `, stopped after ${many(done, "run")}` : "";
  return (
    <div class={bad === 0 ? "verdict is-good" : "verdict is-bad"}>
      <p class="verdict-line">
        <span aria-hidden="true">{bad === 0 ? "✓" : "✕"}</span>{" "}
        {bad === 0 ? `${many(report.good, "run")} ${isVerify ? "sound" : "the same"}` : `${many(bad, "run")} ${word}`}
      </p>
      <p class="muted">
        {many(report.runs, "run")}, {many(report.events, "event")}
        {bad > 0 && `, ${many(report.good, "run")} ${isVerify ? "sound" : "the same"}`}
        {report.cost > 0 && `, model calls of ${report.cost.toFixed(4)}, of which ${report.costBehind.toFixed(4)
        } lie behind a divergence`}
        {!isAtWork && `, at ${clockTime(job.endedAt.value)} in ${duration(job.endedAt.value - job.startedAt)}`}
        {stopped}.
        {isVerify && " Signatures are not compared here."}
      </p>
    </div>
  );
}

function Kinds({ report, isReplay }: { report: Report; done: number; isReplay: boolean }) {
  return (
    <>
      {report.found().map((kind) => (
        <article key={`${kind.title}/${kind.node}/${kind.decision}/${kind.graph}`} class="finding card" tabIndex={-1}>
          <h2>
            <span class="refusal"><bdi>{kind.title}</bdi></span>
            {kind.node !== "" && <> at <code><bdi>{kind.node}</bdi></code></>}
            {kind.graph !== "" && <> of <bdi>{kind.graph}</bdi></>}
            {kind.decision !== "" && <> after <bdi>{kind.decision}</bdi></>}
            <span class="muted count">{many(kind.count, "run")}</span>
          </h2>
          {kind.examples.map((example) => (
            <One key={`${example.run}/${example.seq}/${example.says}`} example={example} isReplay={isReplay} />
          ))}
          {kind.count > examplesMax && <p class="muted">{examplesMax} of them are shown.</p>}
        </article>
      ))}
    </>
  );
}

function One({ example, isReplay }: { example: Example; isReplay: boolean }) {
  const { run, seq, says, recorded, again } = example;
  return (
    <div class="example">
      <p>
        <a href={link(["run", run], { at: seq > 0 ? seq : undefined })} title={run}>{shortId(run)}{seq > 0 && ` event ${
          seq}`}</a>{" "}
        <bdi>{says}</bdi>
      </p>
      {isReplay && recorded !== undefined && (
        <details>
          <summary class="muted">On record and again</summary>
          <div class="twice">
            <figure><figcaption>On record</figcaption><pre tabIndex={0}><bdi>{indented(recorded)}</bdi></pre></figure>
            <figure><figcaption>Again</figcaption>
              <pre tabIndex={0}><bdi>{again === null || again === undefined ? "no event" : indented(again)}</bdi></pre>
            </figure>
          </div>
        </details>
      )}
    </div>
  );
}

const shownMax = 20_000; // characters of a payload

// A payload, with the name of its event before it where the server puts one.
function indented(payload: string): string {
  if (payload.length > shownMax) return `${payload.slice(0, shownMax)}…`;
  const [, name = "", json = payload] = /^([a-z_]+ )?([{[].*)$/s.exec(payload) ?? [];
  try {
    return name + JSON.stringify(JSON.parse(json), null, 2);
  } catch {
    return payload;
  }
}

function Actions({ job, onAgain }: { job: Job; onAgain: () => void }) {
  const copy = (text: string, what: string) => void copyText(text).then((isCopied) =>
    (isCopied ? say(`${what} is copied.`) : sayRefusal("Expected to copy, but the browser does not allow it here.")));
  return (
    <div class="buttons">
      <button type="button" onClick={onAgain}>Once more</button>
      <button type="button" onClick={() => copy(location.href, "The link")}>Copy the link</button>
      <button type="button" onClick={() => copy(JSON.stringify(job.report.value.json(), null, 2), "The report")}>
        Copy as JSON
      </button>
      <span class="muted">The link makes this report again.</span>
    </div>
  );
}
