import type { OpenQuestion } from "../../api/types";
import { shortId } from "../../parts/status";
import { duration, exactTime, now, Time } from "../../parts/time";
import { Brief } from "../../parts/value/value";
import { link } from "../../router";
import { isSame, promptText } from "./questions";

// When a question is over by itself; the last hour is marked.
export function Expiry({ at }: { at: string | null }) {
  if (at === null) return <span class="muted">does not expire</span>;
  const left = Date.parse(at) - now.value;
  return (
    <time dateTime={at} title={exactTime(at)} class={left < 3_600_000 ? "is-soon" : "muted"}>
      {left <= 0 ? "is expiring" : `expires in ${duration(Math.ceil(left / 1000) * 1000)}`}
    </time>
  );
}

interface Props {
  items: OpenQuestion[];
  chosen: { run: string; question: string } | undefined;
  where: string;
}

export function QuestionList({ items, chosen, where }: Props) {
  return (
    <ol class="question-list" aria-label="Open questions">
      {items.map((item) => {
        const isChosen = isSame(item, chosen?.run, chosen?.question);
        return (
          <li key={`${item.run}/${item.question}`}>
            <a href={link(["inbox", item.run, item.question], { where })} aria-current={isChosen ? "true" : undefined}>
              <span class="prompt"><Brief value={promptText(item.prompt)} most={160} /></span>
              <span class="muted"><bdi>{item.graph}</bdi> · {shortId(item.run)} · <Time at={item.asked_at} /></span>
              {item.expires_at !== null && <Expiry at={item.expires_at} />}
            </a>
          </li>
        );
      })}
      {items.length === 0 && <li class="muted nothing">No other question is open.</li>}
    </ol>
  );
}
