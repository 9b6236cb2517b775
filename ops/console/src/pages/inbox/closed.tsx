// A question that is no longer open: who answered it, when, and with what.
import { Time } from "../../parts/time";
import { Value } from "../../parts/value/value";
import { link } from "../../router";
import { promptText, type Outcome } from "./questions";

function words(outcome: Outcome) {
  const { ended, run } = outcome;
  if (ended?.type === "question_expired") return <>It expired <Time at={ended.at} />.</>;
  if (ended?.type === "question_answered") {
    if (ended.by === "default") return <>Its default was taken <Time at={ended.at} />.</>;
    return <>Answered by <strong><bdi>{ended.by || ended.actor}</bdi></strong> <Time at={ended.at} />.</>;
  }
  return <>It was closed without an answer: the run is {run.status}.</>;
}

export function Closed({ outcome, onNext }: { outcome: Outcome; onNext: (() => void) | undefined }) {
  const { asked, ended, run } = outcome;
  return (
    <>
      <h2 class="prompt"><bdi>{promptText(asked?.prompt)}</bdi></h2>
      <div class="closed" role="status">
        <p>{words(outcome)}</p>
        {ended?.type === "question_answered" && <Value value={ended.value} label="Answer" />}
      </div>
      <div class="buttons">
        {onNext !== undefined && <button type="button" onClick={onNext}>Next question</button>}
        <a class="button" href={link(["run", run.run])}>Open the run</a>
      </div>
    </>
  );
}
