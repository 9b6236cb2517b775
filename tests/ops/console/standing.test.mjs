// Nothing that is shown stands still: what no signal tells of is drawn again as well, what did not come is asked for
// again, and what a reader has chosen, opened or begun stays while the server has news.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { openBrowser, openPage } from "./browser.mjs";
import { dry, order } from "./graphs.mjs";
import { isAccessible } from "./looks/look.mjs";
import { until, World } from "./world.mjs";

const brief = {
  name: "brief",
  start: "ask",
  limits: { steps: 10 },
  nodes: {
    ask: { ask: { kind: "k", prompt: "Soon?" }, expires_ms: 86_400_000, on: { answered: "over", expired: "over" } },
    over: { end: "done" },
  },
};
const frail = {
  name: "frail",
  start: "make",
  limits: { steps: 10 },
  nodes: {
    make: { do: "tool.call", with: { tool: "fail", inputs: { message: "No water." } }, on: { ok: "over" } },
    over: { end: "done" },
  },
};
const late = {
  name: "late",
  start: "ask",
  limits: { steps: 5 },
  singleton: { key: "/page", when: "queue" },
  nodes: {
    ask: { ask: { kind: "k", prompt: "On?" }, on: { answered: "over", expired: "over" } },
    over: { end: "done" },
  },
};
const plan = { goal: "g", sub_goals: [
  { id: "a", tool: "echo", inputs: { n: 1 } }, { id: "b", tool: "echo", inputs: { n: 2 }, after: ["a"] }] };

let world;
let browser;
let done;

before(async () => {
  world = await World.begin();
  for (const graph of [order, dry, brief, frail, late]) await world.addGraph(graph);
  for (let n = 0; n < 3; n += 1) await world.isStatus(await world.startRun("dry"), "failed");
  done = await world.startRun("order", { customer: "ann" });
  await world.isStatus(done, "waiting");
  await world.api(`runs/${done}/answers`, { value: { ok: true }, by: "ben" });
  await world.isStatus(done, "done");
  browser = await openBrowser();
});
after(async () => {
  await browser?.close();
  await world?.end();
});

const opened = (view) => openPage(browser, world.url + view);

// A page whose requests or clock are looked after before anything is asked.
async function prepared(view, prepare) {
  const page = await openPage(browser, "about:blank");
  await prepare(page);
  await page.goto(world.url + view);
  return page;
}

// Requests of that address wait until they are let go, one or all.
function gate() {
  const waiting = [];
  let isOpen = false;
  return {
    hold: (route) => {
      if (isOpen) return route.continue();
      return new Promise((resolve) => waiting.push(() => resolve(route.continue())));
    },
    one: () => waiting.shift()?.(),
    all: () => {
      isOpen = true;
      for (const go of waiting.splice(0)) go();
    },
  };
}

async function closed(page) {
  assert.deepEqual(page.faults, []);
  await page.context().close();
}

test("the sums of a proof grow with each run that is done", async () => {
  const held = gate();
  const page = await prepared("#/proof?do=verify&where=graph%3Ddry", (one) => one.route("**/verify", held.hold));
  const sums = page.locator(".verdict-line");
  await page.getByText("0 of 3 runs").waitFor();
  for (const says of ["1 run sound", "2 runs sound"]) {
    held.one();
    await sums.getByText(says).waitFor();
    assert.equal(await page.getByRole("button", { name: "Stop" }).count(), 1);
  }
  held.all();
  await sums.getByText("3 runs sound").waitFor();
  await closed(page);
});

test("the time until a question closes goes on", async () => {
  const run = await world.startRun("brief");
  await world.isStatus(run, "waiting");
  const page = await prepared(`#/run/${run}?view=questions`, (one) => one.clock.install());
  await page.getByText(/if it is not answered: in 23 h/).waitFor();
  await page.clock.fastForward("02:00:00");
  await page.getByText(/if it is not answered: in 2[12] h/).waitFor();
  await closed(page);
});

test("that questions were asked is said once the history is read", async () => {
  const held = gate();
  const page = await prepared(`#/run/${done}?view=questions`, (one) => one.route(/events\?.*limit=1000/, held.hold));
  await page.getByText("No open question").waitFor();
  const says = page.getByText("Those that were asked stand among the events of people.");
  assert.equal(await says.count(), 0);
  held.all();
  await says.waitFor();
  await page.keyboard.press("{"); // before the first of them was asked
  await says.waitFor({ state: "detached" });
  await closed(page);
});

test("a graph's text is checked although the server says late who asks", async () => {
  const held = gate();
  const page = await prepared("#/graph?show=text", (one) => one.route(/\/api\/v1\/$/, held.hold));
  await page.getByLabel("The graph's text").waitFor();
  held.all();
  await page.getByText("No fault").waitFor();
  await closed(page);
});

