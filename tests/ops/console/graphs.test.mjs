// Graphs: the list, the picture, a text that is checked while it is written, versions, differences, a start.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { openBrowser, openPage } from "./browser.mjs";
import { order } from "./graphs.mjs";
import { isAccessible, picturesOf } from "./looks/look.mjs";
import { World } from "./world.mjs";

let world;
let browser;
let run;

before(async () => {
  world = await World.begin();
  await world.addGraph(order);
  run = await world.startRun("order", { customer: "ann" });
  await world.isStatus(run, "waiting");
  browser = await openBrowser();
});
after(async () => {
  await browser?.close();
  await world?.end();
});

const opened = (view, options = {}, token = "") => openPage(browser, world.url + view, options, token);
const area = (page) => page.getByLabel("The graph's text");

test("the list has every graph, is narrowed by letters, and walked by keys", async () => {
  const page = await opened("#/runs");
  await page.locator("table.runs").waitFor();
  await page.keyboard.press("g");
  await page.keyboard.press("h");
  await page.getByRole("link", { name: "plan_runner", exact: true }).waitFor();
  await isAccessible(page);
  await picturesOf(page, "graphs");
  await page.keyboard.press("/");
  await page.keyboard.type("ord");
  await page.waitForFunction(() => document.querySelectorAll("table.graphs tbody tr").length === 1);
  await page.keyboard.press("Escape");
  await page.keyboard.press("j");
  await page.keyboard.press("Enter");
  await page.waitForFunction(() => location.hash === "#/graph/order");
  assert.deepEqual(page.faults, []);
  await page.context().close();
});

test("the picture is the server's, and a node of it is read", async () => {
  const page = await opened("#/graph/order");
  await page.locator('[data-node="approve"]').click();
  await page.getByRole("region", { name: "Node approve" }).getByText("Approve the order?").waitFor();
  assert.match(await page.evaluate(() => location.hash), /node=approve/);
  await isAccessible(page);
  await picturesOf(page, "graph-picture");
  await page.context().close();
});

test("a fault is said at its line while the text is written, and keys are offered where they may stand", async () => {
  const page = await opened("#/graph/order?show=text");
  await page.getByText("No fault").waitFor();
  const text = await area(page).inputValue();
  await area(page).fill(text.replace('"error": "refused"', '"error": "refusd"'));
  const fault = page.locator(".faults li").filter({ hasText: 'there is no "refusd" (did you mean refused?)' });
  await fault.waitFor();
  const line = Number((await fault.getByRole("button").innerText()).replace("Line ", ""));
  const lines = (await area(page).inputValue()).split("\n");
  assert.match(lines[line - 1], /refusd/);
  assert.equal(await page.locator(".code-numbers .fault").innerText(), String(line));
  await picturesOf(page, "graph-text");
  await isAccessible(page);
  await area(page).fill('{"name": "order", ');
  await page.getByText("This is not JSON").waitFor();
  await page.getByRole("button", { name: "limits", exact: true }).click();
  assert.equal(await area(page).inputValue(), '{"name": "order", "limits": ');
  await page.keyboard.press("Tab");
  assert.equal(await area(page).inputValue(), '{"name": "order", "limits":   ');
  await page.keyboard.press("Escape");
  await page.keyboard.press("Tab");
  assert.notEqual(await page.evaluate(() => document.activeElement.tagName), "TEXTAREA");
  assert.ok(await page.getByRole("button", { name: "Add as a version" }).isDisabled());
  await page.context().close();
});

