// A link by which one question is answered without a token; and a token: asked for once, kept for the session, and what
// it may not do is not offered.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { openBrowser, openPage } from "./browser.mjs";
import { order } from "./graphs.mjs";
import { isAccessible } from "./looks/look.mjs";
import { until, World } from "./world.mjs";

let world;
let browser;
const tokens = {};

before(async () => {
  world = await World.begin();
  await world.addGraph(order);
  browser = await openBrowser();
});
after(async () => {
  await browser?.close();
  await world?.end();
});

async function asking(name) {
  const run = await world.startRun("order", { customer: name });
  await until(async () => (await world.cairn("questions", "--json")).includes(run), "an open question");
  return run;
}

async function linkTo(run) {
  const page = await openPage(browser, `${world.url}#/run/${run}?view=questions`);
  await page.getByRole("button", { name: "Make a link…" }).click();
  await page.getByRole("dialog").getByLabel("For").fill("ann@example.com");
  await page.getByRole("button", { name: "Make the link" }).click();
  const link = await page.getByLabel("The link").inputValue();
  await page.context().close();
  return link;
}

test("a link answers its question at 390 pixels, once", async () => {
  const run = await asking("ann");
  const link = await linkTo(run);
  const page = await openPage(browser, link, { viewport: { width: 390, height: 800 } });
  await page.getByText("Approve the order?").waitFor();
  assert.equal(await page.getByRole("navigation").count(), 0);
  assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth));
  await page.getByLabel("Yes").check();
  await page.getByLabel("Note").fill("by link");
  await page.getByRole("button", { name: "Answer" }).click();
  await page.getByText("Answered. The run goes on.").waitFor();
  await world.isStatus(run, "done");
  const second = await openPage(browser, link);
  await second.getByText("This question is closed").waitFor();
  await second.getByText("link:ann@example.com").waitFor();
  assert.deepEqual(page.faults, []);
  await page.context().close();
  await second.context().close();
});

test("a link's page has the lines that show and answer its question elsewhere", async () => {
  const run = await asking("dot");
  const link = await linkTo(run);
  const page = await openPage(browser, link);
  await page.getByText("As commands").click();
  const lines = page.locator(".command-lines");
  await lines.getByText(`cairn answer ${run} --question q2 --value JSON`).waitFor();
  const token = new URLSearchParams(new URL(link).hash.split("?")[1]).get("token");
  const shown = await lines.innerText();
  const [, address, body] = /curl -s (\S+) -H 'Content-Type: application\/json' -d '(.*)'/.exec(shown);
  assert.equal(body, JSON.stringify({ token }));
  const headers = { "Content-Type": "application/json" };
  const answer = await (await fetch(address, { method: "POST", headers, body })).json();
  assert.equal(answer.run, run);
  assert.deepEqual(page.faults, []);
  await page.context().close();
});

test("a link is copied also over plain HTTP, where a page has no clipboard, or said not to be", async () => {
  const run = await asking("eli");
  const page = await openPage(browser, "about:blank");
  await page.addInitScript(() => Object.defineProperty(Navigator.prototype, "clipboard", { get: () => undefined }));
  await page.goto(`${world.url}#/run/${run}?view=questions`);
  await page.getByRole("button", { name: "Make a link…" }).click();
  await page.getByRole("button", { name: "Make the link" }).click();
  const link = await page.getByLabel("The link").inputValue();
  await page.getByRole("button", { name: "Copy the link" }).click();
  await page.getByRole("button", { name: "Copied", exact: true }).waitFor();
  await page.evaluate(() => (document.execCommand = () => false));
  await page.getByRole("button", { name: "Copied", exact: true }).click();
  await page.getByRole("button", { name: "Not copied" }).waitFor();
  await page.keyboard.press("Escape");
  await page.getByRole("dialog").waitFor({ state: "detached" });
  await page.getByLabel("Note").focus();
  await page.keyboard.press("Control+V");
  assert.equal(await page.getByLabel("Note").inputValue(), link);
  assert.deepEqual(page.faults, []);
  await page.context().close();
});

test("a link that was changed opens nothing", async () => {
  const link = await linkTo(await asking("bob"));
  const page = await openPage(browser, `${link}x`);
  await page.getByRole("alert").getByText("Expected the whole link").waitFor();
  await page.context().close();
});

