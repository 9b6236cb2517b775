// A command to all runs that match: what is acted on is what was counted. Views that are saved for all.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { openBrowser, openPage } from "./browser.mjs";
import { order } from "./graphs.mjs";
import { until, World } from "./world.mjs";

let world;
let browser;

before(async () => {
  world = await World.begin();
  await world.addGraph(order);
  browser = await openBrowser();
});
after(async () => {
  await browser?.close();
  await world?.end();
});

const many = (count, team) => {
  const runs = Array.from({ length: count }, () => ({ input: { customer: "ann" } }));
  return world.api("runs", { graph: "order", tags: { team }, runs });
};
const where = (text) => `${world.url}#/runs?where=${encodeURIComponent(text)}`;
const countOf = async (query) => (await world.api(`runs?${query}&limit=1000`)).length;

async function opened(text) {
  const page = await openPage(browser, where(text));
  await page.getByRole("button", { name: "Act on all that match…" }).click();
  return page;
}

test("what is acted on is what was counted, in several pieces, and what comes later is left alone", async () => {
  await many(430, "a");
  await many(3, "b");
  const page = await opened("tag.team=a");
  await page.getByText("430 runs match.").waitFor();
  await many(5, "a"); // after the count
  await page.getByLabel("Reason").fill("not needed");
  await page.getByRole("button", { name: "Cancel 430 runs" }).click();
  await page.getByText("430 of 430 runs").waitFor();
  await page.getByText("Now 430 aborted.").waitFor();
  await page.getByText("On record with each: not needed").waitFor();
  assert.equal(await countOf("tag=team%3Da&status=aborted"), 430);
  assert.equal(await countOf("tag=team%3Da"), 435);
  assert.equal(await countOf("tag=team%3Db&status=aborted"), 0);
  const [last] = await world.api("runs?tag=team%3Da&status=aborted&limit=1");
  assert.equal(last.reason, "not needed");
  await page.context().close();
});

test("a run that came to match since the count is left alone, also one that began before those counted", async () => {
  await many(4, "h");
  await until(async () => (await countOf("tag=team%3Dh&status=waiting")) === 4, "four runs that wait");
  const oldest = (await world.api("runs?tag=team%3Dh")).at(-1).run;
  await world.api(`runs/${oldest}/pause`, {});
  const page = await opened("tag.team=h,status=waiting");
  await page.getByText("3 runs match.").waitFor();
  await world.api(`runs/${oldest}/resume`, {});
  await world.isStatus(oldest, "waiting");
  await page.getByRole("button", { name: "Cancel 3 runs" }).click();
  await page.getByText("3 of 3 runs").waitFor();
  await page.getByText("Now 3 aborted.").waitFor();
  assert.equal((await world.api(`runs/${oldest}`)).status, "waiting");
  assert.deepEqual(page.faults, []);
  await page.context().close();
});

test("it is stopped between pieces, and says how many were left", async () => {
  await many(450, "c");
  const page = await opened("tag.team=c");
  await page.getByText("450 runs match.").waitFor();
  let pieces = 0;
  await page.route("**/api/v1/bulk", async (route) => {
    pieces += 1;
    if (pieces === 1) await page.getByRole("button", { name: "Stop" }).click();
    await route.continue();
  });
  await page.getByRole("button", { name: "Cancel 450 runs" }).click();
  await page.getByText("250 were left as they are").waitFor();
  assert.equal(await countOf("tag=team%3Dc&status=aborted"), 200);
  await page.context().close();
});

test("an until of so long ago lets no run in that came to be so old since the count", async () => {
  await many(3, "g");
  const page = await openPage(browser, where("tag.team=g,until=2s"));
  await page.locator("table.runs tbody tr").nth(2).waitFor();
  await page.getByRole("button", { name: "Act on all that match…" }).click();
  await page.getByText("3 runs match.").waitFor();
  await many(2, "g");
  await until(async () => (await countOf("tag=team%3Dg&until=2s")) === 5, "two more that are so old");
  await page.getByRole("button", { name: "Cancel 3 runs" }).click();
  await page.getByText("3 of 3 runs").waitFor();
  await page.getByText("Now 3 aborted.").waitFor();
  assert.equal(await countOf("tag=team%3Dg&status=aborted"), 3);
  await page.context().close();
});

