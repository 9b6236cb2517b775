// The inbox: questions with their forms, one winner who is shown to the others, at 390 pixels as well.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { openBrowser, openPage } from "./browser.mjs";
import { every, odd, order } from "./graphs.mjs";
import { isAccessible, picturesOf } from "./looks/look.mjs";
import { World } from "./world.mjs";

let world;
let browser;

before(async () => {
  world = await World.begin();
  await world.addGraph(order);
  await world.addGraph(every);
  await world.addGraph(odd);
  browser = await openBrowser();
});
after(async () => {
  await browser?.close();
  await world?.end();
});

const opened = (view = "#/inbox", options = {}, token = "") => openPage(browser, world.url + view, options, token);

async function asking(graph, ...more) {
  const run = await world.startRun(graph, { customer: "ann" }, ...more);
  await world.isStatus(run, "waiting");
  return run;
}

const questionOf = async (run) => (await world.api(`runs/${run}`)).questions[0].id;
const answerOf = async (run) => {
  const events = await world.api(`runs/${run}/events`);
  return events.find((event) => event.type === "question_answered");
};

test("without a question the page says so", async () => {
  const page = await opened();
  await page.getByRole("heading", { name: "Nothing waits for an answer" }).waitFor();
  await isAccessible(page);
  await page.context().close();
});

test("a question appears by itself, is answered by its form, and the run goes on", async () => {
  const page = await opened();
  await page.getByText("Nothing waits").waitFor();
  const run = await asking("order");
  await page.getByRole("heading", { name: "Approve the order?" }).waitFor();
  await page.getByRole("button", { name: "Answer", exact: true }).click();
  await page.getByText("Choose one, please.").first().waitFor();
  await page.getByLabel("Yes").check();
  await page.getByLabel("Note").fill("fine");
  await page.getByText("Sign with a name").click();
  await page.getByLabel("Your name").fill("Ann");
  await page.getByRole("button", { name: "Answer", exact: true }).click();
  await world.isStatus(run, "done");
  const { value, by } = await answerOf(run);
  assert.deepEqual([value, by], [{ ok: true, note: "fine" }, "Ann"]);
  await page.getByText("Answered by Ann").waitFor();
  assert.deepEqual(page.faults, []);
  await page.context().close();
});

test("every kind of field makes its value, and what does not fit is said at its field", async () => {
  const run = await asking("every");
  const page = await opened(`#/inbox/${run}/${await questionOf(run)}`);
  await page.getByLabel("Title").fill("ab");
  await page.getByLabel("Amount").fill("12.5");
  await page.getByLabel("Count").fill("1.5");
  await page.getByLabel("Address of mail").fill("nobody");
  await page.getByRole("button", { name: "Answer", exact: true }).click();
  for (const fault of ["At least 3 characters; here are 2.", "At most 10.", "A whole number, please.",
    "An address like ann@example.org, please.", "Choose one, please."])
    await page.getByText(fault).first().waitFor();
  await page.getByLabel("Title").fill("a title");
  await page.getByLabel("Amount").fill("9.5");
  await page.getByLabel("Count").fill("3");
  await page.getByLabel("Address of mail").fill("ann@example.org");
  await page.getByRole("radio", { name: "large" }).check();
  await page.getByRole("checkbox", { name: "green" }).check();
  await page.getByRole("checkbox", { name: "red" }).check();
  await page.getByLabel("City").fill("Oslo");
  await page.getByLabel("Anything").fill('{"deep": [1, 2]}');
  await isAccessible(page);
  await picturesOf(page, "inbox-form");
  await page.getByRole("button", { name: "Answer", exact: true }).click();
  await world.isStatus(run, "done");
  assert.deepEqual((await answerOf(run)).value, {
    title: "a title", amount: 9.5, count: 3, mail: "ann@example.org", size: "large", colours: ["red", "green"],
    address: { city: "Oslo" }, anything: { deep: [1, 2] },
  });
  await page.context().close();
});

