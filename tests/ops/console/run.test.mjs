// One run: everything follows the slider, from there it is forked, and the two are compared; questions are answered.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { openBrowser, openPage } from "./browser.mjs";
import { chat, far, order } from "./graphs.mjs";
import { isAccessible } from "./looks/look.mjs";
import { until, World } from "./world.mjs";

const round = {
  name: "round",
  start: "again",
  limits: { steps: 3 },
  nodes: {
    again: { do: "tool.call", with: { tool: "echo", inputs: {} }, on: { ok: "again", error: "over" } },
    over: { end: "done" },
  },
};
const sleeper = {
  name: "sleeper",
  start: "work",
  limits: { steps: 3 },
  nodes: {
    work: { do: "tool.call", with: { tool: "sleep", inputs: { ms: 60_000 } }, on: { ok: "over", error: "over" } },
    over: { end: "done" },
  },
};
const twice = {
  name: "twice",
  start: "make",
  limits: { steps: 9 },
  nodes: {
    make: {
      do: "tool.call", with: { tool: "fail", inputs: { message: "No water.", times: 1 } },
      retry: { attempts: 2, backoff_ms: 2500 }, on: { ok: "over" },
    },
    over: { end: "done" },
  },
};
const caller = {
  name: "caller",
  start: "sub",
  limits: { steps: 5 },
  nodes: { sub: { call: "twice", on: { done: "over", failed: "over" } }, over: { end: "done" } },
};

let world;
let browser;
let done;

before(async () => {
  world = await World.begin({ replies: ["blue <b>", "green"].map((value) => ({ node: "ask", value })) });
  await world.addGraph(order);
  await world.addGraph(chat);
  done = await world.startRun("order", { customer: "ann" }, "--tag", "team=a");
  await world.isStatus(done, "waiting");
  await world.api(`runs/${done}/answers`, { value: { ok: true, note: "fine" }, by: "ben" });
  await world.isStatus(done, "done");
  browser = await openBrowser();
});
after(async () => {
  await browser?.close();
  await world?.end();
});

const opened = (run, query = "") => openPage(browser, `${world.url}#/run/${run}${query}`);
const node = (page, name) => page.locator(`[data-node="${name}"]`);
const hasClass = (page, name, word) =>
  page.waitForFunction(
    ([at, has]) => document.querySelector(`[data-node="${at}"]`)?.classList.contains(has), [name, word]);
const slideTo = (page, seq) => page.getByRole("slider", { name: "Event" }).fill(String(seq));

async function closed(page) {
  assert.deepEqual(page.faults, []);
  await page.context().close();
}

test("the way that was taken is lit, and the slider takes it back", async () => {
  const page = await opened(done);
  await hasClass(page, "bill", "been");
  await hasClass(page, "over", "been");
  assert.equal(await node(page, "refused").evaluate((one) => one.classList.contains("been")), false);
  await page.locator('[data-edge="bill->over"][data-label="ok"].been').waitFor();
  await page.locator('[data-edge="bill->refused"][data-label="error"]:not(.been)').waitFor();
  await slideTo(page, 3);
  await hasClass(page, "approve", "open");
  assert.equal(await node(page, "bill").evaluate((one) => one.classList.contains("been")), false);
  await page.waitForFunction(() => location.hash.endsWith("?at=3"));
  await page.reload();
  await page.getByRole("button", { name: "Fork from event 3" }).waitFor();
  await closed(page);
});

test("channels show what the event before changed", async () => {
  const page = await opened(done, "?view=channels&at=6");
  const changed = page.locator(".tree .changed");
  await changed.filter({ hasText: "fine" }).waitFor();
  assert.equal(await page.locator(".tree").getByText("customer").first().isVisible(), true);
  await page.keyboard.press("[");
  await page.waitForFunction(() => location.hash.includes("at=5"));
  await page.getByText("0 changes").waitFor();
  await page.keyboard.press("{");
  await page.waitForFunction(() => location.hash.includes("at=1"));
  await page.keyboard.press("}");
  await page.waitForFunction(() => !location.hash.includes("at="));
  await closed(page);
});

