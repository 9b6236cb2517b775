// The open questions, the one that is looked at, and what became of one that is no longer open.
import { get, getPage, type Page } from "../../api/client";
import { parametersOf, termsOf } from "../../api/filter";
import type { Event, EventOf, Json, OpenQuestion, Run } from "../../api/types";

export const questionsMax = 100;

export const questionQuery = (where: string): [string, string][] => [
  ...parametersOf(termsOf(where)),
  ["limit", String(questionsMax)],
];

export const readQuestions = (where: string, signal: AbortSignal): Promise<Page<OpenQuestion>> =>
  getPage<OpenQuestion>("questions", questionQuery(where), "after", signal);

export const isSame = (one: OpenQuestion, run: string | undefined, question: string | undefined) =>
  one.run === run && one.question === question;

export const promptText = (prompt: Json) => (typeof prompt === "string" ? prompt : JSON.stringify(prompt));

// The end of a question: its answer, or that it expired; nothing: the run was closed with it.
export interface Outcome {
  asked: EventOf<"question_asked"> | undefined;
  ended: EventOf<"question_answered"> | EventOf<"question_expired"> | undefined;
  run: Run;
}

const windowEvents = 500;
const windowsMax = 20; // 10,000 events are looked through, from the newest one

export async function readOutcome(run: string, question: string, signal: AbortSignal): Promise<Outcome> {
  const state = await get<Run>(`runs/${run}`, { raw: true }, signal);
  const outcome: Outcome = { asked: undefined, ended: undefined, run: state };
  let end = state.seq;
  for (let turn = 0; turn < windowsMax && end > 0 && outcome.asked === undefined; turn += 1) {
    const from = Math.max(1, end - windowEvents + 1);
    const query = { from, limit: end - from + 1, raw: true };
    const events = await get<Event[]>(`runs/${run}/events`, query, signal);
    for (const event of events) {
      if (!("question" in event) || event.question !== question) continue;
      if (event.type === "question_asked") outcome.asked = event;
      if (event.type === "question_answered" || event.type === "question_expired") outcome.ended = event;
    }
    end = from - 1;
  }
  return outcome;
}
