// The questions of a run as of the moment; now, they can be answered.
import { AnswerForm, Expiry, Prompt } from "../../parts/answer_form";
import { LinkMaker } from "../../parts/link_maker";
import { Empty } from "../../parts/states";
import { useRun } from "./moment";
import { countUpTo } from "./steps";

export function Questions() {
  const view = useRun();
  const open = view.shown.value?.questions ?? [];
  void view.history.known.value; // the list of questions grows with it
  const asked = countUpTo(view.history.questions, view.at.value);
  if (open.length === 0)
    return (
      <Empty title="No open question">
        {asked > 0 && <p>Those that were asked stand among the events of people.</p>}
      </Empty>
    );
  return (
    <ul class="questions">
      {open.map((question) => (
        <li key={question.id} class="card">
          <p class="muted"><code>{question.id}</code> {question.kind}, step {question.step}</p>
          <Prompt prompt={question.prompt} />
          <Expiry question={question} />
          {view.isNow.value && <AnswerForm run={view.run} question={question} onDone={() => void view.readHead()} />}
          {view.isNow.value && <LinkMaker run={view.run} question={question.id} />}
        </li>
      ))}
    </ul>
  );
}
