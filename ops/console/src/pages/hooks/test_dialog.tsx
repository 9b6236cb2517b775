// A test of a hook: a sample is sent by a process that sends for it, and what was answered is shown.
import { useSignal } from "@preact/signals";
import { get, post } from "../../api/client";
import { useResource } from "../../api/resource";
import type { Hook, HookDelivery, HookTested } from "../../api/types";
import { Dialog } from "../../parts/dialog";
import { Read } from "../../parts/states";
import { Status } from "../../parts/status";
import { Sure } from "../../parts/sure";
import { Until } from "../../parts/time";
import { curlLine, quoted } from "../../shell/command_lines";
import { Senders } from "./standing";

interface Props {
  hook: Hook;
  path: string;
  onClose: () => void;
}

const looked = 50; // of the newest notices, among which the test is

export function TestDialog({ hook, path, onClose }: Props) {
  const event = useSignal("");
  const act = async () => {
    event.value = (await post<HookTested>(`${path}/test`, undefined)).event;
  };
  return (
    <Dialog title={`Send a test: ${hook.name}`} onClose={onClose}>
      {event.value === "" ? (
        <>
          <p>A sample is sent to <bdi>{hook.url ?? hook.command}</bdi>, and what is answered is shown here.</p>
          <Sure title="Send it" act={act} />
        </>
      ) : <Outcome hook={hook} path={path} event={event.value} />}
      <pre class="as-commands" tabIndex={0} aria-label="As commands">
        {`cairn hook test ${quoted(hook.name)}\n${curlLine(`${path}/test`, {}, {})}`}</pre>
    </Dialog>
  );
}

function Outcome({ hook, path, event }: { hook: Hook; path: string; event: string }) {
  const notices = useResource<HookDelivery[]>(
    event, (signal) => get<HookDelivery[]>(`${path}/deliveries`, { limit: looked }, signal), 500);
  return (
    <div class="test-outcome" role="status">
      <p><code><bdi>{event}</bdi></code></p>
      <Read from={notices}>
        {(found) => <Answer hook={hook} notice={found.find((one) => one.id === event)} />}
      </Read>
    </div>
  );
}

function Answer({ hook, notice }: { hook: Hook; notice: HookDelivery | undefined }) {
  if (notice === undefined) return <p class="muted">It is no longer among the newest {looked} notices.</p>;
  const { status, attempts, answer, says, next_at } = notice;
  if (status === "delivered")
    return <p><Status of={status} /> {answer === 0 ? "It was taken." : `It was answered with ${answer}.`}</p>;
  if (attempts > 0)
    return (
      <>
        <p><Status of="failed" /> <bdi>{says}</bdi></p>
        {next_at !== undefined && <p class="muted">It is sent again <Until at={next_at} />.</p>}
      </>
    );
  if (hook.paused !== null) return <p><Status of="waiting" /> The hook is paused: it is sent when it goes on.</p>;
  return <p><Status of={status} /> <Senders hook={hook} /></p>;
}