test("runs that refuse are all listed, a hundred at a time", async () => {
  const page = await opened("tag.team=c,status=aborted");
  await page.getByRole("dialog").getByLabel("Command").selectOption("pause");
  await page.getByText("200 would be refused").click();
  await page.locator(".refusals li").first().getByText("Expected").waitFor();
  assert.equal(await page.locator(".refusals li").count(), 100);
  await page.getByRole("button", { name: "Show 100 more" }).click();
  await page.locator(".refusals li").nth(199).waitFor();
  assert.equal(await page.getByRole("button", { name: /^Show/ }).count(), 0);
  await page.context().close();
});

test("those that were refused stand there with their sentences once it is over, next to the sums", async () => {
  await many(2, "e");
  const [first] = await world.api("runs?tag=team%3De");
  await world.api(`runs/${first.run}/cancel`, { reason: "before" });
  const page = await opened("tag.team=e");
  await page.getByText("1 would be refused").waitFor();
  await page.getByRole("dialog").getByLabel("Reason").fill("<b>twice</b>");
  await page.getByLabel("At once, without the graph's cleanup").check();
  await page.getByRole("dialog").getByText("--now --dry-run").waitFor();
  await page.getByRole("button", { name: "Cancel 1 run", exact: true }).click();
  await page.getByText("Now 1 aborted.").waitFor();
  await page.getByText("1 was refused").waitFor();
  await page.locator(".refusals li").getByText("Expected").waitFor();
  assert.deepEqual((await world.api("runs?tag=team%3De")).map((run) => run.reason).sort(), ["<b>twice</b>", "before"]);
  assert.deepEqual(page.faults, []);
  await page.context().close();
});

test("the sums stay also when no run of the list matches any more", async () => {
  await many(3, "w");
  await until(async () => (await countOf("tag=team%3Dw&status=waiting")) === 3, "three runs that wait");
  const page = await opened("tag.team=w,status=waiting");
  await page.getByRole("button", { name: "Cancel 3 runs" }).click();
  await page.getByText("No run matches").waitFor();
  await page.getByRole("dialog").getByText("Now 3 aborted.").waitFor();
  await page.keyboard.press("Escape");
  await page.getByRole("dialog").waitFor({ state: "detached" });
  assert.deepEqual(page.faults, []);
  await page.context().close();
});

test("a reset is counted when its node is there, and its line does the same", async () => {
  await many(2, "f");
  await until(async () => (await countOf("tag=team%3Df&status=waiting")) === 2, "two runs that wait");
  const page = await opened("tag.team=f");
  const dialog = page.getByRole("dialog");
  await dialog.getByLabel("Command").selectOption("reset");
  assert.equal(await dialog.getByText(/runs? match/).count(), 0); // before it says to where
  await dialog.getByLabel("Node to begin again with").fill("check");
  await dialog.getByText("2 runs match.").waitFor();
  const shown = await dialog.getByLabel("The same in a terminal").innerText();
  const [, filter] = /^cairn reset --where (\S+) --to check --dry-run$/m.exec(shown);
  assert.match(await world.cairn("reset", "--where", filter, "--to", "check", "--dry-run"), /2/);
  await dialog.getByRole("button", { name: "Reset 2 runs" }).click();
  await page.getByText("2 of 2 runs").waitFor();
  assert.equal(await countOf("tag=team%3Df"), 4);
  await page.context().close();
});

