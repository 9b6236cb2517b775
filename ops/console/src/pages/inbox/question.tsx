// One question: what is asked, by which run, the form for its answer; and once it is closed, who answered and when.
import { signal, useSignal } from "@preact/signals";
import { get, may, post, Refusal } from "../../api/client";
import { useResource } from "../../api/resource";
import type { Event, Json, OpenQuestion, Run } from "../../api/types";
import { SchemaForm } from "../../parts/form/form";
import { LinkMaker } from "../../parts/link_maker";
import { Failure, Read } from "../../parts/states";
import { shortId } from "../../parts/status";
import { Time } from "../../parts/time";
import { Brief, Members, Value } from "../../parts/value/value";
import { link, route } from "../../router";
import { say } from "../../shell/notices";
import { Closed } from "./closed";
import { Expiry } from "./question_list";
import { promptText, readOutcome, type Outcome } from "./questions";

interface Props {
  run: string;
  question: string;
  listed: OpenQuestion | undefined;
  onTouch: () => void; // it is being worked on
  onNext: (() => void) | undefined;
}

export function OneQuestion(props: Props) {
  const { listed } = props;
  const where = route.value.query.get("where") ?? "";
  return (
    <article class="question card" aria-label="Question" onFocusCapture={props.onTouch}>
      <a class="back" href={link(["inbox"], { where })}>← All questions</a>
      {listed === undefined ? <NotListed {...props} /> : <Open {...props} asked={listed} />}
    </article>
  );
}

// It is open beyond the first page, or not open any more.
function NotListed(props: Props) {
  const outcome = useResource<Outcome>("outcome", (signal) => readOutcome(props.run, props.question, signal), 2000);
  return (
    <Read from={outcome}>
      {({ asked, ended, run }) => {
        if (asked === undefined)
          return <Failure error={new Refusal("not_found", "This run has not asked this lately.", 404)} />;
        const isOpen = ended === undefined && run.questions.some((one) => one.id === props.question);
        if (!isOpen) return <Closed outcome={{ asked, ended, run }} onNext={props.onNext} />;
        const { kind, prompt, schema, step, at } = asked;
        const open: OpenQuestion = { run: props.run, graph: run.graph, tags: run.tags, question: props.question, step,
          kind, prompt, schema, asked_at: at, expires_at: asked.expires_at ?? null };
        if (asked.default !== undefined) open.default = asked.default;
        return <Open {...props} asked={open} />;
      }}
    </Read>
  );
}

const signed = signal(""); // the name under which this tab answers

function Open({ asked, onNext }: Props & { asked: OpenQuestion }) {
  const lost = useSignal<Refusal | undefined>(undefined);
  const send = async (value: Json) => {
    const by = signed.value.trim();
    const body = { question: asked.question, value, ...(by === "" ? {} : { by }) };
    try {
      await post(`runs/${asked.run}/answers`, body);
    } catch (refusal) {
      if ((refusal as Refusal).code !== "closed") throw refusal;
      lost.value = refusal as Refusal;
      return;
    }
    say(`Answered: ${promptText(asked.prompt).slice(0, 80)}`);
    onNext?.();
  };
  return (
    <>
      <h2 class="prompt"><bdi>{promptText(asked.prompt)}</bdi></h2>
      <p class="question-facts muted">
        <span><bdi>{asked.graph}</bdi> · <a href={link(["run", asked.run])}>{shortId(asked.run)}</a></span>
        <span>asked <Time at={asked.asked_at} /></span>
        <Expiry at={asked.expires_at} />
        {asked.default !== undefined && <span>then: <code><Brief value={asked.default} /></code></span>}
      </p>
      {lost.value !== undefined ? <Lost refusal={lost.value} onNext={onNext} />
        : may("answer") ? <AnswerForm asked={asked} send={send} />
        : <p class="refusal">Your token may read this question, but not answer it.</p>}
      {lost.value === undefined && <LinkMaker run={asked.run} question={asked.question} />}
      <Context run={asked.run} step={asked.step} />
    </>
  );
}

function AnswerForm({ asked, send }: { asked: OpenQuestion; send: (value: Json) => Promise<void> }) {
  return (
    <SchemaForm schema={asked.schema} preset={asked.default} action="Answer" send={send}>
      <details class="signed">
        <summary class="muted">
          {signed.value === "" ? "Sign with a name" : <>Signed as <bdi>{signed.value}</bdi></>}
        </summary>
        <label>Your name, in the run's record
          <input type="text" autocomplete="name" value={signed.value}
            onInput={(event) => (signed.value = event.currentTarget.value)} />
        </label>
      </details>
    </SchemaForm>
  );
}

// An answer that came second.
function Lost({ refusal, onNext }: { refusal: Refusal; onNext: (() => void) | undefined }) {
  return (
    <div class="lost-answer" role="alert">
      <h3>Your answer came second, and was not taken</h3>
      <p><bdi>{refusal.message}</bdi></p>
      {onNext !== undefined && <button type="button" onClick={onNext}>Next question</button>}
    </div>
  );
}

// The run as it stands where it asks.
function Context({ run, step }: { run: string; step: number }) {
  const state = useResource<Run>("context", (signal) => get<Run>(`runs/${run}`, { raw: true }, signal), 5000);
  const first = useResource<Event[]>("first", (signal) => get<Event[]>(`runs/${run}/events`, { limit: 1 }, signal));
  const by = first.data.value?.[0]?.actor;
  return (
    <section class="context" aria-label="The run">
      <h3>The run</h3>
      <Read from={state}>
        {(shown) => (
          <>
            <p class="muted">
              Started <Time at={shown.started_at} />{by !== undefined && by !== "" && <> by <bdi>{by}</bdi></>}, asks
              at <code><bdi>{shown.steps.find((one) => one.step === step)?.node ?? "—"}</bdi></code>{" "}
              in step {step}, event {shown.seq}.
            </p>
            {Object.keys(shown.tags).length > 0 && (
              <p class="tags">{Object.entries(shown.tags).map(([key, value]) => (
                <span class="tag" key={key}><bdi>{key}={value}</bdi></span>
              ))}</p>
            )}
            {Object.keys(shown.channels).length === 0 ? <Value value={shown.input} label="Input" />
              : <Members of={shown.channels} />}
          </>
        )}
      </Read>
    </section>
  );
}
