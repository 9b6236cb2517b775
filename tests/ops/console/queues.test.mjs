// Queues and workers: what waits, what is held and by whom, a limit, a pause, and what a token may not change.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { openBrowser, openPage } from "./browser.mjs";
import { far } from "./graphs.mjs";
import { isAccessible, picturesOf } from "./looks/look.mjs";
import { World } from "./world.mjs";

let world;
let browser;
const runs = [];
let session;

before(async () => {
  world = await World.begin({ withWorker: false });
  await world.addGraph(far);
  browser = await openBrowser();
});
after(async () => {
  await browser?.close();
  await world?.end();
});

const opened = (view, options = {}, token = "") => openPage(browser, world.url + view, options, token);
const row = (page, name) => page.locator("table.list tbody tr").filter({ hasText: name });

test("without a queue and without a worker, each page says so", async () => {
  const page = await opened("#/queues");
  await page.getByRole("heading", { name: "No queue holds anything" }).waitFor();
  await page.keyboard.press("g");
  await page.keyboard.press("w");
  await page.getByRole("heading", { name: "No worker is there" }).waitFor();
  assert.deepEqual(page.faults, []);
  await page.context().close();
});

test("a queue that no worker serves says so, and what is held is shown once one does", async () => {
  for (let n = 0; n < 3; n += 1) runs.push(await world.startRun("far"));
  const page = await opened("#/queues");
  await row(page, "far").getByText("no worker serves it").waitFor();
  assert.equal(await row(page, "far").locator(".ready").innerText(), "3");
  await row(page, "far").locator('[data-label="Oldest ready"]').getByText(/^\d+(\.\d)? (ms|s)$/).waitFor();
  const asked = { worker: "w", queues: ["far"], max: 1, handlers: [{ name: "far.work" }] };
  const claims = await world.api("claims", asked);
  session = claims.session;
  assert.equal(claims.claims.length, 1);
  await page.waitForFunction(() => document.querySelector("tr .ready")?.textContent === "2");
  await row(page, "far").getByRole("link").click();
  await page.getByText("Served by 1 worker").waitFor();
  await page.getByRole("img", { name: /Ready in far: 2 now, 2 to 3/ }).first().waitFor();
  await isAccessible(page);
  await picturesOf(page, "queues");
  await page.context().close();
});

test("a worker is opened with the steps that it holds, each a link to its run", async () => {
  const page = await opened(`#/workers/${session}`);
  await page.locator("table.holds tbody tr").waitFor();
  const href = await page.locator("table.holds a").getAttribute("href");
  assert.ok(runs.some((run) => href === `#/run/${run}`), href);
  await page.getByText("over HTTP").waitFor();
  world.worker = world.start(["work", "--queue", "default"]);
  await page.locator("table.workers tbody tr").nth(1).waitFor();
  await isAccessible(page);
  await picturesOf(page, "workers");
  await page.keyboard.press("k");
  await page.getByText("It holds nothing now.").waitFor();
  await page.keyboard.press("j");
  await page.locator("table.holds tbody tr").waitFor();
  await page.context().close();
});

test("a limit is set and taken away, and a number that is none is refused", async () => {
  const page = await opened("#/queues");
  await page.getByRole("button", { name: "Limit far" }).click();
  const field = page.getByLabel("Steps held at once");
  const save = page.getByRole("button", { name: "Limit", exact: true });
  await field.fill("0");
  await save.click();
  await page.getByText("A whole number from 1 to 1,000,000").waitFor();
  await field.fill("4");
  const commands = await page.getByLabel("As commands", { exact: true }).innerText();
  assert.match(commands, /cairn queue set far --concurrency 4/);
  await save.click();
  await page.getByRole("meter", { name: "Held of far" }).waitFor();
  assert.equal((await world.api("queues"))[0].concurrency, 4);
  await page.getByRole("button", { name: "Limit far" }).click();
  await field.fill("");
  await save.click();
  await page.getByRole("meter").waitFor({ state: "detached" });
  assert.equal((await world.api("queues"))[0].concurrency, null);
  await page.context().close();
});

test("a rate is set with its time and burst, shown, and not set over a change that was not seen", async () => {
  const page = await opened("#/queues");
  const save = page.getByRole("button", { name: "Limit", exact: true });
  const rate = page.getByLabel("Steps that begin in each time");
  await page.getByRole("button", { name: "Limit far" }).click();
  await rate.fill("0");
  await save.click();
  await page.getByText("Whole numbers from 1 to 1,000,000").waitFor();
  await rate.fill("50");
  await page.getByLabel("Seconds of that time").fill("2");
  await page.getByLabel("Steps at once on top of it").fill("10");
  assert.match(await page.getByLabel("As commands", { exact: true }).innerText(),
    /cairn queue set far --concurrency none --rate 50 --per 2000ms --burst 10 --budget none --reserve none --key none/);
  await save.click();
  await row(page, "far").getByText("50 in each 2 s, and 10 at once").waitFor();
  const [far] = await world.api("queues");
  assert.deepEqual(far.rate, { n: 50, per_ms: 2000, burst: 10 });

  await page.getByRole("button", { name: "Limit far" }).click();
  await world.api("queues/far", { concurrency: 3 });
  await rate.fill("");
  await save.click();
  await page.getByText(`Expected revision ${far.revision} of queue far to change`).waitFor();
  await page.keyboard.press("Escape");
  await world.api("queues/far", { concurrency: null, rate: null });
  assert.equal((await world.api("queues"))[0].rate, null);
  await page.context().close();
});