test("a reader of a link sees by itself that another one was first", async () => {
  const run = await asking("cid");
  const page = await openPage(browser, await linkTo(run));
  await page.getByLabel("Yes").check();
  await page.keyboard.press("/"); // leads nowhere from a link
  assert.match(page.url(), /#\/answer/);
  await world.api(`runs/${run}/answers`, { value: { ok: false }, by: "eva" });
  await page.getByText("This question is closed").waitFor();
  await page.getByText("eva").waitFor();
  assert.deepEqual(page.faults, []);
  await page.context().close();
});

test("the server asks for a token: the page asks for it once and keeps it for the session", async () => {
  for (const [name, roles] of [["reads", ["read"]], ["runs", ["read", "run"]],
    ["operates", ["read", "operate", "run", "answer"]]]) {
    const more = roles.flatMap((role) => ["--role", role]);
    tokens[name] = (await world.cairn("token", "add", name, ...more)).split("\n")[0];
  }
  await until(async () => (await fetch(`${world.url}api/v1/runs`)).status === 401, "a token to be asked for");
  const page = await openPage(browser, world.url);
  await page.getByLabel("Token").fill("cairn_wrong");
  await page.getByRole("button", { name: "Go on" }).click();
  await page.getByText("The server does not know this token.").waitFor();
  await isAccessible(page);
  await page.getByLabel("Token").fill(tokens.reads);
  await page.getByRole("button", { name: "Go on" }).click();
  await page.locator("table.runs").waitFor();
  await page.reload();
  await page.locator("table.runs").waitFor();
  assert.equal(await page.getByLabel("Token").count(), 0);
  await page.getByText("token:reads").waitFor();
  assert.match(await page.locator(".command-lines").innerText(), /Authorization: Bearer \$CAIRN_TOKEN/);
  assert.ok(!(await page.content()).includes(tokens.reads));
  await page.context().close();
});

async function withToken(token, view) {
  const page = await openPage(browser, world.url);
  await page.getByLabel("Token").fill(token);
  await page.getByRole("button", { name: "Go on" }).click();
  await page.locator("table.runs").waitFor();
  await page.evaluate((to) => (location.hash = to), view);
  await page.locator(".run-title").waitFor();
  return page;
}

test("what a token may not do is not offered", async () => {
  const headers = { Authorization: `Bearer ${tokens.operates}` };
  const [run] = await (await fetch(`${world.url}api/v1/runs?status=waiting`, { headers })).json();
  const reads = await withToken(tokens.reads, `#/run/${run.run}?view=questions`);
  await reads.getByText("Your token does not allow answers.").waitFor();
  for (const name of [/^Fork/, "Pause", "Cancel", "Answer", "Make a link…"])
    assert.equal(await reads.getByRole("button", { name }).count(), 0, String(name));
  const operates = await withToken(tokens.operates, `#/run/${run.run}?view=questions`);
  for (const name of [/^Fork/, "Pause", "Cancel", "Answer", "Make a link…"])
    assert.equal(await operates.getByRole("button", { name }).count(), 1, String(name));
  const runs = await withToken(tokens.runs, `#/run/${run.run}`);
  for (const [page, count] of [[runs, 0], [operates, 1]]) {
    await page.getByRole("button", { name: /^Fork/ }).click();
    await page.getByRole("dialog").getByText("Change a channel…").first().waitFor({ state: "attached" });
    await page.waitForLoadState("networkidle");
    assert.equal(await page.getByRole("button", { name: "Edit the graph" }).count(), count);
  }
  for (const page of [reads, runs, operates]) await page.context().close();
});

test("pages that a token with a scope is refused are not offered", async () => {
  const printed = await world.cairn("token", "add", "narrow", "--role", "read", "--scope", "graph=order");
  const page = await openPage(browser, world.url, {}, printed.split("\n")[0]);
  await page.getByText("token:narrow").waitFor();
  const offered = await page.getByRole("navigation", { name: "Pages" }).getByRole("link").allInnerTexts();
  assert.deepEqual(offered, ["Runs", "Inbox", "Queues", "Workers", "Graphs", "Proof"]);
  await page.keyboard.press("g");
  await page.keyboard.press("s");
  await page.keyboard.press("g");
  await page.keyboard.press("w");
  await page.getByRole("heading", { name: "Workers" }).waitFor();
  const refused = [];
  page.on("response", (response) => response.status() === 403 && refused.push(response.url()));
  for (const [, link] of Object.entries(offered)) {
    await page.getByRole("navigation", { name: "Pages" }).getByRole("link", { name: link }).click();
    await page.waitForLoadState("networkidle");
  }
  assert.deepEqual(refused, []);
  await page.context().close();
});

test("a token with a scope of queues is offered no change of schedules, nor asks for what it is refused", async () => {
  const headers = { Authorization: `Bearer ${tokens.operates}`, "Content-Type": "application/json" };
  const body = JSON.stringify({ name: "weekly", graph: "order", cron: ["0 9 * * MON"], input: { customer: "ann" } });
  assert.equal((await fetch(`${world.url}api/v1/schedules`, { method: "POST", headers, body })).status, 201);
  const roles = ["read", "operate"].flatMap((role) => ["--role", role]);
  const printed = await world.cairn("token", "add", "queued", ...roles, "--scope", "queue=default");
  const page = await openPage(browser, world.url, {}, printed.split("\n")[0]);
  const refused = [];
  page.on("response", (response) => response.status() === 403 && refused.push(response.url()));
  await page.locator("table.runs").waitFor();
  await page.waitForLoadState("networkidle");
  await page.evaluate(() => (location.hash = "#/schedules"));
  await page.locator("table.schedules").getByText("weekly").waitFor();
  assert.equal(await page.getByRole("button", { name: "New schedule…" }).count(), 0);
  await page.evaluate(() => (location.hash = "#/schedules/weekly"));
  await page.getByRole("heading", { name: "Next times" }).waitFor();
  for (const name of ["Run now…", "Pause…", "Edit…", "Backfill…", "Remove…"])
    assert.equal(await page.getByRole("button", { name }).count(), 0, name);
  assert.deepEqual(refused, []);
  await page.context().close();
});
