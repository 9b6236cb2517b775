// DBOS: a library, so that callers, workflows and steps share this process. Each caller executes one workflow after the
// other.
import { DBOS } from "@dbos-inc/dbos-sdk";
import { callers, freshDatabase, measure, options, packageVersion, stepsOfWorkflow } from "./measure.mjs";

const { at_once, pool } = options({ at_once: 50, pool: 20 });
const database = await freshDatabase();
DBOS.setConfig({
  name: "rivals",
  systemDatabaseUrl: database.url,
  systemDatabasePoolSize: pool,
  logLevel: "error",
});

const nothing = async () => {};
const ten = DBOS.registerWorkflow(
  async () => {
    for (let n = 1; n <= stepsOfWorkflow; ++n) await DBOS.runStep(nothing, { name: `s${n}` });
  },
  { name: "ten" },
);
await DBOS.launch();

await measure({
  system: "DBOS",
  version: packageVersion("@dbos-inc/dbos-sdk"),
  settings: `called directly, ${at_once} at once; pool of ${pool}`,
  load: callers(at_once, (n) => ten({ n })),
  steps: () => database.count("select count(*) from dbos.operation_outputs"),
});