test("keys, their limits and an ageing are set, shown, and taken away with the key", async () => {
  const page = await opened("#/queues");
  const save = page.getByRole("button", { name: "Limit", exact: true });
  await page.getByRole("button", { name: "Limit far" }).click();
  const key = page.getByLabel("Key by which its steps take turns");
  const ageing = page.getByLabel("Seconds of waiting");
  await key.fill("tag.customer");
  await page.getByLabel("Steps of each key held at once").fill("2");
  await page.getByLabel("Steps of each key that begin in each time").fill("5");
  await ageing.fill("never");
  await save.click();
  await page.getByText("A time from 0.001 seconds to 30 days").waitFor();
  await ageing.fill("60");
  await page.getByText("A time from 0.001 seconds to 30 days").waitFor({ state: "detached" });
  assert.match(await page.getByLabel("As commands", { exact: true }).innerText(),
    /--key-rate 5 --key-per 1000ms --key-burst 1 --key-budget none --ageing 60000ms --revision \d+/);
  await isAccessible(page);
  await picturesOf(page, "queue-keys");
  await save.click();
  const limits = row(page, "far").locator('[data-label="Limits"]');
  await limits.getByText(/in turns by tag\.customer; at most 2 of each; .*; a priority less after 60 s$/).waitFor();
  const [far] = await world.api("queues");
  assert.deepEqual([far.key, far.key_concurrency, far.key_rate, far.ageing_ms],
    ["tag.customer", 2, { n: 5, per_ms: 1000, burst: 1 }, 60_000]);

  await page.getByRole("button", { name: "Limit far" }).click();
  assert.equal(await page.getByLabel("Seconds of that time of each key").inputValue(), "1");
  await key.fill("");
  await ageing.fill("");
  await save.click();
  await row(page, "far").getByText("by tag.customer").waitFor({ state: "detached" });
  const [left] = await world.api("queues");
  assert.deepEqual([left.key, left.key_concurrency, left.key_rate, left.ageing_ms], [null, null, null, null]);
  await page.context().close();
});

test("weights of keys are set, shown and taken back, and who set what is on record", async () => {
  const page = await opened("#/queues/far");
  const save = page.getByRole("button", { name: "Limit", exact: true });
  await page.getByRole("button", { name: "Limit far" }).click();
  await page.getByLabel("Key by which its steps take turns").fill("tag.customer");
  const weights = page.getByLabel("Steps of a key that begin in its turn");
  await weights.fill("acme=0");
  await save.click();
  const says = "Expected weights as KEY=N, where N is from 1 to 1,000, a line each, but found acme=0.";
  await page.getByText(says).waitFor();
  await weights.fill("acme=3\nbest, inc=2");
  assert.match(await page.getByLabel("As commands", { exact: true }).innerText(),
    /--weight acme=3 --weight 'best, inc=2' --ageing none/);
  await save.click();
  const newest = page.locator("table.notes tbody tr").first();
  await newest.getByText("acme weighs 3; best, inc weighs 2").waitFor();
  await newest.getByText("in turns by tag.customer").waitFor();
  assert.deepEqual((await world.api("queues"))[0].weights, { acme: 3, "best, inc": 2 });
  await isAccessible(page);
  await picturesOf(page, "queue-weights");

  await page.getByRole("button", { name: "Limit far" }).click();
  assert.equal(await weights.inputValue(), "acme=3\nbest, inc=2");
  await weights.fill("best, inc=2");
  await save.click();
  await newest.getByText("acme weighs 3").waitFor({ state: "detached" });
  assert.deepEqual((await world.api("queues"))[0].weights, { "best, inc": 2 });
  await world.api("queues/far", { key: null });
  await page.context().close();
});

test("a pause says what it stops before it does, and is taken back", async () => {
  const page = await opened("#/queues");
  await page.getByRole("button", { name: "Pause far" }).click();
  await page.getByText("Nothing more of it is begun by any worker: 2 steps wait. What is held goes on: 1.").waitFor();
  await page.keyboard.press("Escape");
  assert.equal((await world.api("queues"))[0].paused, false);
  await page.getByRole("button", { name: "Pause far" }).click();
  await page.getByRole("button", { name: "Pause", exact: true }).click();
  await row(page, "far").getByText("paused").waitFor();
  await page.getByRole("button", { name: "Resume far" }).click();
  await page.getByRole("button", { name: "Resume", exact: true }).click();
  await page.getByRole("button", { name: "Pause far" }).waitFor();
  assert.equal((await world.api("queues"))[0].paused, false);
  assert.deepEqual(page.faults, []);
  await page.context().close();
});