test("references, alternatives, words with titles, null and a default make their values", async () => {
  const run = await asking("odd");
  const page = await opened(`#/inbox/${run}/${await questionOf(run)}`);
  assert.equal(await page.getByLabel("Code").inputValue(), "N1");
  assert.ok(await page.getByRole("radio", { name: "A text" }).isChecked());
  assert.equal(await page.locator(".nested textarea").first().inputValue(), "later");
  assert.ok(await page.getByRole("radio", { name: "low" }).isChecked());
  await page.getByRole("radio", { name: "The end" }).check();
  await page.getByRole("radio", { name: "high" }).check();
  await page.getByLabel("Code").fill("n1");
  await page.getByLabel("Several").fill('[{"a": 1}]');
  await page.getByRole("button", { name: "Answer", exact: true }).click();
  await page.getByText("It must match ^[A-Z][0-9]$.").waitFor();
  await page.getByLabel("Code").fill("S2");
  await isAccessible(page);
  await page.getByRole("button", { name: "Answer", exact: true }).click();
  await world.isStatus(run, "done");
  assert.deepEqual((await answerOf(run)).value,
    { reply: { end: true }, level: 2, note: null, place: { code: "S2" }, several: [{ a: 1 }] });
  await page.context().close();
});

test("a value that the server refuses is said in its words, and can be sent as JSON", async () => {
  const run = await asking("every");
  const page = await opened(`#/inbox/${run}/${await questionOf(run)}`);
  await page.getByRole("button", { name: "As JSON" }).click();
  const area = page.getByLabel("The whole as JSON");
  await area.fill("{");
  await page.getByRole("button", { name: "Answer", exact: true }).click();
  await page.getByRole("alert").filter({ hasText: "This is not JSON" }).waitFor();
  await area.fill('{"title": 5}');
  await area.press("Control+Enter");
  await page.getByRole("alert").filter({ hasText: "Expected" }).waitFor();
  await world.cairn("cancel", run);
  await page.getByText("It was closed without an answer: the run is aborted.").waitFor();
  await page.context().close();
});

test("what is written as JSON stands in the form, and what stands in the form is in the JSON", async () => {
  const run = await asking("every");
  const page = await opened(`#/inbox/${run}/${await questionOf(run)}`);
  const [asJson, asForm] = ["As JSON", "As a form"].map((name) => page.getByRole("button", { name }));
  const area = page.getByLabel("The whole as JSON");
  await page.getByLabel("Title").fill("a title");
  await page.getByLabel("Amount").fill("99"); // too much: what is right is taken all the same
  await asJson.click();
  assert.deepEqual(JSON.parse(await area.inputValue()), { title: "a title" });
  await asForm.click(); // a look alone takes nothing away
  assert.equal(await page.getByLabel("Amount").inputValue(), "99");
  await asJson.click();
  await area.fill('{"title": "ab", "size": "large", "colours": ["green", "red"], "address": {"city": "Oslo"}}');
  await asForm.click();
  assert.equal(await page.getByLabel("Title").inputValue(), "ab");
  assert.equal(await page.getByLabel("Amount").inputValue(), "");
  assert.ok(await page.getByRole("checkbox", { name: "green" }).isChecked());
  await asJson.click();
  await area.fill('{"title": "long", "more": 1}');
  await asForm.click();
  await page.getByRole("alert").filter({ hasText: "The form has no place for all of this." }).waitFor();
  await area.fill('{"title": "long"');
  await asForm.click();
  await page.getByRole("alert").filter({ hasText: "This is not JSON" }).waitFor();
  await area.fill('{"title": "a name", "size": "small", "address": {"city": "Rome"}}');
  await asForm.click();
  await page.getByRole("button", { name: "Answer", exact: true }).click();
  await world.isStatus(run, "done");
  assert.deepEqual((await answerOf(run)).value, { title: "a name", size: "small", address: { city: "Rome" } });
  assert.deepEqual(page.faults, []);
  await page.context().close();
});

