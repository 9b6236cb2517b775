// What was set for a queue, the newest first: all its limits after each change, and who made it.
import type { QueueChanged } from "../../api/types";
import { History } from "../../parts/history";
import { Time } from "../../parts/time";
import { limitWords } from "./limits";

export function QueueHistory({ name, stamp }: { name: string; stamp: string }) {
  return (
    <History<QueueChanged> path={`queues/${encodeURIComponent(name)}`} stamp={stamp}
      numberOf={({ revision }) => revision}>
      {(changes) => (
        <table class="list cards notes">
          <caption class="hidden">What was set for the queue</caption>
          <thead><tr><th scope="col">When</th><th scope="col">By</th><th scope="col">Set</th></tr></thead>
          <tbody>
            {changes.map((change) => (
              <tr key={change.revision}>
                <td data-label="When"><Time at={change.at} /></td>
                <td data-label="By"><bdi>{change.actor}</bdi></td>
                <td class="wide"><bdi>{limitWords(change)}</bdi></td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
    </History>
  );
}
