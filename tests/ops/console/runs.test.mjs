// The list of runs: what it shows, its filter, its keys, and that it follows what happens.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { openBrowser, openPage } from "./browser.mjs";
import { dry, order } from "./graphs.mjs";
import { World } from "./world.mjs";

let world;
let browser;
const runs = [];

before(async () => {
  world = await World.begin();
  await world.addGraph(order);
  await world.addGraph(dry);
  for (const team of ["a", "b"]) runs.push(await world.startRun("order", { customer: "ann" }, "--tag", `team=${team}`));
  runs.push(await world.startRun("dry"));
  await world.isStatus(runs[2], "failed");
  await world.isStatus(runs[0], "waiting");
  browser = await openBrowser();
});
after(async () => {
  await browser?.close();
  await world?.end();
});

const opened = (view = "") => openPage(browser, world.url + view);
const rows = (page) => page.locator("table.runs tbody tr");

test("the newest runs come first, each with its status, reason and tags", async () => {
  const page = await opened();
  await rows(page).nth(2).waitFor();
  const first = await rows(page).nth(0).innerText();
  assert.match(first, /failed[\s\S]*dry[\s\S]*No coffee today\. \(make: error: No water\.\)/);
  assert.match(await rows(page).nth(2).innerText(), /waiting[\s\S]*order[\s\S]*team=a/);
  assert.deepEqual(page.faults, []);
  await page.context().close();
});

test("each status has the number of its runs, as the server counts them", async () => {
  const page = await opened();
  await page.getByRole("button", { name: /^waiting\s*2$/ }).waitFor();
  await page.getByRole("button", { name: /^failed\s*1$/ }).waitFor();
  await page.context().close();
});

test("times are the reader's, with the exact one on hover", async () => {
  const page = await openPage(browser, world.url, { timezoneId: "Asia/Kathmandu" });
  const { started_at: at } = (await world.api("runs")).find(({ run }) => run === runs[2]);
  const time = page.locator(`time[datetime="${at}"]`).first();
  await time.waitFor();
  const title = await time.getAttribute("title");
  assert.ok(title.includes("GMT+5:45") && title.endsWith(`(${at})`), title);
  await page.context().close();
});

test("tags are completed, their keys and their values", async () => {
  const page = await opened();
  await rows(page).nth(2).waitFor();
  await page.keyboard.press("/");
  const field = page.getByRole("combobox");
  await field.fill("tag.te");
  await page.getByRole("option", { name: "tag.team" }).click();
  assert.equal(await field.inputValue(), "tag.team=");
  await page.getByRole("option", { name: /^b\b/ }).click();
  await page.waitForFunction(() => location.hash === "#/runs?where=tag.team%3Db");
  await page.waitForFunction(() => document.querySelectorAll("table.runs tbody tr").length === 1);
  await page.context().close();
});

test("on a narrow screen a reason has the whole width", async () => {
  const page = await opened();
  await page.setViewportSize({ width: 400, height: 900 });
  const failed = rows(page).filter({ hasText: "No coffee today" });
  await failed.waitFor();
  const row = await failed.boundingBox();
  const reason = await failed.locator(".says").boundingBox();
  assert.ok(reason.width > 0.9 * row.width, `${reason.width} of ${row.width}`);
  await page.context().close();
});

test("a filter is taken from the address and kept in it, completed from what is known", async () => {
  const page = await opened(`#/runs?where=${encodeURIComponent("graph=order,tag.team=a")}`);
  await rows(page).first().waitFor();
  assert.equal(await rows(page).count(), 1);
  await page.keyboard.press("/");
  const field = page.getByRole("combobox");
  await field.fill("gra");
  await page.getByRole("option", { name: "graph" }).waitFor();
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("Enter");
  assert.equal(await field.inputValue(), "graph=");
  await page.getByRole("option", { name: "dry" }).click();
  await page.waitForFunction(() => location.hash === "#/runs?where=graph%3Ddry");
  await rows(page).filter({ hasText: "No coffee" }).waitFor();
  await page.goBack();
  await rows(page).filter({ hasText: "team=a" }).waitFor();
  await page.context().close();
});

test("a filter that means nothing is refused in the server's words", async () => {
  const page = await opened("#/runs?where=colour%3Dred");
  await page.getByRole("alert").filter({ hasText: "colour" }).waitFor();
  await page.context().close();
});

test("j, k and Enter walk the list and open a run", async () => {
  const page = await opened();
  await rows(page).nth(2).waitFor();
  for (const key of ["j", "j", "j", "k"]) await page.keyboard.press(key);
  assert.equal(await page.locator("tr.chosen").getAttribute("data-row"), "1");
  await page.keyboard.press("Enter");
  await page.waitForFunction((run) => location.hash === `#/run/${run}`, runs[1]);
  await page.getByRole("heading", { name: "order" }).waitFor();
  await page.context().close();
});

test("older runs that are shown stay while newer ones start", async () => {
  const many = [];
  for (let n = 0; n < 52; ++n) many.push(await world.startRun("order", { customer: "ann" }, "--tag", "team=many"));
  const page = await opened("#/runs?where=tag.team%3Dmany");
  await rows(page).nth(49).waitFor();
  await page.getByRole("button", { name: "Older runs" }).click();
  await rows(page).nth(51).waitFor();
  for (let n = 0; n < 3; ++n) many.push(await world.startRun("order", { customer: "ann" }, "--tag", "team=many"));
  await rows(page).nth(54).waitFor();
  assert.equal(await rows(page).count(), many.length);
  await page.context().close();
});

test("a run that is started appears by itself", async () => {
  const page = await opened("#/runs?where=tag.team%3Dlate");
  await page.getByText("No run matches").waitFor();
  await world.startRun("dry", {}, "--tag", "team=late");
  await rows(page).filter({ hasText: "failed" }).waitFor();
  await page.context().close();
});

test("a server that goes away is said to be away, and what was shown stays until it is back", async () => {
  const page = await opened();
  await rows(page).nth(2).waitFor();
  await world.stopServer();
  await page.getByText("The server does not answer.").waitFor();
  assert.ok((await rows(page).count()) >= 3);
  await world.serve();
  await page.getByText("The server does not answer.").waitFor({ state: "detached" });
  await page.context().close();
});