test("one answer wins, and the others see whose it was", async () => {
  const run = await asking("order");
  const question = await questionOf(run);
  const view = `#/inbox/${run}/${question}`;
  const [first, second] = [await opened(view), await opened(view)];
  await second.getByLabel("Yes").check();
  await second.route("**/api/v1/questions*", (route) => route.abort()); // it does not hear that it was answered
  await first.getByLabel("No", { exact: true }).check();
  await first.getByRole("button", { name: "Answer", exact: true }).click();
  await world.isStatus(run, "done");
  await second.getByRole("button", { name: "Answer", exact: true }).click();
  const lost = second.getByRole("alert").filter({ hasText: "Your answer came second" });
  await lost.waitFor();
  assert.match(await lost.innerText(), /api/);
  await first.getByText(/Answered by/).first().waitFor();
  assert.equal((await answerOf(run)).value.ok, false);
  for (const page of [first, second]) await page.context().close();
});

test("j and k walk the questions, / filters them by their runs", async () => {
  const runs = [await asking("order", "--tag", "team=a"), await asking("order", "--tag", "team=b")];
  const page = await opened();
  await page.locator(".question-list li").nth(1).waitFor();
  await page.keyboard.press("j");
  await page.waitForFunction((run) => location.hash.includes(run), runs[0]);
  await page.keyboard.press("j");
  await page.waitForFunction((run) => location.hash.includes(run), runs[1]);
  await page.keyboard.press("k");
  await page.waitForFunction((run) => location.hash.includes(run), runs[0]);
  await page.keyboard.press("/");
  await page.keyboard.type("tag.team=b");
  await page.keyboard.press("Enter");
  await page.waitForFunction(() => document.querySelectorAll(".question-list li").length === 1);
  await picturesOf(page, "inbox");
  for (const run of runs) await world.cairn("cancel", run);
  await page.context().close();
});

test("a question says since when it is asked, when it expires and as what, and by which run of whom", async () => {
  await world.addGraph({
    name: "soon",
    start: "ask",
    limits: { steps: 5 },
    nodes: {
      ask: { ask: { kind: "k", prompt: "Soon?", default: { reply: "later" } }, expires_ms: 600_000,
        on: { answered: "over", expired: "over" } },
      over: { end: "done" },
    },
  });
  const run = await asking("soon", "--tag", "team=a");
  const page = await opened(`#/inbox/${run}/${await questionOf(run)}`);
  const facts = page.locator(".question-facts");
  await facts.getByText("just now").waitFor();
  await facts.getByText(/^expires in 9 min \d+ s$/).waitFor();
  await page.locator(".question-list").getByText(/^expires in 9 min/).waitFor();
  assert.match(await facts.innerText(), /then: .*later/);
  const context = page.getByRole("region", { name: "The run" });
  await context.getByText("team=a").waitFor();
  assert.match(await context.innerText(), /Started .+ by .+, asks\s+at ask in step 1, event 2/);
  await context.getByText("ann").first().waitFor(); // in its channels
  await world.cairn("cancel", run);
  await page.context().close();
});

test("at 390 pixels the list and the question take turns", async () => {
  const run = await asking("order");
  const page = await opened("#/inbox", { viewport: { width: 390, height: 800 } });
  await page.locator(".question-list a").click();
  await page.getByRole("heading", { name: "Approve the order?" }).waitFor();
  assert.equal(await page.locator(".question-list").isVisible(), false);
  const width = await page.evaluate(() => document.documentElement.scrollWidth);
  assert.ok(width <= 390, `the page is ${width} pixels wide`);
  await page.getByLabel("Yes").check();
  await page.getByRole("button", { name: "Answer", exact: true }).click();
  await world.isStatus(run, "done");
  await page.context().close();
});

test("a token that may only read gets no form", async () => {
  await asking("order");
  const page = await opened("#/inbox", {}, await world.addToken("reader", "read"));
  await page.getByText("Your token may read this question, but not answer it.").waitFor();
  assert.equal(await page.getByRole("button", { name: "Answer", exact: true }).count(), 0);
  assert.ok((await page.locator(".command-lines").innerText()).includes("$CAIRN_TOKEN"));
  await page.context().close();
});