test("events are words, filtered by kind and node, and say by whom", async () => {
  const page = await opened(done, "?view=events");
  await page.locator(".event", { hasText: "approve left by answered → bill, wrote approval" }).waitFor();
  await page.getByRole("button", { name: "people" }).click();
  await page.getByText("2 events").waitFor();
  const answered = page.locator(".event", { hasText: "question answered" });
  assert.match(await answered.innerText(), /q2: \{"note":"fine","ok":true\}, by/);
  await answered.click();
  await page.getByRole("region", { name: "Event 5" }).getByText("fine").waitFor();
  await page.getByRole("button", { name: "all", exact: true }).click();
  await node(page, "check").click();
  await page.getByText("1 event", { exact: true }).waitFor();
  await page.keyboard.press("1");
  await page.locator(".line", { hasText: "check" }).waitFor();
  await closed(page);
});

test("a run is forked before its answer, answered otherwise, and compared", async () => {
  const page = await opened(done, "?at=4");
  await page.getByRole("button", { name: "Fork from event 4" }).click();
  const dialog = page.getByRole("dialog");
  await dialog.getByRole("combobox").first().selectOption("customer");
  await dialog.getByRole("textbox", { name: "customer" }).fill('"bea"');
  await dialog.getByRole("combobox").nth(1).selectOption("q2");
  await dialog.getByRole("textbox", { name: "q2" }).fill('{"ok": false}');
  await dialog.getByRole("combobox").first().selectOption("notes"); // which the graph names, and nothing wrote yet
  await dialog.getByRole("textbox", { name: "notes" }).fill('["late"]');
  await dialog.getByLabel("Reason").fill("what if <b>");
  await dialog.getByRole("button", { name: "Fork", exact: true }).click();
  await page.waitForFunction((run) => location.hash.startsWith("#/run/") && !location.hash.includes(run), done);
  await hasClass(page, "over", "been");
  const [, , fork] = new URL(page.url()).hash.split("/");
  await page.locator('[data-edge="check->approve"][data-label="ok"].been').waitFor(); // in the run that it came from
  const [begun] = await world.api(`runs/${fork}/events`);
  assert.equal(begun.reason, "what if <b>");
  assert.deepEqual((await world.api(`runs/${fork}`)).channels.notes, ["late"]);
  await page.getByRole("link", { name: /forked at event 4/ }).click();
  await page.getByRole("heading", { name: "Compare" }).waitFor();
  const changes = page.getByRole("region", { name: /^Channels/ });
  await changes.getByText("/customer").waitFor();
  assert.match(await changes.innerText(), /ann[\s\S]*bea/);
  await page.getByRole("region", { name: "The first event that differs" }).waitFor();
  await closed(page);
});

test("a moment that a run does not have is refused, and another one can be given", async () => {
  const page = await openPage(browser, `${world.url}#/compare/${done}/${done}`);
  const second = page.getByLabel(/^Event of/).nth(1);
  await second.fill("999");
  await second.press("Enter");
  await page.getByRole("alert").getByText("999").waitFor();
  await second.fill("4");
  await second.press("Enter");
  await page.getByRole("alert").waitFor({ state: "detached" });
  await page.waitForFunction(() => location.hash.endsWith("with_at=4"));
  await page.goto("about:blank");
  await page.goto(`${world.url}#/compare/${done}/${done}?with_at=999`);
  await page.getByRole("link", { name: "Compare them at their last events" }).click();
  await page.getByLabel(/^Event of/).first().waitFor();
  await closed(page);
});

