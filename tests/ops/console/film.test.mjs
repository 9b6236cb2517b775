// A film strip of six pictures: a failed run is found among many, its fault is seen, it is forked before the fault, and
// the two are compared. CAIRN_RUNS says among how many.
import assert from "node:assert/strict";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { openBrowser, openPage, pictures } from "./browser.mjs";
import { until, World } from "./world.mjs";

const many = Number(process.env.CAIRN_RUNS ?? 2_000);
const order = {
  name: "order",
  start: "price",
  limits: { steps: 10 },
  input: { type: "object", properties: { customer: { type: "string" }, amount: { type: "integer" } } },
  nodes: {
    price: { do: "data.set", with: { set: { total: "$amount" } }, on: { ok: "check" } },
    check: { do: "data.test", with: { if: { lt: ["$total", 1000] } }, on: { true: "bill", false: "refused" } },
    bill: { do: "data.set", with: { set: { billed: true } }, on: { ok: "over" } },
    over: { end: { status: "done", output: { total: { $: "total" } } } },
    refused: { end: { status: "failed", reason: "The amount is too high for this customer." } },
  },
};

let world;
let browser;

before(async () => {
  world = await World.begin();
  await world.addGraph(order);
  for (let begun = 0; begun < many; begun += 1000) {
    const runs = Array.from({ length: Math.min(1000, many - begun) }, (_, n) => {
      const place = begun + n;
      return { input: { customer: `c${place}`, amount: place === Math.floor(many / 3) ? 123_400 : 10 + (place % 90) } };
    });
    await world.api("runs", { graph: "order", tags: { day: String(begun / 1000) }, runs });
  }
  const failed = async () => (await world.api("runs?status=failed")).length === 1;
  await until(failed, "the run that fails", 100_000 + 3 * many);
  const running = async () => (await world.api("runs?status=running&limit=1")).length;
  await until(async () => (await running()) === 0, "all runs to end", 100_000 + 3 * many);
  browser = await openBrowser();
});
after(async () => {
  await browser?.close();
  await world?.end();
});

test("found, seen, forked, compared", async () => {
  const page = await openPage(browser, "about:blank", { viewport: { width: 1280, height: 800 } });
  let picture = 0;
  const take = async () => {
    picture += 1;
    await page.waitForLoadState("networkidle");
    await page.screenshot({ path: join(pictures, `film-${picture}.png`) });
  };
  const began = Date.now();
  await page.goto(world.url);
  await page.locator("table.runs tbody tr").first().waitFor();
  const first = Date.now() - began;
  await take();
  const filtered = Date.now();
  await page.keyboard.press("/");
  await page.keyboard.type("status=failed");
  await page.keyboard.press("Enter");
  await page.getByText("The amount is too high").waitFor();
  console.log(JSON.stringify({ runs: many, first, filtered: Date.now() - filtered }));
  await take();
  await page.keyboard.press("Escape");
  await page.keyboard.press("j");
  await page.keyboard.press("Enter");
  await page.locator("[data-node=refused].been").waitFor();
  await take();
  await page.keyboard.press("3");
  await page.keyboard.press("{");
  await page.locator(".tree").getByText("123400").first().waitFor();
  await take();
  await page.getByRole("button", { name: "Fork from event 1" }).click();
  const dialog = page.getByRole("dialog");
  await dialog.getByRole("combobox").first().selectOption("amount");
  await dialog.getByRole("textbox", { name: "amount" }).fill("234");
  await take();
  await dialog.getByRole("button", { name: "Fork", exact: true }).click();
  await page.locator(".run-title .status", { hasText: "done" }).waitFor();
  await page.getByRole("link", { name: /forked at event 1/ }).click();
  await page.getByRole("region", { name: /^Channels/ }).waitFor();
  await take();
  assert.equal(picture, 6);
  assert.deepEqual(page.faults, []);
  await page.context().close();
});
