// Hooks: their list, a new one, its notices with what was answered, and what can be done with one and with a notice.
import assert from "node:assert/strict";
import { createServer } from "node:http";
import { after, before, test } from "node:test";
import { openBrowser, openPage } from "./browser.mjs";
import { dry } from "./graphs.mjs";
import { isAccessible, picturesOf } from "./looks/look.mjs";
import { until, World } from "./world.mjs";

let world;
let browser;

// A receiver that answers as it is told to.
const receiver = { status: 204, seen: [] };
const server = createServer((asked, answer) => {
  let body = "";
  asked.on("data", (piece) => (body += piece));
  asked.on("end", () => {
    receiver.seen.push(JSON.parse(body));
    answer.writeHead(receiver.status).end();
  });
});

before(async () => {
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  receiver.url = `http://127.0.0.1:${server.address().port}/in`;
  world = await World.begin();
  await world.addGraph(dry);
  browser = await openBrowser();
});
after(async () => {
  await browser?.close();
  await world?.end();
  server.close();
});

const opened = (view, token = "") => openPage(browser, world.url + view, {}, token);
const part = (page, name) => page.getByRole("region", { name });
const press = (page, name) => page.getByRole("button", { name, exact: true }).click();
const notices = (page) => page.locator("table.notices-of tbody tr");
const hookIs = (name, condition) =>
  until(async () => condition(await world.api(`hooks/${name}`)), `the hook ${name} to be so`);

test("a hook is added by a form, which says what is missing, and is said in words", async () => {
  const page = await opened("#/hooks");
  await page.getByRole("heading", { name: "No hook is here" }).waitFor();
  await isAccessible(page);
  await press(page, "New hook…");
  const dialog = page.getByRole("dialog");
  await dialog.getByLabel("Name").fill("chat");
  await dialog.getByLabel("URL", { exact: true }).fill("somewhere");
  await press(page, "Add it");
  await dialog.getByText("An address like https://example.org, please.").waitFor();
  await dialog.getByLabel("URL", { exact: true }).fill(receiver.url);
  await dialog.getByLabel("A run has ended").check();
  await dialog.getByLabel("A run stands still").check();
  await dialog.getByLabel("Graph").selectOption({ label: "dry" });
  await dialog.getByLabel("Tags").fill("desk=1");
  await dialog.getByLabel("a private network").check();
  await dialog.getByLabel("Attempts").fill("2");
  await dialog.getByLabel("First pause").fill("0.01");
  await press(page, "Add it");
  await dialog.getByRole("alert").getByText(/Expected the time after which a run stands still/).waitFor();
  await isAccessible(page);
  await dialog.getByLabel("Stands still after").fill("3600");
  await press(page, "Add it");
  await page.getByRole("heading", { name: "chat", exact: true }).waitFor();
  assert.equal(await page.locator(".hook-words").innerText(),
    `Sends to ${receiver.url} when a run has ended or stands still, of graph dry, tagged desk=1.`);
  await part(page, "Notices").getByText("Nothing has happened yet that it is about.").waitFor();
  const { on, graph, tags, attempts, backoff_ms, stalled_after_ms, ordered } = await world.api("hooks/chat");
  assert.deepEqual([on, graph, tags], [["ended", "stalled"], "dry", { desk: "1" }]);
  assert.deepEqual([attempts, backoff_ms, stalled_after_ms, ordered], [2, 10, 3_600_000, false]);
  assert.deepEqual(page.faults, []);
  await page.context().close();
});

test("the end of a run becomes a notice, with its answer, and leads to its event", async () => {
  const page = await opened("#/hooks/chat");
  const run = await world.startRun("dry", {}, "--tag", "desk=1");
  const row = notices(page).filter({ hasText: "run ended" });
  await row.getByText("delivered").waitFor();
  assert.match(await row.innerText(), /1 of 2[^]*204/);
  await row.getByRole("link").click();
  await page.locator(".run-title").waitFor();
  assert.match(page.url(), new RegExp(`#/run/${run}\\?at=\\d+&view=events$`));
  await page.context().close();
});

test("a test shows what was answered, and a failure says why", async () => {
  const page = await opened("#/hooks/chat");
  await press(page, "Send a test…");
  await press(page, "Send it");
  await page.getByRole("dialog").getByText("It was answered with 204.").waitFor();
  await page.keyboard.press("Escape");
  assert.equal(receiver.seen.at(-1).type, "dev.cairn.hook.test");
  receiver.status = 404;
  await press(page, "Send a test…");
  await press(page, "Send it");
  await page.getByRole("dialog").getByText("The receiver answered 404.").waitFor();
  await isAccessible(page);
  await page.keyboard.press("Escape");
  await hookIs("chat", (hook) => hook.parked === 1);
  await page.locator(".page-head .status", { hasText: "parked" }).waitFor();
  await page.context().close();
});

