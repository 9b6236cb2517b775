// Makes a link by which one open question is answered without a token.
import { useSignal } from "@preact/signals";
import { may, post, Refusal } from "../api/client";
import type { LinkMade } from "../api/types";
import { CopyButton } from "./copy";
import { Dialog } from "./dialog";
import { Exact } from "./time";

const days = [1, 7, 30];
const dayMs = 86_400_000;

function Made({ link }: { link: LinkMade }) {
  const address = new URL(link.address, location.href.split("#")[0]).href;
  return (
    <>
      <label>The link
        <textarea readOnly rows={4} value={address} onFocus={(event) => event.currentTarget.select()} />
      </label>
      <p class="muted">It answers question {link.question} once, as <bdi>{link.by}</bdi>, until{" "}
        <Exact at={link.expires_at} />. Whoever has it can answer: send it to that person alone.</p>
      <CopyButton text={address} says="Copy the link" class="primary" />
    </>
  );
}

function Form({ run, question, onClose }: { run: string; question: string; onClose: () => void }) {
  const whom = useSignal("");
  const ends = useSignal(days[1]!);
  const made = useSignal<LinkMade | undefined>(undefined);
  const fault = useSignal("");
  const submit = async (event: Event) => {
    event.preventDefault();
    try {
      const body: Record<string, unknown> = { question, expires_ms: ends.value * dayMs };
      if (whom.value !== "") body.for = whom.value;
      made.value = await post<LinkMade>(`runs/${run}/links`, body);
    } catch (refusal) {
      fault.value = (refusal as Refusal).message;
    }
  };
  return (
    <Dialog title="A link to answer" onClose={onClose}>
      {made.value !== undefined ? <Made link={made.value} /> : (
        <form class="answer" onSubmit={submit}>
          <label>For
            <input type="text" maxLength={64} placeholder="ann@example.com" value={whom.value}
              onInput={(event) => (whom.value = event.currentTarget.value)} />
          </label>
          <label>Holds
            <select value={ends.value} onChange={(event) => (ends.value = Number(event.currentTarget.value))}>
              {days.map((count) => (
                <option key={count} value={count}>{count === 1 ? "a day" : `${count} days`}</option>
              ))}
            </select>
          </label>
          {fault.value !== "" && <p class="refusal" role="alert">{fault.value}</p>}
          <button type="submit" class="primary">Make the link</button>
        </form>
      )}
    </Dialog>
  );
}

export function LinkMaker({ run, question }: { run: string; question: string }) {
  const isOpen = useSignal(false);
  if (!may("answer")) return null;
  return (
    <>
      <button type="button" class="quiet" onClick={() => (isOpen.value = true)}>Make a link…</button>
      {isOpen.value && <Form run={run} question={question} onClose={() => (isOpen.value = false)} />}
    </>
  );
}
