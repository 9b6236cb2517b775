// openworkflow: a library, so that the one who starts workflows and the worker share this process. More are started
// than the worker executes at once, so that it always finds some.
import { OpenWorkflow } from "openworkflow";
import { BackendPostgres } from "openworkflow/postgres";
import { feeder, freshDatabase, measure, options, packageVersion, stepsOfWorkflow } from "./measure.mjs";

const { at_once, concurrency } = options({ at_once: 200, concurrency: 100 });
const database = await freshDatabase();
// Its driver takes the folder of the socket from the environment alone.
const backend = await BackendPostgres.connect(`postgresql:///${database.name}`);
const openworkflow = new OpenWorkflow({ backend });
let ended = 0;
const ten = openworkflow.defineWorkflow({ name: "ten" }, async ({ step }) => {
  for (let n = 1; n <= stepsOfWorkflow; ++n) await step.run({ name: `s${n}` }, () => {});
  ++ended;
});
const worker = openworkflow.newWorker({ concurrency });
await worker.start();

const start = (count) => Promise.all(Array.from({ length: count }, (_, n) => ten.run({ n })));

await measure({
  system: "openworkflow",
  version: packageVersion("openworkflow"),
  settings: `${at_once} at once; concurrency ${concurrency}`,
  load: feeder(at_once, { start, ended: () => ended }),
  steps: () => database.count("select count(*) from openworkflow.step_attempts where status = 'completed'"),
});
