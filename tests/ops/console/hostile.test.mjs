// Text that others wrote, on the pages of questions, queues, workers, hooks, graphs and proof: markup, escapes, other
// directions, a megabyte. It stays text, runs nothing, and breaks no page.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { openBrowser, openPage } from "./browser.mjs";
import { isAccessible } from "./looks/look.mjs";
import { World } from "./world.mjs";

const script = "<img src=x onerror=\"globalThis.broken='yes'\"><script>globalThis.broken='yes'</script>";
const turned = "\u202Eabc\u202D \u2066x\u2069 \u0007\u001b[31m red";
const hostile = `${script}${turned} '"\`\${1}</pre>`;

let world;
let browser;
let run;

const nasty = {
  name: "nasty",
  start: "ask",
  description: hostile,
  limits: { steps: 10 },
  input: { type: "object", properties: { long: { type: "string", title: hostile, description: hostile } } },
  nodes: {
    ask: {
      ask: {
        kind: hostile,
        prompt: hostile,
        schema: {
          type: "object",
          title: hostile,
          required: [hostile],
          properties: {
            [hostile]: { type: "string", title: hostile, description: hostile },
            ["__proto__x"]: { enum: [hostile, "b"] },
            constructor: { type: "string", default: hostile },
          },
        },
      },
      on: { answered: "over", expired: "over" },
    },
    over: { end: { status: "failed", reason: hostile } },
  },
};

before(async () => {
  world = await World.begin();
  await world.addGraph(nasty);
  run = await world.startRun("nasty", { text: hostile }, "--tag", `team=${hostile.slice(0, 200)}`);
  await world.isStatus(run, "waiting");
  await world.api("runs", { graph: "nasty", input: { long: "é".repeat(400_000) }, tags: { team: "long" } });
  await world.cairn("queue", "set", "<b>queue</b>", "--concurrency", "3");
  await world.api("claims", { worker: script.slice(0, 100), queues: ["<i>q</i>"], max: 1,
    handlers: [{ name: "x<b>y" }] }).catch(() => undefined); // names that are refused are no names
  await world.cairn("hook", "add", "nasty", "--on", "waits,ended", "--command", `true # ${hostile}`, "--ordered");
  const url = `http://127.0.0.1:9/${"x".repeat(1500)}?of=%3Cb%3E`;
  await world.api("hooks", { name: "far", url, on: ["ended"], graph: script, tags: { [script]: hostile } });
  await world.api("hooks/far/pause", { reason: hostile });
  await world.api("hooks/nasty/test", {});
  const tags = { team: hostile.slice(0, 200) };
  await world.api("schedules", { name: "odd", graph: "nasty", cron: ["0 9 * * MON"], input: { long: hostile }, tags });
  await world.api("schedules/odd/pause", { reason: hostile });
  browser = await openBrowser();
});
after(async () => {
  await browser?.close();
  await world?.end();
});

const views = {
  inbox: ["#/inbox", ".question .prompt"],
  "a question": [() => `#/inbox/${run}/q1`, ".question"],
  queues: ["#/queues", "table.queues"],
  workers: ["#/workers", "table.workers"],
  hooks: ["#/hooks", "table.hooks"],
  "a hook": ["#/hooks/nasty", "table.notices-of"],
  "a hook that is paused": ["#/hooks/far", ".hook-paused"],
  schedules: ["#/schedules", "table.schedules"],
  "a schedule": ["#/schedules/odd", "table.notes tbody tr"],
  graphs: ["#/graphs", "table.graphs"],
  "a graph's picture": ["#/graph/nasty?node=ask", ".drawing svg"],
  "a graph's text": ["#/graph/nasty?show=text", ".code-area"],
  "a graph's start": ["#/graph/nasty?show=start", ".start-form"],
  "a proof": [`#/proof?do=verify&where=${encodeURIComponent("graph=nasty")}`, ".verdict"],
  "an address that means nothing": [
    `#/graph/${encodeURIComponent(hostile)}?show=${encodeURIComponent(script)}`, ".failure",
  ],
  "a proof of nothing": ["#/proof?do=nonsense&limit=-5&graph=z:%25%25", ".about-proof"],
  "a graph that cannot be unpacked": ["#/proof?do=changed&graph=z:!!!&where=graph%3Dnasty", ".failure"],
};

for (const [name, [view, shown]] of Object.entries(views))
  test(`${name} shows hostile text as text`, async () => {
    const page = await openPage(browser, world.url + (typeof view === "function" ? view() : view));
    await page.locator(shown).first().waitFor();
    assert.equal(await page.evaluate(() => globalThis.broken), undefined);
    assert.equal(await page.locator("main img, main script").count(), 0);
    const [width, most] = await page.evaluate(() => [document.documentElement.scrollWidth, innerWidth]);
    assert.ok(width <= most, `the page is ${width} pixels wide`);
    await isAccessible(page);
    assert.deepEqual(page.faults, []);
    await page.context().close();
  });

test("a hostile name in a form comes back as it was written", async () => {
  const [{ question }] = await world.api("questions?tag=team%3Dlong");
  const [{ run: long }] = await world.api("questions?tag=team%3Dlong");
  const page = await openPage(browser, `${world.url}#/inbox/${long}/${question}`);
  await page.locator(".schema-form input[type=text]").first().fill(hostile);
  await page.getByRole("button", { name: "Answer", exact: true }).click();
  await world.isStatus(long, "failed");
  const events = await world.api(`runs/${long}/events?raw=true`);
  const { value } = events.find((event) => event.type === "question_answered");
  assert.equal(value[hostile], hostile);
  assert.equal(value.constructor, hostile);
  await page.context().close();
});

test("a queue with a hostile name is limited as any other", async () => {
  const page = await openPage(browser, `${world.url}#/queues`);
  await page.getByRole("button", { name: "Limit <b>queue</b>" }).click();
  await page.getByLabel("Steps held at once").fill("7");
  await page.getByRole("button", { name: "Limit", exact: true }).click();
  await page.getByText("0 of 7").waitFor();
  await page.getByRole("link", { name: "<b>queue</b>" }).click();
  await page.getByRole("region", { name: "Queue <b>queue</b>" }).getByText("Served by").waitFor();
  assert.deepEqual(page.faults, []);
  await page.context().close();
});
