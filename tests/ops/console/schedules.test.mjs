// Schedules: their list, a new one, its next times, what can be done with one, and what is on record of it.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { openBrowser, openPage } from "./browser.mjs";
import { order } from "./graphs.mjs";
import { isAccessible, picturesOf } from "./looks/look.mjs";
import { World } from "./world.mjs";

let world;
let browser;

before(async () => {
  world = await World.begin({ withWorker: false });
  await world.addGraph(order);
  browser = await openBrowser();
});
after(async () => {
  await browser?.close();
  await world?.end();
});

const opened = (view, options = {}, token = "") =>
  openPage(browser, world.url + view, { timezoneId: "Europe/Berlin", ...options }, token);
const part = (page, name) => page.getByRole("region", { name });
const press = (page, name) => page.getByRole("button", { name, exact: true }).click();

test("a schedule is added by a form, which says what is missing, and has its next ten times in words", async () => {
  const page = await opened("#/schedules");
  await page.getByRole("heading", { name: "No schedule is here" }).waitFor();
  await press(page, "New schedule…");
  const dialog = page.getByRole("dialog");
  await dialog.getByLabel("Name").fill("weekly");
  await dialog.getByLabel("Graph").selectOption({ label: "order" });
  await press(page, "Add it");
  await dialog.getByRole("alert").getByText(/Expected .*cron/).waitFor();
  await dialog.getByLabel("Cron lines").fill("0 9 * * MON");
  await dialog.getByLabel("Input").fill('{"customer": "ann"}');
  await dialog.getByLabel("Tags").fill("team=a");
  assert.equal(await dialog.getByLabel("Zone").inputValue(), "Europe/Berlin");
  await isAccessible(page);
  await press(page, "Add it");
  await page.getByRole("heading", { name: "weekly", exact: true }).waitFor();
  await page.getByText("Mondays at 09:00 in Europe/Berlin: starts").waitFor();
  const times = part(page, "Next times").locator("tbody tr");
  await times.nth(9).waitFor();
  for (const text of await times.locator("td:first-child").allInnerTexts()) assert.match(text, /^20.* 09:00 CES?T$/);
  const { input, tags } = await world.api("schedules/weekly");
  assert.deepEqual([input, tags], [{ customer: "ann" }, { team: "a" }]);
  assert.deepEqual(page.faults, []);
  await page.context().close();
});

test("it is run now, and its history names the run", async () => {
  const page = await opened("#/schedules/weekly");
  await press(page, "Run now…");
  await press(page, "Run now");
  await page.getByText("1 started.").waitFor();
  const started = part(page, "History").getByRole("row").filter({ hasText: "started" });
  const href = await started.getByRole("link").getAttribute("href");
  await page.getByRole("definition").getByRole("link").first().waitFor();
  await isAccessible(page);
  await picturesOf(page, "schedule");
  await started.getByRole("link").click();
  await page.locator(".run-title").waitFor();
  assert.ok(page.url().endsWith(href));
  await page.context().close();
});

test("a pause has its reason, and is taken back", async () => {
  const page = await opened("#/schedules/weekly");
  await press(page, "Pause…");
  await page.getByLabel("Reason").fill("<b>stocktaking</b>");
  await press(page, "Pause");
  await page.getByText("by api: <b>stocktaking</b>").or(page.locator(".schedule-paused")).first().waitFor();
  assert.match(await page.locator(".schedule-paused").innerText(), /<b>stocktaking<\/b>/);
  assert.equal((await world.api("schedules/weekly")).paused.reason, "<b>stocktaking</b>");
  await press(page, "Resume…");
  await press(page, "Resume");
  await page.locator(".schedule-paused").waitFor({ state: "detached" });
  await page.context().close();
});

test("it says why it did not run on a day, also by its address", async () => {
  const page = await opened("#/schedules/weekly");
  await page.getByLabel("A day or a time in its zone").fill("2020-11-23");
  await press(page, "Explain");
  await page.getByText("had passed when the schedule was added").waitFor();
  await page.reload();
  await page.getByText("had passed when the schedule was added").waitFor();
  await page.getByLabel("A day or a time in its zone").fill("some day");
  await press(page, "Explain");
  await part(page, "Why").getByText(/Expected .*some day/).waitFor();
  await page.context().close();
});

