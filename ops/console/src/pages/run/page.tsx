// One run, as of now or of any moment.
import { get } from "../../api/client";
import { useResource } from "../../api/resource";
import type { Run } from "../../api/types";
import { Empty, Read } from "../../parts/states";
import { Status } from "../../parts/status";
import { Lasted, Time } from "../../parts/time";
import { route } from "../../router";
import { curlLine, useCommandLines } from "../../shell/command_lines";
import { EventList } from "./event_list";

export function Page() {
  const run = route.value.rest[0];
  if (run === undefined) return <Empty title="No run is named" />;
  return <OneRun key={run} run={run} />;
}

function OneRun({ run }: { run: string }) {
  const state = useResource<Run>(run, (signal) => get<Run>(`runs/${run}`, {}, signal), 2000);
  useCommandLines(curlLine(`runs/${run}`), `cairn show ${run}`);
  return (
    <Read from={state}>
      {(shown) => (
        <>
          <div class="run-head">
            <h1><bdi>{shown.graph}</bdi></h1>
            <Status of={shown.status} />
            <code class="muted">{shown.run}</code>
            <span class="muted">started <Time at={shown.started_at} />, lasted <Lasted from={shown.started_at}
              to={shown.output === undefined ? undefined : shown.updated_at} /></span>
          </div>
          <EventList run={run} count={shown.seq} />
        </>
      )}
    </Read>
  );
}