test("what is parked is sent again, one or all, or passed over; the address says what is seen", async () => {
  await world.startRun("dry", {}, "--tag", "desk=1");
  await hookIs("chat", (hook) => hook.parked === 2);
  const page = await opened("#/hooks/chat");
  await page.getByRole("button", { name: /^parked 2/ }).click();
  await notices(page).nth(1).waitFor();
  assert.ok(page.url().endsWith("#/hooks/chat?status=parked"));
  assert.match(await page.locator(".command-lines").innerText(), /cairn hook show chat --status parked --limit 50/);
  await isAccessible(page);
  await picturesOf(page, "hook-parked");
  await notices(page).filter({ hasText: "test" }).getByRole("button", { name: /^Pass over/ }).click();
  await press(page, "Pass over");
  await page.getByText(/^test\/chat\/\d+ will not be sent\.$/).waitFor();
  await notices(page).filter({ hasText: "test" }).waitFor({ state: "detached" });
  await notices(page).getByRole("button", { name: /^Send again/ }).click();
  await page.getByText(/\/\d+ will be sent again\.$/).waitFor();
  await hookIs("chat", (hook) => hook.parked === 1 && hook.waiting === 0);
  receiver.status = 204;
  await press(page, "Send parked again…");
  await page.getByText("1 notice will be sent again, with 2 attempts each.").waitFor();
  await press(page, "Send parked again");
  await part(page, "Notices").getByText("No notice is parked.").waitFor();
  await press(page, "all");
  await notices(page).filter({ hasText: "delivered" }).nth(2).waitFor();
  assert.equal(await notices(page).filter({ hasText: "skipped" }).count(), 1);
  const kinds = await part(page, "History").locator("tbody .status").allInnerTexts();
  for (const kind of ["added", "tested", "parked", "skipped", "resent"])
    assert.ok(kinds.some((text) => text.includes(kind)), kind);
  await page.context().close();
});

test("a pause has its reason, keeps what happens, and is taken back", async () => {
  const page = await opened("#/hooks/chat");
  await press(page, "Pause…");
  await page.getByLabel("Reason").fill("<b>the receiver moves</b>");
  await press(page, "Pause");
  await page.locator(".hook-paused").waitFor();
  assert.match(await page.locator(".hook-paused").innerText(), /by api: <b>the receiver moves<\/b>/);
  await world.startRun("dry", {}, "--tag", "desk=1");
  await notices(page).getByText("when it is resumed").waitFor();
  await press(page, "Resume…");
  await page.getByText("What waits is sent: 1 notice.").waitFor();
  await press(page, "Resume");
  await page.locator(".hook-paused").waitFor({ state: "detached" });
  await hookIs("chat", (hook) => hook.waiting === 0);
  await page.context().close();
});

test("an edit changes what was changed in the form alone", async () => {
  const page = await opened("#/hooks/chat");
  await press(page, "Edit…");
  const dialog = page.getByRole("dialog");
  await press(page, "Save");
  await dialog.getByText("Nothing is changed yet.").waitFor();
  await world.api("hooks/chat", { attempts: 7 });
  await dialog.getByLabel("In order").check();
  await dialog.getByLabel("Answer within").fill("3.5");
  await press(page, "Save");
  await page.locator(".hook-words", { hasText: "tagged desk=1, in order." }).waitFor();
  const { attempts, timeout_ms, ordered, url, on } = await world.api("hooks/chat");
  assert.deepEqual([attempts, timeout_ms, ordered, url], [7, 3500, true, receiver.url]);
  assert.deepEqual(on, ["ended", "stalled"]);
  await part(page, "History").getByText("as it was then").first().click();
  await part(page, "History").getByText("3500").waitFor();
  assert.deepEqual(page.faults, []);
  await page.context().close();
});

test("the list says how each stands, by keys as well", async () => {
  const to = { url: receiver.url, private: true };
  await world.api("hooks", { name: "away", url: "http://127.0.0.1:9/", private: true, on: ["failed"], attempts: 1 });
  await world.api("hooks", { name: "quiet", ...to, on: ["waits"] });
  await world.api("hooks/quiet/pause", { reason: "night" });
  await world.cairn("hook", "add", "desk", "--on", "failed", "--tag", "desk=9", "--command", "true");
  await world.startRun("dry", {}, "--tag", "desk=1");
  await hookIs("away", (hook) => hook.parked === 1);
  const page = await opened("#/runs");
  await page.locator("main").waitFor();
  await page.keyboard.press("g");
  await page.keyboard.press("k");
  const row = (name) => page.locator("table.hooks tbody tr").filter({ has: page.getByRole("link", { name }) });
  await row("away").getByText("parked").first().waitFor();
  await row("quiet").getByText("paused").waitFor();
  await row("chat").getByText("delivered").waitFor();
  await row("desk").getByText("none").waitFor();
  assert.match(await page.locator(".command-lines").innerText(), /cairn hook list/);
  await isAccessible(page);
  await picturesOf(page, "hooks-list");
  await page.keyboard.press("j");
  await page.keyboard.press("j");
  await page.keyboard.press("Enter");
  await page.getByRole("heading", { name: "chat", exact: true }).waitFor();
  assert.deepEqual(page.faults, []);
  await page.context().close();
});

