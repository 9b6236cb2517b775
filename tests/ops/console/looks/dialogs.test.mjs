// Dialogs, and the keyboard alone: it reaches all that the mouse does.
import assert from "node:assert/strict";
import { join } from "node:path";
import { test } from "node:test";
import { openPage, pictures } from "../browser.mjs";
import { isAccessible } from "./look.mjs";
import { browser, settled, views, world } from "./looks.mjs";

test("dialogs have no findings either", async () => {
  const page = await openPage(browser, world.url + views["run-questions"]);
  await settled(page);
  for (const name of [/^Fork from/, "Make a link…", "Pause…"]) {
    await page.getByRole("button", { name }).click();
    await page.getByRole("dialog").locator("form").waitFor();
    await isAccessible(page);
    await page.keyboard.press("Escape");
    await page.getByRole("dialog").waitFor({ state: "detached" });
  }
  await page.keyboard.press("?");
  await page.getByRole("dialog", { name: "Keys" }).getByText("Read again", { exact: true }).waitFor();
  await isAccessible(page);
  await page.goto(world.url);
  await page.getByRole("button", { name: "Act on all that match…" }).click();
  await page.getByText(/runs? match/).first().waitFor();
  await page.screenshot({ path: join(pictures, "bulk-light-1280.png") });
  await isAccessible(page);
  await page.context().close();
});

test("a question is answered by the keyboard alone", async () => {
  const page = await openPage(browser, world.url);
  await settled(page);
  await page.keyboard.press("/");
  await page.keyboard.type("status=waiting");
  await page.keyboard.press("Enter");
  await page.waitForFunction(() => document.querySelectorAll("table.runs tbody tr").length === 1);
  await page.keyboard.press("Escape");
  await page.keyboard.press("j");
  await page.keyboard.press("Enter");
  await page.locator(".run-title").waitFor();
  await page.keyboard.press("6");
  await page.getByText("Approve the order?").first().waitFor();
  const isThere = (name) =>
    page.evaluate((word) => document.activeElement?.closest("label")?.innerText.includes(word), name);
  for (let tabs = 0; tabs < 60 && !(await isThere("Yes")); tabs += 1) await page.keyboard.press("Tab");
  await page.keyboard.press("Space");
  await page.keyboard.press("Tab");
  await page.keyboard.type("by keyboard");
  await page.keyboard.press("Enter");
  await page.locator(".run-title .status", { hasText: "done" }).waitFor();
  await page.context().close();
});
