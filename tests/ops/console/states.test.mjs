// The states of pages that have nothing to show yet: reading, a refusal, a database that is away, a server that is away
// and comes back; and each page below a path that a proxy puts before it.
import assert from "node:assert/strict";
import { createServer, request } from "node:http";
import { after, before, test } from "node:test";
import { openBrowser, openPage } from "./browser.mjs";
import { order } from "./graphs.mjs";
import { World } from "./world.mjs";

let world;
let browser;
let proxy;

// A proxy that serves the whole below /team/cairn/.
function beginProxy(port) {
  const server = createServer((asked, answer) => {
    const path = asked.url.replace(/^\/team\/cairn/, "");
    if (path === asked.url) return answer.writeHead(404).end();
    const options = { port, host: "127.0.0.1", path, method: asked.method, headers: asked.headers };
    const to = request(options, (from) => {
      answer.writeHead(from.statusCode, from.headers);
      from.pipe(answer);
    });
    to.on("error", () => answer.destroy());
    asked.pipe(to);
  });
  return new Promise((resolve) => server.listen(0, "127.0.0.1", () => resolve(server)));
}

before(async () => {
  world = await World.begin();
  await world.addGraph(order);
  const run = await world.startRun("order", { customer: "ann" });
  await world.isStatus(run, "waiting");
  proxy = await beginProxy(world.port);
  browser = await openBrowser();
});
after(async () => {
  await browser?.close();
  proxy?.close();
  await world?.end();
});

const pages = {
  inbox: ["questions", ".question .prompt"],
  queues: ["queues", "main h1"],
  workers: ["workers", "table.workers"],
  schedules: ["schedules", "main .empty"],
  hooks: ["hooks", "main .empty"],
  graphs: ["graphs", "table.graphs"],
  "graph/order": ["graphs", ".drawing svg"],
  "graph/order?show=versions": ["graphs", ".run-counts"],
  "proof?do=verify": ["runs", ".verdict"],
};

const problem = (code, message) => JSON.stringify({ error: { code, message } });

for (const [view, [path, shown]] of Object.entries(pages)) {
  test(`${view} says that it reads, says a refusal, and shows what comes after`, async () => {
    const page = await openPage(browser, `${world.url}#/help`);
    await page.getByText('There is no page "help".').waitFor();
    let letGo;
    const held = new Promise((resolve) => (letGo = resolve));
    const address = new RegExp(`/api/v1/${path}(\\?|$)`);
    await page.route(address, async (route) => {
      await held;
      await route.fulfill({ status: 503, body: problem("unavailable", "Expected the database to answer.") });
    });
    await page.evaluate((hash) => (location.hash = `#/${hash}`), view);
    await page.getByText(/Reading…|Counting/).first().waitFor();
    letGo();
    await page.getByRole("alert").filter({ hasText: "Expected the database to answer." }).first().waitFor();
    await page.unroute(address);
    if (view.startsWith("proof")) await page.getByRole("button", { name: "Once more" }).click();
    await page.locator(shown).first().waitFor();
    await page.context().close();
  });

  test(`${view} works below a path`, async () => {
    const page = await openPage(browser, `http://127.0.0.1:${proxy.address().port}/team/cairn/#/${view}`);
    await page.locator(shown).first().waitFor();
    assert.deepEqual(page.faults, []);
    await page.context().close();
  });
}

test("a server that goes away while a job is at work ends it in a sentence, and once more goes on", async () => {
  const page = await openPage(browser, `${world.url}#/proof`);
  await page.route("**/verify", (route) => route.abort());
  await page.getByRole("button", { name: "Verify", exact: true }).last().click();
  await page.getByRole("alert").filter({ hasText: "Expected the server to answer, but it does not." }).waitFor();
  await page.unroute("**/verify");
  await page.getByRole("button", { name: "Once more" }).click();
  await page.locator(".verdict-line").getByText("1 run sound").waitFor();
  await page.context().close();
});
