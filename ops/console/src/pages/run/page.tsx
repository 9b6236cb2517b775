// One run, as of now or of any event: all views follow the slider.
import type { ComponentType } from "preact";
import { useKeys } from "../../keys";
import { Bare, Empty, Failure, Loading } from "../../parts/states";
import { amend, isRun, route } from "../../router";
import { curlLine, useCommandLines } from "../../shell/command_lines";
import { Channels } from "./channels";
import { Events } from "./events";
import { GraphPicture } from "./graph_picture";
import { NotBegun, RunHead } from "./run_head";
import { Lineage } from "./lineage";
import { ModelCalls } from "./model_calls";
import { RunProvider, useRun, useRunView } from "./moment";
import { Plan } from "./plan";
import { Questions } from "./questions";
import { Slider, useEventKeys } from "./slider";
import { countUpTo } from "./steps";
import { Timeline } from "./timeline";

type Line = (run: string, at: number | undefined) => string;

interface View {
  title: string;
  key: string;
  shows: ComponentType;
  curl: Line; // what the view shows, elsewhere
  cairn: Line;
  hasKeys?: boolean; // its own for j and k
}

const atOption = (at: number | undefined) => (at === undefined ? "" : ` --at ${at}`);
const whole: Pick<View, "curl" | "cairn"> = {
  curl: (run, at) => curlLine(`runs/${run}`, { at }),
  cairn: (run, at) => `cairn show ${run}${atOption(at)}`,
};
const events: Pick<View, "curl" | "cairn"> = {
  curl: (run) => curlLine(`runs/${run}/events`),
  cairn: (run) => `cairn events ${run}`,
};
const plan: Pick<View, "curl" | "cairn"> = {
  curl: (run, at) => curlLine(`runs/${run}/plan`, { at }),
  cairn: (run, at) => `cairn plan ${run}${atOption(at)}`,
};
const lineage: Pick<View, "curl" | "cairn"> = {
  curl: (run) => curlLine("runs", { lineage: run }),
  cairn: (run) => `cairn runs --lineage ${run}`,
};

const views: Record<string, View> = {
  timeline: { title: "Timeline", key: "1", shows: Timeline, ...whole, hasKeys: true },
  events: { title: "Events", key: "2", shows: Events, ...events, hasKeys: true },
  channels: { title: "Channels", key: "3", shows: Channels, ...whole },
  plan: { title: "Plan", key: "4", shows: Plan, ...plan },
  models: { title: "Model calls", key: "5", shows: ModelCalls, ...events },
  questions: { title: "Questions", key: "6", shows: Questions, ...whole },
  lineage: { title: "Lineage", key: "7", shows: Lineage, ...lineage },
};

export function Page() {
  const run = route.value.rest[0];
  if (run === undefined || !isRun(run)) return <Bare title="Run"><Empty title="No run is named" /></Bare>;
  return <OneRun key={run} run={run} />;
}

function OneRun({ run }: { run: string }) {
  const view = useRunView(run);
  const refusal = view.fault.value;
  if (view.head.value === undefined)
    return <Bare title="Run">{refusal === undefined ? <Loading /> : <Failure error={refusal} />}</Bare>;
  if (view.last.value > 0) return <RunProvider value={view}><Whole /></RunProvider>;
  return (
    <RunProvider value={view}>
      {refusal === undefined || refusal.code === "lost" ? <NotBegun />
        : <Bare title="Run"><Failure error={refusal} /></Bare>}
    </RunProvider>
  );
}

function counts(name: string, view: ReturnType<typeof useRun>): number | undefined {
  const run = view.shown.value;
  if (name === "plan") return run?.plan.length;
  if (name === "models") return view.history.known.value > 0 ? countUpTo(view.history.models, view.at.value) : 0;
  if (name === "questions") return run?.questions.length;
  return undefined;
}

// The views without rows of events walk them as well.
function EventKeys() {
  useEventKeys(useRun());
  return null;
}

function Whole() {
  const view = useRun();
  const name = route.value.query.get("view") ?? "timeline";
  const shown = views[name] ?? views.timeline!;
  const Shows = shown.shows;
  const node = route.value.query.get("node") ?? "";
  const at = view.isNow.value ? undefined : view.at.value;
  useCommandLines(shown.curl(view.run, at), shown.cairn(view.run, at));
  useKeys(Object.entries(views).map(([each, { title, key }]) => (
    { keys: key, says: title, act: () => amend({ view: each }) }
  )));
  return (
    <div class="run">
      <RunHead />
      <Slider />
      {view.momentFault.value !== undefined && <Failure error={view.momentFault.value} />}
      <div class="run-parts">
        <section class="run-graph" aria-label="Graph">
          <GraphPicture chosen={node} onNode={(chosen) => amend({ node: chosen })} />
        </section>
        <section class="run-view" aria-label={shown.title}>
          <nav class="tabs" aria-label="Views">
            {Object.entries(views).map(([each, { title, key }]) => {
              const count = counts(each, view);
              return (
                <button type="button" key={each} aria-pressed={each === name} title={`Key ${key}`}
                  onClick={() => amend({ view: each })}>
                  {title}{count === undefined || count === 0 ? "" : <span class="muted"> {count}</span>}
                </button>
              );
            })}
          </nav>
          <Shows />
          {shown.hasKeys !== true && <EventKeys />}
        </section>
      </div>
    </div>
  );
}
