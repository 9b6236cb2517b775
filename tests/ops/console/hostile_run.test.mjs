// Text that means harm, in every field of a run: it is shown as text and changes nothing of the page.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { openBrowser, openPage } from "./browser.mjs";
import { far } from "./graphs.mjs";
import { until, World } from "./world.mjs";

const script = "<script>window.harmed = 1</script><img src=x onerror=\"window.harmed = 1\">";
const turned = "\u202Eabc\u2066 right to left";
const escapes = "\"></a>'`${window.harmed = 1}\\u003cb\\u003e &lt;b&gt; %3Cb%3E \u001b[31m";
const long = "x".repeat(1_000_000);
const texts = [script, turned, escapes];

const graph = {
  name: "hostile",
  start: "ask",
  limits: { steps: 10 },
  nodes: {
    ask: {
      ask: {
        kind: script,
        prompt: `${script} ${turned} ${escapes}`,
        schema: {
          type: "object",
          title: script,
          properties: { [script]: { type: "string", title: script, description: turned }, b: { enum: texts } },
        },
      },
      expires_ms: 86400000,
      on: { answered: "fail", expired: "fail" },
    },
    fail: {
      do: "tool.call",
      with: { tool: "fail", inputs: { message: `${script} ${turned} ${escapes}` } },
      on: { ok: "over", error: "none" },
    },
    over: { end: "done" },
    none: { end: { status: "failed", reason: `${script} ${turned}` } },
  },
};

let world;
let browser;
let run;

before(async () => {
  world = await World.begin();
  await world.addGraph(graph);
  const input = { a: script, [script]: turned, deep: { [escapes]: [script, escapes] }, long };
  const tags = { [escapes]: script, t: turned };
  const started = await world.api("runs", { graph: "hostile", key: script, tags, input });
  run = started.run;
  await world.isStatus(run, "waiting");
  browser = await openBrowser();
});
after(async () => {
  await browser?.close();
  await world?.end();
});

async function isHarmless(page) {
  assert.equal(await page.evaluate(() => window.harmed), undefined);
  assert.equal(await page.locator("img").count(), 0);
  assert.equal(await page.locator("body script").count(), 0);
  assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), "wider than the window");
  assert.deepEqual(page.faults, []);
}

test("the list of runs", async () => {
  const page = await openPage(browser, world.url);
  await page.locator("table.runs").getByText("window.harmed").first().waitFor();
  await isHarmless(page);
  await page.getByRole("combobox").fill("tag.");
  await page.getByRole("option").first().waitFor();
  await isHarmless(page);
  await page.context().close();
});

test("every view of the run, before and after the answer", async () => {
  const page = await openPage(browser, `${world.url}#/run/${run}`);
  const views = ["timeline", "events", "channels", "plan", "models", "questions", "lineage"];
  const visit = async () => {
    for (const view of views) {
      await page.evaluate((to) => (location.hash = to), `#/run/${run}?view=${view}`);
      await page.getByRole("region", { name: /./ }).first().waitFor();
      await page.waitForLoadState("networkidle");
      await isHarmless(page);
    }
  };
  await visit();
  await page.evaluate((to) => (location.hash = to), `#/run/${run}?view=questions`);
  await page.locator(".questions form input[type=text]").first().fill(script);
  await page.getByRole("button", { name: "Answer" }).click();
  await page.locator(".run-title .status", { hasText: "failed" }).waitFor();
  await visit();
  await page.evaluate((to) => (location.hash = to), `#/run/${run}?view=channels`);
  await page.getByRole("button", { name: /all [\d,.]+ characters/ }).first().waitFor();
  await page.context().close();
});

test("its link, and the dialogs of a fork and of many runs", async () => {
  const input = { [script]: turned };
  const { run: other } = await world.api("runs", { graph: "hostile", tags: { t: escapes }, input });
  await world.isStatus(other, "waiting");
  const page = await openPage(browser, `${world.url}#/run/${other}`);
  await page.getByRole("button", { name: /^Fork/ }).click();
  await page.getByRole("dialog").getByRole("combobox").first().selectOption(script);
  await page.getByRole("dialog").getByRole("textbox", { name: script }).waitFor();
  await isHarmless(page);
  await page.goto(`${world.url}#/runs?where=${encodeURIComponent(`tag.t=${escapes.replaceAll(",", "\\,")}`)}`);
  await page.getByRole("button", { name: "Act on all that match…" }).click();
  await page.getByRole("dialog").getByLabel("Reason").fill(script + turned + escapes);
  await page.getByRole("dialog").getByText("1 run matches.").waitFor();
  await isHarmless(page);
  const { address } = await world.api(`runs/${other}/links`, {});
  await page.goto(world.url + address);
  await page.getByText("window.harmed").first().waitFor();
  await isHarmless(page);
  await page.context().close();
});

test("a plan and calls of models", async () => {
  await world.addGraph(far);
  const { run: worked } = await world.api("runs", { graph: "far" });
  const asked = { worker: "b", queues: ["far"], max: 1, handlers: [{ name: "far.work" }] };
  const claim = await until(async () => (await world.api("claims", asked)).claims[0], "a step to claim");
  const said = { role: script, content: `${script} ${turned} ${escapes}` };
  const facts = [
    { type: "sub_goal_opened", sub_goal: "a", title: script, inputs: { [escapes]: script }, after: [] },
    { type: "decision_rewritten", rule: script, from: escapes, to: turned },
    { type: "model_called", node: script, model: escapes, request: { messages: [said] }, reply: said, ok: false,
      error: script, message: turned },
  ];
  await world.api(`claims/${claim.claim}/complete`, { facts });
  await world.isStatus(worked, "done");
  const page = await openPage(browser, `${world.url}#/run/${worked}?view=events`);
  await page.getByText("became").waitFor();
  await isHarmless(page);
  for (const [view, list] of [["plan", ".plan"], ["models", ".calls"]]) {
    await page.evaluate((to) => (location.hash = to), `#/run/${worked}?view=${view}`);
    await page.locator(`${list} button`).first().click();
    await page.locator(`${list} .goal-detail`).waitFor();
    await page.locator(list).getByText("window.harmed").first().waitFor();
    await isHarmless(page);
  }
  await page.context().close();
});

test("a fork of it, compared", async () => {
  const fork = await world.api(`runs/${run}/fork`, { at: 2, set: { a: escapes } });
  const page = await openPage(browser, `${world.url}#/compare/${run}/${fork.run}`);
  await page.getByRole("heading", { name: "Compare" }).waitFor();
  await page.getByRole("region", { name: /^Channels/ }).waitFor();
  await isHarmless(page);
  await page.context().close();
});

test("the address", async () => {
  const coded = encodeURIComponent(script);
  for (const view of [`#/${script}`, `#/run/${coded}`, `#/runs?where=${coded}`, "#/run/%", "#/answer?token=%00",
    `#/compare/${coded}`]) {
    const page = await openPage(browser, world.url + view);
    await page.locator(".state").first().waitFor();
    assert.equal(await page.evaluate(() => window.harmed), undefined);
    assert.deepEqual(page.faults, [], view);
    await page.context().close();
  }
});
