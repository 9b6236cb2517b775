// The open questions of all runs, the oldest first, and a form for the one that is looked at.
import { useSignal } from "@preact/signals";
import { useRef } from "preact/hooks";
import type { Page as ListPage } from "../../api/client";
import { useResource } from "../../api/resource";
import type { OpenQuestion } from "../../api/types";
import { useKeys } from "../../keys";
import { Empty, Read } from "../../parts/states";
import { go, link, route } from "../../router";
import { curlLine, quoted, useCommandLines } from "../../shell/command_lines";
import { QuestionList } from "./question_list";
import { questionQuery, readQuestions, isSame } from "./questions";
import { OneQuestion } from "./question";

export function Page() {
  const where = route.value.query.get("where") ?? "";
  const list = useResource(where, (signal) => readQuestions(where, signal), 2000);
  const [run, question] = route.value.rest;
  const cairn = run === undefined ? `cairn questions${where === "" ? "" : ` --where ${quoted(where)}`}`
    : `cairn answer ${run} --question ${quoted(question ?? "")} --value JSON`;
  useCommandLines(curlLine("questions", questionQuery(where)), cairn);
  return (
    <>
      <div class="page-head">
        <h1>Inbox</h1>
        {list.data.value !== undefined && <Count page={list.data.value} />}
        <Filter key={where} where={where} />
      </div>
      <Read from={list}>{(page) => <Inbox page={page} where={where} run={run} question={question} />}</Read>
    </>
  );
}

function Count({ page }: { page: ListPage<OpenQuestion> }) {
  const count = page.items.length;
  const text = page.next === undefined ? `${count} open` : `the oldest ${count}`;
  return <span class="muted">{count === 0 && page.next === undefined ? "" : text}</span>;
}

// Which runs' questions, in the language of --where.
function Filter({ where }: { where: string }) {
  const text = useSignal(where);
  const field = useRef<HTMLInputElement>(null);
  useKeys([{ keys: "/", says: "Filter", act: () => field.current?.focus() }]);
  return (
    <form class="page-filter" onSubmit={(event) => {
      event.preventDefault();
      go(["inbox"], { where: text.value });
    }}>
      <input ref={field} type="text" aria-label="Runs, as --where" spellcheck={false} autocomplete="off"
        placeholder="graph=order,tag.team=a" value={text.value}
        onInput={(event) => (text.value = event.currentTarget.value)} />
    </form>
  );
}

interface InboxProps {
  page: ListPage<OpenQuestion>;
  where: string;
  run: string | undefined;
  question: string | undefined;
}

function Inbox({ page, where, run, question }: InboxProps) {
  const items = page.items;
  const at = items.findIndex((item) => isSame(item, run, question));
  const open = (item: OpenQuestion | undefined) => {
    if (item !== undefined) go(["inbox", item.run, item.question], { where });
  };
  useKeys([
    { keys: "j", says: "Next question", act: () => open(items[Math.min(at + 1, items.length - 1)]) },
    { keys: "k", says: "Question before", act: () => open(items[Math.max(at - 1, 0)]) },
    { keys: "Enter", says: "Write the answer", act: () => focusForm() },
  ], [items, at]);
  if (items.length === 0 && run === undefined) return <NoQuestions isFiltered={where !== ""} where={where} />;
  const shown = run !== undefined && question !== undefined ? { run, question } : items[0];
  const next = items[at + 1] ?? items.find((item) => !isSame(item, run, question));
  return (
    <div class={run === undefined ? "inbox" : "inbox is-open"}>
      <QuestionList items={items} chosen={shown} where={where} />
      {shown !== undefined && (
        <OneQuestion key={`${shown.run}/${shown.question}`} run={shown.run} question={shown.question}
          listed={items.find((item) => isSame(item, shown.run, shown.question))}
          onTouch={() => {
            if (run === undefined) location.replace(link(["inbox", shown.run, shown.question], { where }));
          }}
          onNext={next === undefined ? undefined : () => open(next)} />
      )}
    </div>
  );
}

function focusForm(): void {
  document.querySelector<HTMLElement>(".question .schema-form :is(input,textarea,select)")?.focus();
}

function NoQuestions({ isFiltered, where }: { isFiltered: boolean; where: string }) {
  if (isFiltered)
    return <Empty title="Nothing is asked by these runs"><a href={link(["inbox"])}>All questions</a> <span
      class="muted">({where})</span></Empty>;
  return (
    <Empty title="Nothing waits for an answer">
      <p>When a run comes to a node with <code>ask</code>, its question is here until it is answered or expires.</p>
    </Empty>
  );
}