test("a fork that cannot be is refused in the dialog", async () => {
  const page = await opened(done, "?at=4");
  await page.getByRole("button", { name: "Fork from event 4" }).click();
  const dialog = page.getByRole("dialog");
  await dialog.getByRole("button", { name: "Edit the graph" }).click();
  await page.waitForFunction(() => document.querySelector("dialog textarea")?.value.includes("\"nodes\""));
  await dialog.getByLabel("Graph", { exact: true }).fill('{"name": "order", "start": "nowhere"}');
  await dialog.getByRole("button", { name: "Fork", exact: true }).click();
  await dialog.getByRole("alert").getByText("Expected").first().waitFor();
  await page.keyboard.press("Escape");
  await dialog.waitFor({ state: "detached" });
  await closed(page);
});

test("a fork inside of a commit is offered the ends that are near, and keeps what was edited", async () => {
  const page = await opened(done, "?at=5");
  await page.getByRole("button", { name: "Fork from event 5" }).click();
  const dialog = page.getByRole("dialog");
  await dialog.getByRole("combobox").first().selectOption("customer");
  await dialog.getByRole("textbox", { name: "customer" }).fill('"kim"');
  await dialog.getByRole("button", { name: "Fork", exact: true }).click();
  await dialog.getByRole("alert").getByText("stands inside one").waitFor();
  await dialog.getByRole("button", { name: "From event 4" }).click();
  await dialog.getByRole("heading", { name: "Fork from event 4" }).waitFor();
  assert.equal(await dialog.getByRole("textbox", { name: "customer" }).inputValue(), '"kim"');
  await dialog.getByRole("button", { name: "Fork", exact: true }).click();
  await page.waitForFunction((run) => location.hash.startsWith("#/run/") && !location.hash.includes(run), done);
  const fork = new URL(page.url()).hash.split("/")[2].split("?")[0];
  assert.equal((await world.api(`runs/${fork}`)).channels.customer, "kim");
  await closed(page);
});

test("a run that has ended is not offered a fork at its end, where none can be", async () => {
  const page = await opened(done);
  const fork = page.getByRole("button", { name: /^Fork from event/ });
  await fork.waitFor();
  assert.ok(await fork.isDisabled());
  await slideTo(page, 4);
  await page.getByRole("button", { name: "Fork from event 4" }).click();
  await page.getByRole("dialog").waitFor();
  await closed(page);
});

test("nothing is open in a run that has ended, also where its end closed a step", async () => {
  await world.addGraph(round);
  const run = await world.startRun("round");
  await world.isStatus(run, "failed");
  const page = await opened(run);
  await hasClass(page, "again", "been");
  await page.getByText(/^\d steps$/).waitFor();
  assert.equal(await page.locator(".line.open").count(), 0);
  assert.equal(await page.locator(".drawing .node.open").count(), 0);
  await page.keyboard.press("[");
  await page.locator(".line.open").waitFor(); // before its end the step was open
  await closed(page);
});

test("a map that ended with failures is lit along the way it took", async () => {
  const sub_goals = [{ id: "a", tool: "fail", inputs: { message: "No water.", times: 9 } }];
  const run = await world.startRun("plan_runner", { goal: "g", sub_goals });
  await world.isStatus(run, "failed");
  const page = await opened(run);
  await page.locator('[data-edge="run->close"][data-label="joined"].been').waitFor();
  await closed(page);
});

test("a step that is executed says where, and the line has its time without a fold", async () => {
  await world.addGraph(sleeper);
  const run = await world.startRun("sleeper");
  const page = await opened(run);
  await page.locator(".line.open", { hasText: /runs on \S+ \d+/ }).waitFor();
  await hasClass(page, "work", "open");
  const shape = node(page, "work").locator("polygon, ellipse, path").first();
  const moves = () => shape.evaluate((one) => getComputedStyle(one).animationName);
  assert.equal(await moves(), "breathe");
  await page.emulateMedia({ reducedMotion: "reduce" });
  assert.equal(await moves(), "none");
  const why = page.getByRole("list", { name: "Why" });
  await why.getByText("It is held by session").waitFor();
  assert.doesNotMatch(await why.innerText(), /\dT\d\d:/); // times are the reader's
  assert.match(await why.locator("time").first().getAttribute("title"), /\dT\d\d:\d\d:.*Z\)/);
  await page.waitForFunction(() => parseFloat(document.querySelector(".line-took.number")?.innerText) >= 2);
  assert.equal(await page.locator(".axis .fold").count(), 0);
  await world.api(`runs/${run}/cancel`, {});
  await closed(page);
});

