// The outcomes on which one run depends, the nearest first: who gave what, and which later one read it.
import type { Blame, BlamedOutcome } from "../../api/types";
import { link } from "../../router";

export function BlameList({ blame }: { blame: Blame }) {
  return (
    <>
      {blame.causes.map((cause) => <Outcome key={cause.seq} run={blame.run} cause={cause} />)}
      {blame.left_out > 0 && (
        <p class="muted">{blame.left_out.toLocaleString()} more, further away: cairn blame --limit shows them.</p>
      )}
    </>
  );
}

function marksOf({ distance, outside, certain }: BlamedOutcome): string[] {
  const marks = [distance === 1 ? "nearest" : `${distance} away`];
  if (outside) marks.push("could have been another");
  if (!certain) marks.push("may have been read");
  return marks;
}

function Outcome({ run, cause }: { run: string; cause: BlamedOutcome }) {
  return (
    <article class="finding card blamed" tabIndex={-1}>
      <h2>
        <bdi>{cause.kind}</bdi>
        {cause.node !== null && <> at <code><bdi>{cause.node}</bdi></code>, step {cause.step}</>}
        <span class="muted count">{marksOf(cause).join(", ")}</span>
      </h2>
      <p>
        <a href={link(["run", run], { at: cause.seq })}>event {cause.seq}</a> <bdi>{cause.says}</bdi>
        {cause.run !== null && <> <a href={link(["run", cause.run])}>That run</a></>}
      </p>
      {cause.leads_to.length > 0 && (
        <p class="muted">
          led to {cause.leads_to.map(({ seq, how, name }, index) => (
            <span key={`${seq}/${how}/${name}`}>
              {index > 0 && ", "}<a href={link(["run", run], { at: seq })}>event {seq}</a> by {wordOf(how)}
              {name !== null && <> <bdi>{name}</bdi></>}
            </span>
          ))}
        </p>
      )}
    </article>
  );
}

const words: Partial<Record<BlamedOutcome["leads_to"][number]["how"], string>> = {
  passed: "the engine", channel: "the channel", given: "what it was given", edge: "the edge", plan: "the plan",
  slot: "the sub-goal", failure: "its failure", budget: "the budget", waited: "being open",
};
const wordOf = (how: BlamedOutcome["leads_to"][number]["how"]) => words[how] ?? how;
