// The workflow of Restate. Sends the port at which it serves.
import * as restate from "@restatedev/restate-sdk";

const ten = restate.workflow({
  name: "ten",
  handlers: {
    run: async (context) => {
      for (let n = 1; n <= 10; ++n) await context.run(`s${n}`, () => {});
    },
  },
});
const quiet = () => {};
process.send({ port: await restate.serve({ services: [ten], port: 0, logger: quiet }) });
