// A worker of Cairn: URL, CONCURRENCY, and the NODE whose steps are the last of their runs. Every few milliseconds it
// sends how many of those it has executed.
import { Worker } from "cairn-client";

const [url, concurrency, last] = process.argv.slice(2);
const worker = new Worker({ url, queues: ["bench"], concurrency: Number(concurrency) });
let ended = 0;
worker.handler("bench.nothing", (settings, context) => {
  if (context.node === last) ++ended;
});
setInterval(() => {
  if (ended > 0) process.send(ended);
  ended = 0;
}, 3).unref();
await worker.run();