test("a question is answered where the run stands, and the page goes on by itself", async () => {
  const run = await world.startRun("order", { customer: "cid" });
  const page = await opened(run, "?view=questions");
  await page.getByText("Approve the order?").first().waitFor();
  await page.getByRole("list", { name: "Why" }).getByText("approve, step 2").waitFor();
  await page.getByLabel("Yes").check();
  await page.getByLabel("Note").fill("by page");
  await page.getByRole("button", { name: "Answer" }).click();
  await page.locator(".run-title .status", { hasText: "done" }).waitFor();
  await hasClass(page, "over", "been");
  assert.deepEqual((await world.api(`runs/${run}`)).channels.approval, { ok: true, note: "by page" });
  await closed(page);
});

test("an answer that comes second says who was first", async () => {
  const run = await world.startRun("order", { customer: "dan" });
  const page = await opened(run, "?view=questions");
  await page.getByLabel("Yes").check();
  await page.route("**/runs/*", (route) => route.abort()); // the page does not learn of the other answer
  await world.api(`runs/${run}/answers`, { value: { ok: false }, by: "eva" });
  await page.getByRole("button", { name: "Answer" }).click();
  await page.getByText(/Expected .*answered/).first().waitFor();
  await page.context().close();
});

test("a call of a model is shown with its prompt, its reply, and what it cost", async () => {
  const run = await world.startRun("chat");
  await world.isStatus(run, "done");
  const page = await opened(run, "?view=models");
  const call = page.locator(".call button").first();
  await call.getByText("ask").waitFor();
  await call.click();
  await page.locator(".goal-detail").getByText("What is the sky?").waitFor();
  assert.ok(await call.evaluate((button) => button === document.activeElement), "the keyboard lost its place");
  await page.locator(".goal-detail .text").getByText("blue <b>").waitFor(); // the text of a message, not its JSON
  await isAccessible(page);
  await page.getByRole("button", { name: "Show this moment" }).click();
  await page.waitForFunction(() => /at=2/.test(location.hash));
  for (const colour of ["cost", "model"]) {
    await page.keyboard.press("1");
    await page.getByRole("button", { name: colour, exact: true }).click();
    await page.waitForFunction((word) => location.hash.includes(`colour=${word}`), colour);
  }
  await closed(page);
});

test("a run is paused, goes on and is cancelled", async () => {
  const run = await world.startRun("order", { customer: "fay" });
  const page = await opened(run);
  const status = page.locator(".run-title .status");
  await page.getByRole("button", { name: "Pause…" }).click();
  await page.getByRole("dialog").getByLabel("Reason").fill("<b>the desk moves</b>");
  await page.getByRole("button", { name: "Pause the run" }).click();
  await status.filter({ hasText: "paused" }).waitFor();
  await page.getByRole("list", { name: "Why" }).getByText("The reason given: <b>the desk moves</b>").waitFor();
  await page.getByRole("button", { name: "Resume…" }).click();
  await page.getByRole("button", { name: "Resume the run" }).click();
  await status.filter({ hasText: "waiting" }).waitFor();
  await page.getByRole("dialog").waitFor({ state: "hidden" }); // it takes the keys
  await page.keyboard.press("2");
  await page.getByText("<b>the desk moves</b>").first().waitFor();
  await page.getByRole("button", { name: "Cancel…" }).click();
  await page.getByRole("dialog").getByLabel("Reason").fill("not needed");
  await page.getByRole("button", { name: "Cancel the run" }).click();
  await status.filter({ hasText: "aborted" }).waitFor();
  await page.getByRole("list", { name: "Why" }).getByText("not needed").waitFor();
  await closed(page);
});