test("the runs that an explanation names are links to them", async () => {
  const every = { name: "yearly", graph: "order", every_ms: 3_600_000, input: { customer: "ann" } };
  await world.api("schedules", every);
  await world.cairn("schedule", "trigger", "yearly");
  const [started] = await world.api("runs?tag=schedule%3Dyearly");
  const page = await opened("#/schedules/yearly");
  await page.getByLabel("A day or a time in its zone").fill(new Date(started.started_at).toISOString().slice(0, 10));
  await press(page, "Explain");
  await part(page, "Why").getByRole("link", { name: started.run }).click();
  await page.waitForFunction((run) => location.hash === `#/run/${run}`, started.run);
  await world.cairn("schedule", "remove", "yearly");
  assert.deepEqual(page.faults, []);
  await page.context().close();
});

test("an edit is refused if another one came before it", async () => {
  const page = await opened("#/schedules/weekly");
  await press(page, "Edit…");
  const lines = page.getByLabel("Cron lines");
  await lines.fill("30 9 * * MON");
  await world.api("schedules/weekly", { jitter_ms: 5000 });
  await press(page, "Save");
  await page.getByRole("dialog").getByText(/revision/).waitFor();
  await page.keyboard.press("Escape");
  await page.getByText("revision 2").waitFor();
  await press(page, "Edit…");
  await lines.fill("30 9 * * MON");
  await press(page, "Save");
  await page.getByText("Mondays at 09:30 in Europe/Berlin: starts").waitFor();
  const { jitter_ms, revision, input } = await world.api("schedules/weekly");
  assert.deepEqual([jitter_ms, revision, input], [5000, 3, { customer: "ann" }]);
  await page.context().close();
});

test("times of the past are filled in, and what came of it is said", async () => {
  const page = await opened("#/schedules/weekly");
  await press(page, "Backfill…");
  await press(page, "Backfill");
  await page.getByRole("dialog").getByRole("alert").filter({ hasText: /\S/ }).first().waitFor();
  await page.getByLabel("From").fill("2026-11-02");
  await page.getByLabel("Until").fill("2026-11-10");
  await page.getByLabel("Overlap").selectOption({ label: "Start it as well" });
  await press(page, "Backfill");
  await page.getByText("2 started.").waitFor();
  assert.equal((await world.api("runs?tag=schedule%3Dweekly")).length, 3);
  await page.context().close();
});

test("the list has all of them, by keys as well, and a token that may only read is offered no change", async () => {
  await world.api("schedules", { name: "often", graph: "order", every_ms: 900_000, input: { customer: "bob" } });
  const page = await opened("#/runs");
  await page.locator("main").waitFor();
  await page.keyboard.press("g");
  await page.keyboard.press("s");
  await page.locator("table.schedules tbody tr").nth(1).waitFor();
  await isAccessible(page);
  await picturesOf(page, "schedules");
  await page.keyboard.press("j");
  await page.keyboard.press("Enter");
  await page.getByRole("heading", { name: "often", exact: true }).waitFor();
  await page.context().close();
  const reading = await opened("#/schedules/often", {}, await world.addToken("reader", "read"));
  await reading.getByRole("heading", { name: "often", exact: true }).waitFor();
  await part(reading, "Next times").getByRole("row").nth(10).waitFor();
  assert.equal(await reading.getByRole("button", { name: /Run now|Pause|Edit|Remove|Backfill/ }).count(), 0);
  await reading.context().close();
});

test("one that is removed starts nothing more, and its history stays", async () => {
  const token = await world.addToken("operator", "read", "operate");
  const page = await opened("#/schedules/often", {}, token);
  await press(page, "Remove…");
  await press(page, "Remove");
  await page.getByText("The schedule often is removed.").waitFor();
  await page.locator("table.schedules tbody tr").first().waitFor();
  assert.equal(await page.locator("table.schedules tbody tr").count(), 1);
  assert.deepEqual(page.faults, []);
  await page.context().close();
});
