// The notices of a hook, the newest first: what became of each, what was answered, and when it is sent again.
import { useEffect } from "preact/hooks";
import { getPage, may, type Page, post } from "../../api/client";
import { useResource } from "../../api/resource";
import type { Hook, HookDelivery, HookResent } from "../../api/types";
import { useChosen } from "../../parts/chosen";
import { Read } from "../../parts/states";
import { shortId, Status } from "../../parts/status";
import { Time, Until } from "../../parts/time";
import { amend, go, link, route } from "../../router";
import { curlLine, quoted, useCommandLines } from "../../shell/command_lines";
import { say, sayRefusal } from "../../shell/notices";
import { eventOf, typeWords } from "./words";

const statuses = ["waiting", "parked", "delivered", "skipped", "gone"] as const;
const limit = 50;
const everyMs = 2000; // the newest; older ones change seldom

interface Props {
  hook: Hook;
  path: string;
  stamp: string; // they are read again when this changes
  onChange: () => void;
  onSkip: (event: string) => void;
}

export function Deliveries({ hook, path, stamp, onChange, onSkip }: Props) {
  const { query } = route.value;
  const status = statuses.find((one) => one === query.get("status"));
  const after = query.get("after") ?? undefined;
  const asked = { status, limit, after };
  const notices = useResource<Page<HookDelivery>>(`${status}/${after}`, (signal) =>
    getPage<HookDelivery>(`${path}/deliveries`, asked, "after", signal), after === undefined ? everyMs : 5 * everyMs);
  useEffect(() => notices.reload(), [stamp]);
  useCommandLines(curlLine(`${path}/deliveries`, asked), `cairn hook show ${quoted(hook.name)}` +
    `${status === undefined ? "" : ` --status ${status}`} --limit ${limit}` +
    `${after === undefined ? "" : ` --after ${quoted(after)}`}`);
  const again = async (event: string) => {
    try {
      await post<HookResent>(`${path}/resend`, { event });
      say(`${event} will be sent again.`);
      notices.reload();
      onChange();
    } catch (fault) {
      sayRefusal(fault);
    }
  };
  return (
    <section class="deliveries" aria-label="Notices">
      <div class="deliveries-head">
        <h2>Notices</h2>
        <Statuses hook={hook} chosen={status} />
      </div>
      <Read from={notices}>
        {({ items, next }) => (
          <>
            {items.length === 0 ? <p class="muted none">{noneSentence(status, after)}</p>
              : <DeliveryTable hook={hook} notices={items} onAgain={again} onSkip={onSkip} />}
            <Pages isFirst={after === undefined} next={next} />
          </>
        )}
      </Read>
    </section>
  );
}

const noneSentence = (status: string | undefined, after: string | undefined) =>
  after !== undefined ? "There are no older ones."
    : status === undefined ? "Nothing has happened yet that it is about." : `No notice is ${status}.`;

function Statuses({ hook, chosen }: { hook: Hook; chosen: string | undefined }) {
  const counts: Record<string, number> =
    { waiting: hook.waiting, parked: hook.parked, delivered: hook.delivered };
  return (
    <div class="statuses" role="group" aria-label="Status">
      {[undefined, ...statuses].map((word) => (
        <button type="button" key={word} class="chip" aria-pressed={chosen === word}
          onClick={() => amend({ status: word, after: undefined })}>
          {word ?? "all"}
          {word !== undefined && (counts[word] ?? 0) > 0 &&
            <span class="muted number"> {counts[word]!.toLocaleString()}</span>}
        </button>
      ))}
    </div>
  );
}

function Pages({ isFirst, next }: { isFirst: boolean; next: string | undefined }) {
  if (isFirst && next === undefined) return null;
  const show = (after: string | undefined) => amend({ after }, "push");
  return (
    <p class="more buttons">
      {!isFirst && <button type="button" onClick={() => show(undefined)}>Newest</button>}
      {next !== undefined && <button type="button" onClick={() => show(next)}>Older</button>}
    </p>
  );
}

interface TableProps {
  hook: Hook;
  notices: HookDelivery[];
  onAgain: (event: string) => Promise<void>;
  onSkip: (event: string) => void;
}

const rowName = ({ id, type }: HookDelivery) => `${id} ${type}`;