test("a drawing and a moment that did not come are asked for again", async () => {
  let isAway = true;
  const fail = (route) => (isAway ? route.abort() : route.continue());
  const page = await prepared(`#/run/${done}?at=3`, async (one) => {
    await one.route(/format=svg/, fail);
    await one.route(/runs\/[^/]*\?at=/, fail);
  });
  await page.getByRole("alert").filter({ hasText: "Expected the server to answer" }).first().waitFor();
  isAway = false;
  await page.locator("[data-node=approve].open").waitFor();
  await page.getByRole("alert").first().waitFor({ state: "detached" });
  await page.getByText("The server does not answer.").waitFor({ state: "detached" });
  await page.context().close();
});

test("a page that reads nothing all the time hears that the server is back", async () => {
  const page = await opened("#/proof");
  await page.getByRole("heading", { name: "Proof", exact: true }).waitFor();
  await world.stopServer();
  await page.getByRole("button", { name: "Verify", exact: true }).last().click();
  const lost = page.getByText("What is shown is how it last was");
  await lost.waitFor();
  await isAccessible(page);
  await world.serve();
  await lost.waitFor({ state: "detached" });
  await page.context().close();
});

test("a run that had failed and is tried again by others is followed, and r reads it again", async () => {
  const run = await world.startRun("frail");
  await world.isStatus(run, "failed");
  const page = await opened(`#/run/${run}`);
  await page.locator(".run-title .status", { hasText: "failed" }).waitFor();
  const last = page.locator(".slider-says .number").first();
  const before = Number((await last.innerText()).split("of ")[1]);
  await world.api(`runs/${run}/retry`, {});
  await page.waitForFunction((count) =>
    Number(document.querySelector(".slider-says .number").innerText.split("of ")[1]) > count, before);
  const read = page.waitForRequest(/explain/);
  await page.keyboard.press("r");
  await read;
  await closed(page);
});

test("r while why a run stands is being read reads it once more", async () => {
  let held; // the first explanation, until r was pressed
  const page = await prepared(`#/run/${done}`, async (one) => {
    const explained = one.waitForResponse(/explain/);
    await one.route(/explain/, async (route) => {
      if (held === undefined) await new Promise((resolve) => (held = resolve));
      await route.continue();
    });
    await one.route(/events\?from=\d+&limit=1&/, (route) => explained.then(() => route.continue()));
  });
  await until(() => held, "the explanation to be asked for");
  await page.keyboard.press("r");
  const again = page.waitForRequest(/explain/);
  held();
  await again;
  await page.context().close();
});

test("a run that has ended is asked for what comes more, and not why it stands again and again", async () => {
  const page = await openPage(browser, "about:blank");
  const asked = { events: 0, explain: 0 };
  page.on("request", (request) => {
    for (const what of Object.keys(asked)) if (new URL(request.url()).pathname.endsWith(what)) asked[what] += 1;
  });
  await page.clock.install();
  await page.goto(`${world.url}#/run/${done}`);
  await page.locator(".run-title .status", { hasText: "done" }).waitFor();
  await page.waitForLoadState("networkidle");
  const before = asked.events;
  for (let n = 0; n < 3; n += 1) {
    const more = page.waitForResponse(/events\?from=\d+&limit=1&/);
    await page.clock.fastForward(6000);
    await more;
  }
  assert.ok(asked.events >= before + 3, `${asked.events} of ${before}`);
  assert.equal(asked.explain, 1);
  await closed(page);
});

test("j at the last event of a run that goes on still follows it", async () => {
  const run = await world.startRun("order", { customer: "dan" });
  await world.isStatus(run, "waiting");
  const page = await opened(`#/run/${run}`);
  const now = page.getByRole("button", { name: "Now", exact: true });
  await page.locator(".run-title .status", { hasText: "waiting" }).waitFor();
  for (const [view, key] of [["timeline", "1"], ["events", "2"], ["channels", "3"]]) {
    await page.keyboard.press(key);
    await page.waitForFunction((name) => location.hash.includes(`view=${name}`), view);
    await page.keyboard.press("k");
    await page.waitForFunction(() => location.hash.includes("at="));
    await page.keyboard.press("j");
    await page.waitForFunction(() => !location.hash.includes("at="));
    assert.equal(await now.getAttribute("aria-pressed"), "true", view);
  }
  await world.api(`runs/${run}/pause`, { reason: "noon" });
  await page.locator(".run-title .status", { hasText: "paused" }).waitFor();
  await closed(page);
});

test("k goes to the nearest of the events that are listed", async () => {
  const page = await opened(`#/run/${done}?view=events&events=people`);
  await page.getByText("2 events").waitFor();
  for (const says of ["question answered", "question asked"]) {
    await page.keyboard.press("k");
    await page.locator(".event[aria-current=true]", { hasText: says }).waitFor();
  }
  await closed(page);
});