test("an event that came while another view was shown stands in words once the events are shown", async () => {
  const run = await world.startRun("order", { customer: "gil" });
  await world.isStatus(run, "waiting");
  const page = await opened(run);
  await page.locator(".run-title .status").filter({ hasText: "waiting" }).waitFor();
  await world.api(`runs/${run}/pause`, { reason: "the line is closed" });
  await page.getByRole("list", { name: "Why" }).getByText("the line is closed").waitFor();
  await page.waitForTimeout(1500); // all is read, and nothing else draws a row again
  await page.keyboard.press("2");
  await page.locator(".event-says").getByText("the line is closed").waitFor();
  await closed(page);
});

test("of very many channels all can be shown", async () => {
  const input = Object.fromEntries(Array.from({ length: 250 }, (_, n) => [`c${n}`, n]));
  const run = await world.startRun("order", { customer: "hal", ...input });
  await world.isStatus(run, "waiting");
  const page = await opened(run, "?view=channels");
  await page.getByRole("button", { name: /^\d+ more$/ }).click();
  await page.waitForFunction(() => document.querySelectorAll(".channels > .tree > li").length > 250);
  await closed(page);
});

test("the lineage says which runs came later than the moment", async () => {
  const { run: fork } = await world.api(`runs/${done}/fork`, { at: 4 });
  const page = await opened(done, "?view=lineage&at=3");
  const row = page.locator("table.list tbody tr").filter({ has: page.locator(`a[href="#/run/${fork}"]`) });
  await row.getByText(", later").waitFor();
  await page.keyboard.press("}");
  await row.getByText(", later").waitFor({ state: "detached" });
  await closed(page);
});

test("idle time between two attempts is folded, and the line of their step is as of the moment", async () => {
  await world.addGraph(twice);
  const run = await world.startRun("twice");
  await world.isStatus(run, "done");
  const { seq } = (await world.api(`runs/${run}/events`)).find((event) => event.type === "step_failed");
  const page = await opened(run);
  await page.locator(".axis .fold", { hasText: /≈ [23]/ }).waitFor();
  const line = page.locator("button.line", { hasText: "make" });
  await line.getByText("×2").waitFor();
  assert.match(await line.getAttribute("title"), /\nok$/);
  await page.keyboard.press("{");
  await page.keyboard.press("!");
  await page.waitForFunction((at) => location.hash.includes(`at=${at}`), seq);
  await line.getByText("×2").waitFor({ state: "detached" });
  assert.match(await line.getAttribute("title"), /\nerror: No water\.$/);
  await page.keyboard.press("]");
  await page.waitForFunction((at) => location.hash.includes(`at=${at}`), seq + 1);
  await closed(page);
});

test("tokens and cost of a call, and what a rule made of a decision, are read where they belong", async () => {
  await world.addGraph(far);
  const run = await world.startRun("far");
  const asked = { worker: "b", queues: ["far"], max: 1, handlers: [{ name: "far.work" }] };
  const claim = await until(async () => (await world.api("claims", asked)).claims[0], "a step to claim");
  const facts = [
    { type: "decision_proposed", action: "buy", target: "tea" },
    { type: "decision_rewritten", rule: "budget", from: "buy", to: "wait" },
    { type: "model_called", node: "do", model: "m1", tokens_in: 4000, tokens_out: 1000, cost: 0.5 },
  ];
  await world.api(`claims/${claim.claim}/complete`, { facts });
  await world.isStatus(run, "done");
  const page = await opened(run, "?view=events");
  await page.locator(".event", { hasText: "budget: buy became wait" }).waitFor();
  await page.keyboard.press("5");
  const call = page.locator(".call button").first();
  await call.getByText("4,000 in, 1,000 out").waitFor();
  assert.match(await call.innerText(), /cost 0\.500/);
  await page.keyboard.press("1");
  await page.getByRole("button", { name: "cost", exact: true }).click();
  await page.locator(".bar.cost-4").waitFor();
  assert.match(await page.locator("button.line").getAttribute("title"), /5000 tokens, cost 0\.500/);
  await page.keyboard.press("4");
  await page.getByRole("heading", { name: "No plan" }).waitFor();
  await page.keyboard.press("7");
  await page.locator("tr.chosen", { hasText: "this run" }).waitFor();
  await closed(page);
});

