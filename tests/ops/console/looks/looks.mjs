// The pages whose looks are tested, and how: a picture of each in three widths is kept, none is wider than its window,
// and axe finds nothing.
import assert from "node:assert/strict";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { openBrowser, openPage, pictures } from "../browser.mjs";
import { dry, order } from "../graphs.mjs";
import { until, World } from "../world.mjs";
import { findings, widths } from "./look.mjs";

export let world;
export let browser;
export const views = {};

const plan = {
  goal: "Compare two shops",
  sub_goals: [
    { id: "a", tool: "echo", inputs: { n: 1 } },
    { id: "b", tool: "sleep", inputs: { ms: 30 }, after: ["a"] },
    { id: "c", tool: "fail", inputs: { message: "No water.", times: 9 }, after: ["a"] },
    { id: "d", tool: "echo", inputs: { x: { from_sub_goal: "b", slot: "slept_ms" } }, after: ["b", "c"] },
  ],
};

before(async () => {
  world = await World.begin();
  await world.addGraph(order);
  await world.addGraph(dry);
  const away = { url: "http://127.0.0.1:9/in", private: true, backoff_ms: 100 };
  await world.api("hooks", { name: "chat", on: ["waits", "ended"], tags: { team: "a" }, ...away });
  await world.api("hooks", { name: "desk", on: ["failed"], graph: "dry", attempts: 1, ordered: true, ...away });
  await world.api("hooks", { name: "pager", on: ["stalled"], stalled_after_ms: 3_600_000, ...away });
  await world.api("hooks/pager/pause", { reason: "The receiver moves." });
  const waits = await world.startRun("order", { customer: "ann" }, "--tag", "team=a", "--tag", "region=north");
  const done = await world.startRun("order", { customer: "bob" }, "--tag", "team=b");
  await world.startRun("dry");
  await world.isStatus(done, "waiting");
  await world.api(`runs/${done}/answers`, { value: { ok: true, note: "fine" }, by: "eva" });
  await world.isStatus(done, "done");
  const edits = { at: 4, set: { customer: "cid" }, answer: { q2: { ok: false } } };
  const fork = (await world.api(`runs/${done}/fork`, edits)).run;
  await world.isStatus(fork, "done");
  const planned = await world.startRun("plan_runner", plan);
  await world.isStatus(planned, "failed");
  await world.isStatus(waits, "waiting");
  await until(async () => (await world.api("hooks/desk")).parked > 0, "a notice that is parked");
  const { address } = await world.api(`runs/${waits}/links`, { for: "ann" });
  Object.assign(views, {
    runs: "",
    "runs-none": "#/runs?where=tag.none%3Da",
    "run-timeline": `#/run/${planned}`,
    "run-events": `#/run/${done}?view=events&at=5`,
    "run-channels": `#/run/${done}?view=channels&at=6`,
    "run-plan": `#/run/${planned}?view=plan`,
    "run-models": `#/run/${done}?view=models`,
    "run-questions": `#/run/${waits}?view=questions`,
    "run-lineage": `#/run/${fork}?view=lineage`,
    compare: `#/compare/${done}/${fork}`,
    inbox: "#/inbox",
    queues: "#/queues",
    workers: "#/workers",
    hooks: "#/hooks",
    hook: "#/hooks/desk",
    schedules: "#/schedules",
    graphs: "#/graphs",
    graph: "#/graph/order",
    proof: "#/proof",
    answer: address,
    nowhere: "#/nowhere",
  });
  browser = await openBrowser();
});
after(async () => {
  await browser?.close();
  await world?.end();
});

export async function settled(page) {
  await page.locator("main").waitFor();
  await until(async () => (await page.locator(".loading").count()) === 0, "the page to be read");
  await page.waitForLoadState("networkidle");
}

// Half of the pages, so that a test takes no longer than it may: `half` is 0 or 1.
export function testLooks(colorScheme, half) {
  test(`every page in ${colorScheme} colours`, async () => {
    const page = await openPage(browser, world.url, { colorScheme, reducedMotion: "reduce" });
    for (const [name, view] of Object.entries(views).filter((_, place) => place % 2 === half)) {
      await page.goto("about:blank");
      await page.goto(world.url + view);
      await settled(page);
      for (const width of widths) {
        await page.setViewportSize({ width, height: 900 });
        await page.evaluate(() => new Promise((drawn) => requestAnimationFrame(() => requestAnimationFrame(drawn))));
        await page.screenshot({ path: join(pictures, `${name}-${colorScheme}-${width}.png`) });
        const wider = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
        assert.ok(wider <= 0, `${name} is ${wider} pixels wider than ${width}`);
        if (width !== 768) assert.deepEqual(await findings(page), [], `${name} at ${width}`);
      }
    }
    assert.deepEqual(page.faults, []);
    await page.context().close();
  });
}