test("a version is added, the difference is shown, and the older one is made current again", async () => {
  const page = await opened("#/graph/order?show=text");
  await page.getByText("No fault").waitFor();
  const text = await area(page).inputValue();
  await area(page).fill(text.replace("Approve the order?", "Approve it?"));
  await page.getByRole("button", { name: "Add as a version" }).click();
  await page.getByText(/order is current in version/).waitFor();
  await page.locator(".graph-head .status", { hasText: "current" }).waitFor();
  await page.getByRole("button", { name: "Undo all changes" }).waitFor({ state: "hidden" });
  await page.getByRole("link", { name: "Versions" }).click();
  await page.locator("table.versions tbody tr").nth(1).waitFor();
  await page.locator("table.versions tbody tr").nth(1).getByRole("link", { name: /1.*waiting/ }).waitFor();
  await isAccessible(page);
  await picturesOf(page, "graph-versions");
  await page.getByRole("link", { name: "Difference to the one before" }).click();
  await page.locator(".is-removed", { hasText: "Approve the order?" }).waitFor();
  await page.locator(".is-added", { hasText: "Approve it?" }).waitFor();
  await page.getByText("1 line added, 1 removed.").waitFor();
  await isAccessible(page);
  await picturesOf(page, "graph-difference");
  await page.getByRole("link", { name: "Versions" }).click();
  await page.getByRole("button", { name: "Make current" }).click();
  await page.getByText(/New runs of order take version/).waitFor();
  const prompt = (await world.api("graphs/order")).nodes.approve.ask.prompt;
  assert.equal(prompt, "Approve the order?");
  await page.context().close();
});

test("a text that is being changed stays when another version is added", async () => {
  const page = await opened("#/graph/order?show=text");
  await page.getByText("No fault").waitFor();
  const text = await area(page).inputValue();
  await area(page).fill(text.replace("Approve the order?", "Mine?"));
  await page.keyboard.press("Escape");
  const other = await world.api("graphs/order");
  other.nodes.approve.ask.prompt = "Theirs?";
  await world.api("graphs", other);
  await page.keyboard.press("r");
  const back = page.getByRole("link", { name: /^not current: show the current version/ });
  await back.waitFor();
  assert.match(await area(page).inputValue(), /Mine\?/);
  await back.click();
  await page.waitForFunction(() => document.querySelector(".code-area textarea")?.value.includes("Theirs?"));
  await world.api("graphs", { ...other, nodes: { ...other.nodes, approve: JSON.parse(text).nodes.approve } });
  assert.deepEqual(page.faults, []);
  await page.context().close();
});

test("a text that is being changed stays while other parts and pages are looked at, until it is undone", async () => {
  const page = await opened("#/graph/order?show=text");
  await page.getByText("No fault").waitFor();
  const text = await area(page).inputValue();
  await area(page).fill(text.replace("Approve the order?", "Mine still?"));
  await page.getByRole("link", { name: "Versions" }).click();
  await page.locator("table.versions").waitFor();
  await page.getByRole("link", { name: "Text changed" }).click();
  await page.waitForFunction(() => document.querySelector(".code-area textarea")?.value.includes("Mine still?"));
  await page.getByRole("link", { name: "Inbox" }).click();
  await page.getByRole("heading", { name: "Inbox" }).waitFor();
  await page.evaluate(() => (location.hash = "#/graph/order?show=text"));
  await page.waitForFunction(() => document.querySelector(".code-area textarea")?.value.includes("Mine still?"));
  await page.reload();
  await page.waitForFunction(() => document.querySelector(".code-area textarea")?.value.includes("Mine still?"));
  await page.getByRole("button", { name: "Undo all changes" }).click();
  assert.equal(await area(page).inputValue(), text);
  await page.getByRole("link", { name: "Text", exact: true }).waitFor();
  assert.deepEqual(page.faults, []);
  await page.context().close();
});

test("which runs are under a version is read again while it is looked at", async () => {
  const page = await opened("#/graph/order?show=versions");
  const counts = page.locator("table.versions .run-counts");
  await counts.getByText(/waiting/).first().waitFor();
  assert.equal(await counts.getByText(/aborted/).count(), 0);
  await world.api(`runs/${run}/cancel`, { reason: "not needed" });
  await counts.getByText(/1.*aborted/).first().waitFor();
  assert.deepEqual(page.faults, []);
  await page.context().close();
});