test("pause and resume go over all that match", async () => {
  await many(4, "d");
  const page = await opened("tag.team=d");
  await page.getByRole("dialog").getByLabel("Command").selectOption("pause");
  await page.getByRole("dialog").getByLabel("Reason").fill("night");
  await page.getByRole("dialog").getByText("--reason night --dry-run").waitFor();
  await page.getByRole("button", { name: "Pause 4 runs" }).click();
  await page.getByText("Now 4 paused.").waitFor();
  await page.getByText("On record with each: night").waitFor();
  assert.equal(await countOf("tag=team%3Dd&status=paused"), 4);
  const [first] = await world.api("runs?tag=team%3Dd&limit=1");
  assert.equal((await world.api(`runs/${first.run}/events`)).at(-1).reason, "night");
  await page.context().close();
  const again = await opened("tag.team=d");
  await again.getByRole("dialog").getByLabel("Command").selectOption("resume");
  await again.getByRole("button", { name: "Resume 4 runs" }).click();
  await again.getByText("4 of 4 runs").waitFor();
  await until(async () => (await countOf("tag=team%3Dd&status=waiting")) === 4, "four runs that go on");
  await again.context().close();
});

test("a retry and a move go over all that match", async () => {
  const fails = { do: "tool.call", with: { tool: "fail", inputs: { message: "No water.", times: 9 } } };
  const frail = { name: "frail", start: "make", limits: { steps: 9 },
    nodes: { make: { ...fails, on: { ok: "over" } }, over: { end: "done" } } };
  await world.addGraph(frail);
  await world.api("runs", { graph: "frail", tags: { team: "r" }, runs: [{}, {}] });
  await until(async () => (await countOf("tag=team%3Dr&status=failed")) === 2, "two runs that failed");
  const page = await opened("tag.team=r");
  await page.getByRole("dialog").getByLabel("Command").selectOption("retry");
  await page.getByRole("button", { name: "Retry 2 runs" }).click();
  await page.getByText("2 of 2 runs").waitFor();
  for (const { run } of await world.api("runs?tag=team%3Dr")) {
    const failures = async () => (await world.api(`runs/${run}/events`)).filter(({ type }) => type === "step_failed");
    await until(async () => (await failures()).length === 2, "a second attempt");
  }
  await page.context().close();

  await many(2, "m");
  await until(async () => (await countOf("tag=team%3Dm&status=waiting")) === 2, "two runs that wait");
  const moving = await opened("tag.team=m");
  const dialog = moving.getByRole("dialog");
  await dialog.getByLabel("Command").selectOption("move");
  await dialog.getByLabel("Graph to move to, as JSON").fill(JSON.stringify({ ...order, description: "Another." }));
  await moving.getByRole("button", { name: "Move 2 runs" }).click();
  await moving.getByText("2 of 2 runs").waitFor();
  const [moved, other] = await world.api("runs?tag=team%3Dm");
  assert.equal(moved.version, other.version);
  assert.equal((await world.api(`graphs/${moved.version}`)).description, "Another.");
  await moving.context().close();
});

test("a view is saved for all, shown to others, and removed", async () => {
  const page = await openPage(browser, where("graph=order,tag.team=d"));
  await page.getByRole("button", { name: "Save this view…" }).click();
  await page.getByLabel("Name").fill("Team d <b>");
  await page.getByRole("button", { name: "Save", exact: true }).click();
  await page.getByText("The view Team d <b> is saved for all.").waitFor();
  const other = await openPage(browser, world.url);
  await other.getByRole("link", { name: "Team d <b>" }).click();
  await other.waitForFunction(() => decodeURIComponent(location.hash).includes("graph=order,tag.team=d"));
  assert.equal(await other.getByRole("combobox").inputValue(), "graph=order,tag.team=d");
  await other.getByRole("button", { name: "Remove the view Team d <b>" }).click();
  await other.getByRole("link", { name: "Team d <b>" }).waitFor({ state: "detached" });
  assert.deepEqual(await world.api("views"), []);
  await other.context().close();
  await page.context().close();
});
