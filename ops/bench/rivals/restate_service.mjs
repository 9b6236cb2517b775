// The workflow of Restate. Sends the port at which it serves, then every few milliseconds how many workflows have come
// to their end.
import * as restate from "@restatedev/restate-sdk";

let ended = 0;
const ten = restate.workflow({
  name: "ten",
  handlers: {
    run: async (context) => {
      for (let n = 1; n <= 10; ++n) await context.run(`s${n}`, () => {});
      ++ended;
    },
  },
});
const quiet = () => {};
setInterval(() => {
  if (ended > 0) process.send(ended);
  ended = 0;
}, 3);
process.send({ port: await restate.serve({ services: [ten], port: 0, logger: quiet }) });