test("all notices of a hook are read, page by page, and the address says which page", async () => {
  for (let n = 0; n < 51; n += 1) await world.api("hooks/quiet/test", {});
  const page = await opened("#/hooks/quiet");
  await notices(page).nth(49).waitFor();
  assert.equal(await page.getByRole("button", { name: "Newest" }).count(), 0);
  await part(page, "Notices").getByRole("button", { name: "Older" }).click();
  await page.getByRole("button", { name: "Newest" }).waitFor();
  await notices(page).first().waitFor();
  assert.equal(await notices(page).count(), 1);
  assert.match(page.url(), /#\/hooks\/quiet\?after=/);
  assert.match(await page.locator(".command-lines").innerText(), /cairn hook show quiet --limit 50 --after/);
  await isAccessible(page);
  await press(page, "Newest");
  await notices(page).nth(49).waitFor();
  assert.deepEqual(page.faults, []);
  await page.context().close();
});

test("a hook with a command is edited without its command", async () => {
  const page = await opened("#/hooks/desk");
  await page.locator(".hook-words", { hasText: 'Runs "true" when a run has failed, tagged desk=9.' }).waitFor();
  await press(page, "Edit…");
  assert.equal(await page.getByRole("dialog").getByLabel("URL").count(), 0);
  await page.getByRole("dialog").getByLabel("Attempts").fill("3");
  await press(page, "Save");
  await page.getByText("3, then it is parked").waitFor();
  assert.equal((await world.api("hooks/desk")).command, "true");
  await page.context().close();
});

test("one that is removed sends nothing more, and its history stays at its address", async () => {
  const page = await opened("#/hooks/away");
  await press(page, "Remove…");
  await page.getByText("what waits or is parked goes with it: 1.").waitFor();
  await press(page, "Remove");
  await page.getByText("The hook away is removed.").waitFor();
  await page.locator("table.hooks").waitFor();
  assert.equal(await page.getByRole("link", { name: "away" }).count(), 0);
  await page.goto(`${world.url}#/hooks/away`);
  await part(page, "History").getByText("removed").waitFor();
  await page.getByText("Expected a hook, but none is named").waitFor();
  await page.goto(`${world.url}#/hooks/never`);
  await page.getByText("Expected a hook, but none is named").waitFor();
  assert.equal(await part(page, "History").count(), 0);
  await page.context().close();
});

test("a server that goes away leaves what was seen, and is found again", async () => {
  const page = await opened("#/hooks/chat");
  await notices(page).first().waitFor();
  await page.route("**/api/v1/hooks/**", (route) => route.abort());
  await page.getByText("The server does not answer.").waitFor();
  await notices(page).first().waitFor();
  await page.unroute("**/api/v1/hooks/**");
  await page.getByText("The server does not answer.").waitFor({ state: "detached" });
  await page.context().close();
});

test("a token is offered what it may do alone", async () => {
  const reading = await opened("#/hooks/chat", await world.addToken("reader", "read"));
  await notices(reading).first().waitFor();
  assert.equal(await reading.getByRole("button", { name: /Pause|Edit|Remove|Send|Pass/ }).count(), 0);
  await reading.context().close();
  const operating = await opened("#/hooks/chat", await world.addToken("operator", "read", "operate"));
  await operating.getByRole("button", { name: "Send a test…" }).waitFor();
  assert.equal(await operating.getByRole("button", { name: /Edit|Remove/ }).count(), 0);
  await operating.goto(`${world.url}#/hooks`);
  await operating.locator("table.hooks").waitFor();
  assert.equal(await operating.getByRole("button", { name: "New hook…" }).count(), 0);
  await operating.context().close();
  const printed = await world.cairn("token", "add", "narrow", "--role", "admin", "--scope", "graph=dry");
  const narrow = await opened("#/hooks", printed.split("\n")[0]);
  await narrow.getByRole("heading", { name: "Your token does not allow this" }).waitFor();
  assert.equal(await narrow.getByRole("button", { name: "New hook…" }).count(), 0);
  await narrow.context().close();
});
