// One run, as of now or of any event: all views follow the slider.
import type { ComponentType } from "preact";
import { useKeys } from "../../keys";
import { Bare, Empty, Failure, Loading } from "../../parts/states";
import { amend, isRun, route } from "../../router";
import { curlLine, useCommandLines } from "../../shell/command_lines";
import { Channels } from "./channels";
import { Events } from "./events";
import { GraphPicture } from "./graph_picture";
import { RunHead } from "./run_head";
import { Lineage } from "./lineage";
import { ModelCalls } from "./model_calls";
import { RunProvider, useRun, useRunView } from "./moment";
import { Plan } from "./plan";
import { Questions } from "./questions";
import { Slider } from "./slider";
import { Timeline } from "./timeline";

interface View {
  title: string;
  key: string;
  shows: ComponentType;
}

const views: Record<string, View> = {
  timeline: { title: "Timeline", key: "1", shows: Timeline },
  events: { title: "Events", key: "2", shows: Events },
  channels: { title: "Channels", key: "3", shows: Channels },
  plan: { title: "Plan", key: "4", shows: Plan },
  models: { title: "Model calls", key: "5", shows: ModelCalls },
  questions: { title: "Questions", key: "6", shows: Questions },
  lineage: { title: "Lineage", key: "7", shows: Lineage },
};

export function Page() {
  const run = route.value.rest[0];
  if (run === undefined || !isRun(run)) return <Bare title="Run"><Empty title="No run is named" /></Bare>;
  return <OneRun key={run} run={run} />;
}

function OneRun({ run }: { run: string }) {
  const view = useRunView(run);
  if (view.head.value === undefined) {
    const { fault } = view;
    return <Bare title="Run">{fault.value === undefined ? <Loading /> : <Failure error={fault.value} />}</Bare>;
  }
  return <RunProvider value={view}><Whole /></RunProvider>;
}

function counts(name: string, view: ReturnType<typeof useRun>): number | undefined {
  const run = view.shown.value;
  if (name === "plan") return run?.plan.length;
  if (name === "models") return view.history.known.value > 0 ? view.history.models.length : 0;
  if (name === "questions") return run?.questions.length;
  return undefined;
}

function Whole() {
  const view = useRun();
  const name = route.value.query.get("view") ?? "timeline";
  const Shows = (views[name] ?? views.timeline!).shows;
  const node = route.value.query.get("node") ?? "";
  const at = view.isNow.value ? undefined : view.at.value;
  const moment = at === undefined ? "" : ` --at ${at}`;
  useCommandLines(curlLine(`runs/${view.run}`, { at }), `cairn show ${view.run}${moment}`);
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
        <section class="run-view" aria-label={(views[name] ?? views.timeline!).title}>
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
        </section>
      </div>
    </div>
  );
}