test("the statuses of a plan follow the slider", async () => {
  const sub_goals = [
    { id: "a", tool: "echo", inputs: { n: 1 } }, { id: "b", tool: "echo", inputs: { n: 2 }, after: ["a"] }];
  const run = await world.startRun("plan_runner", { goal: "g", sub_goals });
  await world.isStatus(run, "done");
  const events = await world.api(`runs/${run}/events`);
  const { seq } = events.find((event) => event.type === "sub_goal_closed" && event.sub_goal === "a");
  const page = await opened(run, "?view=plan");
  const succeeded = page.locator("button.goal", { hasText: "succeeded" });
  await succeeded.nth(1).waitFor();
  await slideTo(page, seq);
  await succeeded.nth(1).waitFor({ state: "detached" });
  assert.match(await succeeded.first().innerText(), /\ba\b/);
  await closed(page);
});

test("a fork takes what models said from the record, or goes by another graph", async () => {
  const forked = async (page, run) => {
    await page.getByRole("dialog").getByRole("button", { name: "Fork", exact: true }).click();
    await page.waitForFunction((from) => location.hash.startsWith("#/run/") && !location.hash.includes(from), run);
    const fork = new URL(page.url()).hash.split("/")[2].split("?")[0];
    await world.isStatus(fork, "done");
    return world.api(`runs/${fork}`);
  };
  const said = await world.startRun("chat");
  await world.isStatus(said, "done");
  const first = await opened(said, "?at=1");
  await first.getByRole("button", { name: "Fork from event 1" }).click();
  await first.getByLabel("say what they said in this run").check();
  const { output } = await world.api(`runs/${said}`);
  assert.deepEqual((await forked(first, said)).output, output); // no scripted reply is left
  await closed(first);

  const second = await opened(done, "?at=4");
  await second.getByRole("button", { name: "Fork from event 4" }).click();
  const dialog = second.getByRole("dialog");
  await dialog.getByRole("button", { name: "Edit the graph" }).click();
  const area = dialog.getByLabel("Graph", { exact: true });
  const graph = JSON.parse(await area.inputValue());
  graph.nodes.over.end.output = { by: "edit" };
  await area.fill(JSON.stringify(graph));
  await dialog.getByRole("combobox").nth(1).selectOption("q2");
  assert.deepEqual((await forked(second, done)).output, { by: "edit" });
  await closed(second);
});

test("a lineage that is longer than its first page leads to all of it", async () => {
  const page = await openPage(browser, "about:blank");
  await page.route(/runs\?lineage=/, async (route) => {
    const response = await route.fetch();
    await route.fulfill({ response, headers: { ...response.headers(), link: '<runs?after=x>; rel="next"' } });
  });
  await page.goto(`${world.url}#/run/${done}?view=lineage`);
  await page.getByRole("link", { name: "There are more: list all of them" }).click();
  await page.waitForFunction((run) => decodeURIComponent(location.hash) === `#/runs?where=lineage=${run}`, done);
  await page.locator(`table.runs a[href="#/run/${done}"]`).waitFor();
  await closed(page);
});

test("a run that was called stands in the lineage of its caller, and is compared from there", async () => {
  await world.addGraph(twice);
  await world.addGraph(caller);
  const run = await world.startRun("caller");
  await world.isStatus(run, "done");
  const page = await opened(run, "?view=lineage");
  const row = page.locator("table.list tbody tr", { hasText: "called by" });
  await row.getByText("twice").waitFor();
  await row.getByRole("link", { name: "Compare" }).click();
  await page.getByRole("region", { name: "The first event that differs" }).waitFor();
  await closed(page);
});

test("a run that is not there is said to be not there", async () => {
  const page = await opened("01890000-0000-7000-8000-000000000000");
  await page.getByRole("alert").getByText("Nothing is here").waitFor();
  await page.context().close();
});