function DeliveryTable({ hook, notices, onAgain, onSkip }: TableProps) {
  const open = (notice: HookDelivery) => {
    const event = eventOf(notice);
    if (event !== undefined) go(["run", event.run], { at: event.seq, view: "events" });
  };
  const chosen = useChosen({ rows: notices, nameOf: rowName, noun: "notice", open, opens: "Open its run" });
  return (
    <table class="list cards notices-of">
      <caption class="hidden">The notices of the hook</caption>
      <thead>
        <tr>
          <th scope="col">Notice</th><th scope="col">Noted</th><th scope="col">Status</th>
          <th scope="col">Attempts</th><th scope="col">Next try</th><th scope="col">Answer</th>
          {may("operate") && <th scope="col"><span class="hidden">Change</span></th>}
        </tr>
      </thead>
      <tbody>
        {notices.map((notice, index) => (
          <tr key={rowName(notice)} data-row={index}
            class={index === chosen ? "chosen" : undefined}>
            <td class="name"><About notice={notice} /></td>
            <td data-label="Noted"><Time at={notice.noted_at} /></td>
            <td data-label="Status"><Outcome notice={notice} isOrdered={hook.ordered} /></td>
            <td data-label="Attempts">{notice.attempts} <span class="muted">of {hook.attempts}</span></td>
            <td data-label="Next try"><NextTry notice={notice} isPaused={hook.paused !== null} /></td>
            <td class="wide" data-label="Answer"><Answer notice={notice} /></td>
            {may("operate") && (
              <td class="row-actions"><RowActions notice={notice} isPaused={hook.paused !== null} onAgain={onAgain}
                onSkip={onSkip} /></td>
            )}
          </tr>
        ))}
      </tbody>
    </table>
  );
}

function About({ notice }: { notice: HookDelivery }) {
  const event = eventOf(notice);
  if (event === undefined) return <>{typeWords(notice)} <span class="muted event-id"><bdi>{notice.id}</bdi></span></>;
  return (
    <>
      {typeWords(notice)}{" "}
      <a class="event-id" href={link(["run", event.run], { at: event.seq, view: "events" })} title={notice.id}>
        {shortId(event.run)}/{event.seq}</a>
    </>
  );
}

function Outcome({ notice, isOrdered }: { notice: HookDelivery; isOrdered: boolean }) {
  const holdsBack = isOrdered && notice.status === "parked" && eventOf(notice) !== undefined;
  return (
    <>
      <Status of={notice.status} />{" "}
      {notice.settled_at !== undefined && <span class="muted"><Time at={notice.settled_at} /></span>}
      {holdsBack && <p class="muted holds-back">Holds the later ones of its run back.</p>}
    </>
  );
}

function NextTry({ notice, isPaused }: { notice: HookDelivery; isPaused: boolean }) {
  if (notice.next_at === undefined) return <span class="muted">–</span>;
  if (isPaused) return <span class="muted">when it is resumed</span>;
  return <Until at={notice.next_at} />;
}

// What was answered last; a command's success is 0.
function Answer({ notice: { answer, attempts, says, status } }: { notice: HookDelivery }) {
  if (attempts === 0 && says === "" && answer === 0) return <span class="muted">–</span>;
  if (says === "") return <span class="number">{answer === 0 && status !== "delivered" ? "none" : answer}</span>;
  return <bdi>{says}</bdi>;
}

interface RowActionsProps {
  notice: HookDelivery;
  isPaused: boolean;
  onAgain: (event: string) => Promise<void>;
  onSkip: (event: string) => void;
}

// What would change nothing is not offered: while a hook is paused a notice that waits is not sent, one that was not
// tried yet is sent anyway, and the run of one that is gone is not there any more.
function RowActions({ notice, isPaused, onAgain, onSkip }: RowActionsProps) {
  const { id, status, attempts } = notice;
  const isWaiting = status === "waiting";
  const isOpen = isWaiting || status === "parked";
  const again = isWaiting ? "Send now" : "Send again";
  const isOffered = isWaiting ? attempts > 0 && !isPaused : status !== "gone";
  return (
    <>
      {isOpen && (
        <button type="button" class="quiet" aria-label={`Pass over ${id}`} onClick={() => onSkip(id)}>
          Pass over…</button>
      )}
      {isOffered && (
        <button type="button" class={isOpen ? undefined : "quiet"} aria-label={`${again}: ${id}`}
          onClick={() => void onAgain(id)}>{again}</button>
      )}
    </>
  );
}