test("a picture that is too small to be read is shown in its own size", async () => {
  const names = Array.from({ length: 14 }, (_, n) => `branch_number_${n}`);
  const call = (tool) => ({ do: "tool.call", with: { tool, inputs: {} } });
  const branches = names.map((name) => [name, { ...call("echo"), on: { ok: "over", error: "over" } }]);
  const nodes = { split: { ...call("echo"), on: { ok: names[0], error: names.slice(1) } } };
  await world.addGraph({ name: "broad", start: "split", limits: { steps: 40 },
    nodes: { ...nodes, ...Object.fromEntries(branches), over: { end: "done" } } });
  const page = await opened("#/graph/broad");
  const widthOf = () => page.locator(".drawing svg").evaluate((svg) => svg.getBoundingClientRect().width);
  await page.getByRole("button", { name: "Readable size" }).waitFor();
  const whole = await widthOf();
  await page.getByRole("button", { name: "Readable size" }).click();
  await page.getByRole("button", { name: "Whole picture" }).waitFor();
  assert.ok(await widthOf() > whole * 1.2);
  await isAccessible(page);
  await picturesOf(page, "graph-broad");
  await page.context().close();
});

test("a run is started by the form of the graph's input", async () => {
  const page = await opened("#/graph/order?show=start");
  await page.getByRole("button", { name: "Start a run" }).click();
  await page.getByText("This is needed.").waitFor();
  await page.getByLabel("Customer").fill("joe");
  await page.getByLabel("Amount").fill("3");
  await page.getByRole("radio", { name: "small" }).check();
  await page.getByText("Tags and a key").click();
  await page.getByLabel("Tags").fill("team=z");
  await isAccessible(page);
  await picturesOf(page, "graph-start");
  await page.getByRole("button", { name: "Start a run" }).click();
  await page.waitForFunction(() => location.hash.startsWith("#/run/"));
  const [started] = await world.api("runs?tag=team%3Dz");
  const { input } = await world.api(`runs/${started.run}`);
  assert.deepEqual(input, { customer: "joe", amount: 3, size: "small" });
  await page.context().close();
});

test("a new graph is written from a first one that has no fault", async () => {
  const page = await opened("#/graphs");
  await page.getByRole("link", { name: "New graph" }).click();
  await page.getByText("No fault").waitFor();
  await page.getByRole("button", { name: "Add as a version" }).click();
  await page.waitForFunction(() => location.hash.startsWith("#/graph/hello"));
  await page.getByRole("heading", { name: "hello" }).waitFor();
  assert.deepEqual(page.faults, []);
  await page.context().close();
});

test("a graph that is not there is said not to be", async () => {
  const page = await opened("#/graph/nowhere");
  await page.getByText("There is no graph named nowhere.").waitFor();
  await page.context().close();
});

test("a token that may only read writes nothing and starts nothing", async () => {
  const page = await opened("#/graph/order?show=text", {}, await world.addToken("reader", "read"));
  await area(page).waitFor();
  assert.equal(await area(page).getAttribute("readonly"), "");
  assert.equal(await page.getByRole("button", { name: "Add as a version" }).count(), 0);
  assert.equal(await page.getByRole("link", { name: "Start", exact: true }).count(), 0);
  await page.context().close();
});

test("of a built-in graph only an admin is offered another text, or an earlier one", async () => {
  const text = JSON.parse(await world.cairn("graph", "show", "plan_runner"));
  await world.addGraph({ ...text, description: "Ours." });
  const buttons = (page) => page.getByRole("button", { name: /^(Add as a version|Make current)$/ });
  for (const [name, count] of [["operate", 0], ["admin", 1]]) {
    const page = await opened("#/graph/plan_runner?show=text", {}, await world.addToken(name, "read", "run", name));
    await area(page).waitFor();
    assert.equal(await buttons(page).count(), count, name);
    await page.getByRole("link", { name: "Versions" }).click();
    await page.locator("table.versions tbody tr").nth(1).waitFor();
    assert.equal(await buttons(page).count(), count, name);
    await page.context().close();
  }
});
