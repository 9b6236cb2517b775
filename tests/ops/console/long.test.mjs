// A run of 100,000 events: how soon it is there, and that no frame of scrolling and sliding takes long. The figures are
// printed; the bounds that fail the test are wide, as the machine may be busy. With CAIRN_QUIET=1, on a machine that
// does nothing else, they are those that the console promises.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { openBrowser, openPage } from "./browser.mjs";
import { until, World } from "./world.mjs";

const events = Number(process.env.CAIRN_EVENTS ?? 100_000);
const most = process.env.CAIRN_QUIET === "1" ? { painted: 1_000, task: 50 } : { painted: 30_000, task: 1_000 };
const wide = {
  name: "wide",
  start: "each",
  input: { properties: { list: { type: "array" } } },
  limits: { steps: events },
  nodes: {
    each: {
      map: { over: "$list", do: "tool.call", with: { tool: "echo", inputs: {} }, concurrency: 1000 },
      on: { joined: "over", partial: "over", error: "over" },
    },
    over: { end: "done" },
  },
};

let world;
let browser;
let run;

before(async () => {
  world = await World.begin();
  await world.addGraph(wide);
  const list = Array.from({ length: events / 2 }, (_, item) => item); // each item is two events
  run = (await world.api("runs", { graph: "wide", input: { list } })).run;
  await until(async () => (await world.api(`runs?graph=wide`))[0].status === "done", "the end of the run", 90_000);
  browser = await openBrowser();
});
after(async () => {
  await browser?.close();
  await world?.end();
});

// The longest tasks of the page's thread while something is done.
async function longest(page, work) {
  await page.evaluate(() => {
    window.tasks = [];
    window.watch = new PerformanceObserver((list) => {
      for (const task of list.getEntries()) window.tasks.push(task.duration);
    });
    window.watch.observe({ type: "longtask" });
  });
  await work();
  return page.evaluate(() => {
    for (const task of window.watch.takeRecords()) window.tasks.push(task.duration); // those that came last
    window.watch.disconnect();
    return Math.max(0, ...window.tasks);
  });
}

// The page notes by itself when its first event stands in a frame: who asks from outside asks only twice a second.
const notesFirstEvent = () => {
  const look = () => {
    if (document.querySelector(".event") === null) return requestAnimationFrame(look);
    window.firstEvent = performance.now();
    return undefined;
  };
  requestAnimationFrame(look);
};

const share = (part) => Math.round(events * part);

test("its first paint, its history, scrolling, sliding and memory", async () => {
  const page = await openPage(browser, "about:blank");
  await page.addInitScript(notesFirstEvent);
  const began = Date.now();
  await page.goto(`${world.url}#/run/${run}?view=events`);
  await page.locator(".event").first().waitFor();
  const painted = Math.round(await page.evaluate(() => window.firstEvent));
  const reading = await longest(page, () =>
    page.getByText("Reading the history").waitFor({ state: "detached", timeout: 60_000 }));
  const read = Date.now() - began;
  const list = page.getByRole("region", { name: "List of events" });
  const scrolling = await longest(page, async () => {
    for (let place = 0; place < 40; place += 1) {
      await list.evaluate((rows, to) => (rows.scrollTop = to * rows.scrollHeight), place / 40);
      await page.evaluate(() => new Promise(requestAnimationFrame));
    }
  });
  const sliding = await longest(page, async () => {
    for (let place = 1; place < 40; place += 1)
      await page.getByRole("slider", { name: "Event" }).fill(String(share(place / 40)));
  });
  await page.locator(".event[aria-current=true]").waitFor();
  await page.keyboard.press("1");
  await page.locator(".line").first().waitFor();
  const slidingTimeline = await longest(page, async () => {
    for (let place = 1; place < 40; place += 1)
      await page.getByRole("slider", { name: "Event" }).fill(String(share(place / 40)));
  });
  const session = await page.context().newCDPSession(page);
  await session.send("HeapProfiler.collectGarbage");
  const { usedSize, backingStorageSize = 0 } = await session.send("Runtime.getHeapUsage"); // and typed arrays
  const mb = Math.round((usedSize + backingStorageSize) / 1e6);
  console.log(JSON.stringify({ events, painted, read, reading, scrolling, sliding, slidingTimeline, mb }));
  assert.ok(mb < 150, `${mb} MB`);
  assert.ok(painted < most.painted, `${painted} ms`);
  for (const [what, ms] of Object.entries({ reading, scrolling, sliding, slidingTimeline }))
    assert.ok(ms <= most.task, `${what}: a task of ${ms} ms`);
  assert.deepEqual(page.faults, []);
  await page.context().close();
});