test("a fork is made at the event where its dialog was opened, whatever comes meanwhile", async () => {
  const run = await world.startRun("order", { customer: "eve" });
  await world.isStatus(run, "waiting");
  const page = await opened(`#/run/${run}`);
  await page.getByRole("button", { name: "Fork from event 4" }).click();
  await page.locator(".fork-line").getByText('"at":4').waitFor();
  await world.api(`runs/${run}/pause`, { reason: "noon" });
  await page.getByRole("list", { name: "Why", includeHidden: true }).getByText("noon").waitFor();
  await page.getByRole("dialog", { name: "Fork from event 4" }).getByText('"at":4').waitFor();
  await page.getByRole("dialog").getByRole("button", { name: "Fork", exact: true }).click();
  await page.getByText("A fork goes on from event 4.").waitFor();
  await closed(page);
});

test("a row that was chosen is the one that opens, also when a newer one has come before it", async () => {
  const page = await opened("#/runs?where=graph%3Dorder");
  await page.locator("table.runs tbody tr").first().waitFor();
  await page.keyboard.press("j");
  const href = await page.locator("tr.chosen a").getAttribute("href");
  const newer = await world.startRun("order", { customer: "fay" });
  await page.locator(`table.runs a[href="#/run/${newer}"]`).waitFor();
  assert.equal(await page.locator("tr.chosen a").getAttribute("href"), href);
  await page.keyboard.press("Enter");
  await page.waitForFunction((to) => location.hash === to, href);
  await closed(page);
});

test("what is opened of a plan stays open while the slider moves", async () => {
  const run = await world.startRun("plan_runner", plan);
  await world.isStatus(run, "done");
  const page = await opened(`#/run/${run}?view=plan`);
  await page.locator("button.goal").first().click();
  await page.locator(".goal-detail").waitFor();
  await isAccessible(page);
  await page.keyboard.press("Escape");
  await page.keyboard.press("[");
  await page.waitForFunction(() => location.hash.includes("at="));
  await page.waitForLoadState("networkidle");
  assert.equal(await page.locator(".goal-detail").count(), 1);
  await closed(page);
});

test("what newer notes push off a history's first page stays", async () => {
  await world.api("hooks", { name: "desk", on: ["ended"], url: "http://127.0.0.1:9/in", private: true });
  const toggle = async (times) => {
    for (let n = 0; n < times; n += 1) await world.api(`hooks/desk/${n % 2 === 0 ? "pause" : "resume"}`, {});
  };
  await toggle(52);
  const page = await opened("#/hooks/desk");
  const rows = page.locator("table.notes tbody tr");
  await rows.nth(49).waitFor();
  await page.getByRole("button", { name: "Older" }).click();
  await rows.nth(52).waitFor(); // it was added, too
  await toggle(4);
  await rows.nth(56).waitFor();
  assert.equal(await rows.count(), 57);
  await closed(page);
});

test("a refusal of what is shown already is said above it", async () => {
  const page = await opened(`#/compare/${done}?at=2`);
  await page.getByRole("region", { name: "The first event that differs" }).waitFor();
  const body = JSON.stringify({ error: { code: "forbidden", message: "Expected another token." } });
  await page.route(/\/diff/, (route) => route.fulfill({ status: 403, body }));
  await page.keyboard.press("r");
  await page.getByRole("alert").filter({ hasText: "Expected another token." }).waitFor();
  assert.equal(await page.getByRole("region", { name: "The first event that differs" }).count(), 1);
  await page.context().close();
});

test("a run that is left while its history is read is not read on", async () => {
  const held = gate();
  const page = await prepared(`#/run/${done}`, (one) => one.route(/events\?.*limit=1000/, held.hold));
  await page.locator(".run-title").waitFor();
  let asked = 0;
  page.on("request", (request) => (asked += /events\?/.test(request.url()) ? 1 : 0));
  await page.keyboard.press("g");
  await page.keyboard.press("w");
  await page.getByRole("heading", { name: "Workers" }).waitFor();
  await page.waitForLoadState("networkidle");
  assert.equal(asked, 0);
  await closed(page);
});

test("a run whose start waits is shown once it has begun", async () => {
  const first = await world.startRun("late", { page: "x" });
  await world.isStatus(first, "waiting");
  const run = await world.startRun("late", { page: "x" });
  const page = await opened(`#/run/${run}`);
  await page.getByText(`Its start waits for run ${first} to end`).waitFor();
  assert.equal(await page.getByRole("button", { name: /^Fork/ }).count(), 0);
  await isAccessible(page);
  await world.api(`runs/${first}/answers`, { value: "yes" });
  await page.locator("[data-node=ask].open").waitFor();
  await closed(page);
});

test("a start that waits is taken back, and its page says so", async () => {
  const first = await world.startRun("late", { page: "y" });
  await world.isStatus(first, "waiting");
  const page = await opened(`#/run/${await world.startRun("late", { page: "y" })}`);
  await page.getByRole("button", { name: "Cancel…" }).click();
  await page.getByRole("button", { name: "Cancel the run" }).click();
  await page.getByRole("alert").getByText("Nothing is here").waitFor();
  await page.context().close();
});
