import type { Session } from "../../api/types";

// The name that a person knows a worker by; one over HTTP has no process of ours.
export const workerName = (worker: Session) => (worker.pid === 0 ? worker.host : `${worker.host} ${worker.pid}`);