test("budgets are set as the command has them, and what is used of them is shown with its keys", async () => {
  const team = "<b>red</b>";
  const page = await opened("#/queues/far");
  const save = page.getByRole("button", { name: "Limit", exact: true });
  const budgets = page.getByLabel("Budgets", { exact: true });
  const reserve = page.getByLabel("Each step reserves");
  await page.getByRole("button", { name: "Limit far" }).click();
  assert.equal(await page.getByLabel("Budgets of each key").count(), 0);
  await budgets.fill("tokens=5/week");
  await save.click();
  await page.getByText("Expected budgets as tokens=N/WINDOW or cost=N/WINDOW").waitFor();
  await budgets.fill("tokens=2000000/month cost=25/month");
  await reserve.fill("tokens=1, tokens=2");
  await save.click();
  await page.getByText("Expected what each step reserves as tokens=N or cost=N, each once").waitFor();
  await reserve.fill("tokens=4000, cost=0.02");
  await page.getByLabel("Key by which its steps take turns").fill("tag.team");
  await page.getByLabel("Budgets of each key").fill("tokens=1000/month");
  await save.click();
  await page.getByText("Expected a step").waitFor(); // that reserves more than its key's budget could never begin
  await page.getByLabel("Budgets of each key").fill("tokens=4000/month");
  assert.match(await page.getByLabel("As commands", { exact: true }).innerText(), new RegExp(
    "--budget tokens=2000000/month --budget cost=25/month --reserve tokens=4000 --reserve cost=0.02 " +
    "--key tag.team --key-concurrency none --key-rate none --key-budget tokens=4000/month --ageing none"));
  await isAccessible(page);
  await picturesOf(page, "queue-budgets-dialog");
  await save.click();
  await page.getByText("each step reserves 4,000 tokens and a cost of 0.02").first().waitFor();
  const [far] = await world.api("queues");
  assert.deepEqual([far.budgets.length, far.reserve, far.key_budgets],
    [2, { tokens: 4000, cost: 0.02 }, [{ unit: "tokens", cap: 4000, per: "month" }]]);

  const run = await world.startRun("far", {}, "--no-work", "--tag", `team=${team}`);
  const asked = { worker: "b", queues: ["far"], max: 5, handlers: [{ name: "far.work" }] };
  const { claims } = await world.api("claims", asked);
  const claim = claims.find((one) => one.run === run);
  const called = { type: "model_called", tokens_in: 4000, tokens_out: 1000, cost: 0.5 };
  await world.api(`claims/${claim.claim}/complete`, { facts: [called] });
  const used = page.locator("table.budget-uses tbody tr");
  await used.filter({ hasText: team }).getByText("5,000 of 4,000, used up").waitFor();
  assert.match(await used.first().innerText(), /the whole queue/);
  await page.getByText("0.5 of 25").waitFor();
  await page.getByRole("meter", { name: "Used of tokens per month: the whole queue" }).waitFor();
  await isAccessible(page);
  await picturesOf(page, "queue-budgets");

  await page.getByRole("button", { name: "Limit far" }).click();
  assert.equal(await budgets.inputValue(), "tokens=2000000/month, cost=25/month");
  for (const field of [budgets, reserve, page.getByLabel("Key by which its steps take turns")]) await field.fill("");
  await save.click();
  await used.first().waitFor({ state: "detached" });
  const [left] = await world.api("queues");
  assert.deepEqual([left.budgets, left.reserve, left.key, left.key_budgets], [[], {}, null, []]);
  await page.context().close();
});

test("a server that goes away is said to be away, and what was shown stays", async () => {
  const page = await opened("#/queues");
  await row(page, "far").waitFor();
  await world.stopServer();
  await page.getByText("The server does not answer.").waitFor();
  assert.equal(await row(page, "far").count(), 1);
  await world.serve();
  await page.getByText("The server does not answer.").waitFor({ state: "detached" });
  await page.context().close();
});

test("a token that may only read is offered no change", async () => {
  const page = await opened("#/queues", {}, await world.addToken("reader", "read"));
  await row(page, "far").waitFor();
  assert.equal(await page.getByRole("button", { name: /Limit|Pause/ }).count(), 0);
  await page.context().close();
});

test("a token of a tag is offered changes of the queues of its scope alone, and shown no keys of weights", async () => {
  await world.cairn("queue", "set", "far", "--key", "tag.customer", "--weight", "acme=3");
  for (const [name, scopes, offered] of [["of_tag", ["tag=team=a"], 0], ["of_both", ["tag=team=a", "queue=far"], 2]]) {
    const page = await opened("#/queues/far", {}, await world.addScopedToken(name, scopes, "read", "operate"));
    await page.locator("table.notes tbody tr").first().getByText("in turns by tag.customer").waitFor();
    assert.equal(await page.getByText("acme").count(), 0);
    assert.equal(await page.getByRole("button", { name: /Limit|Pause/ }).count(), offered, name);
    assert.deepEqual(page.faults, []);
    await page.context().close();
  }
});
