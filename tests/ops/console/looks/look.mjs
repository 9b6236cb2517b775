// How a page looks and reads: pictures in both themes and three widths, and axe without a finding.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { axePath, pictures } from "../browser.mjs";

export const widths = [320, 768, 1920];

async function setTheme(page, theme) {
  await page.evaluate((name) => (document.documentElement.dataset.theme = name), theme);
}

// WCAG 2.2 AA, which axe looks at only where it is named, and what axe calls best practice.
const rules = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"];

// What axe finds on the page as it is shown now, when nothing moves any more but what moves for ever.
export async function findings(page) {
  await page.evaluate(() => Promise.all(document.getAnimations()
    .filter((one) => one.effect.getComputedTiming().endTime !== Infinity)
    .map((one) => one.finished.catch(() => {}))));
  if (!(await page.evaluate(() => "axe" in globalThis))) await page.evaluate(readFileSync(axePath, "utf8"));
  const { violations } = await page.evaluate((tags) =>
    globalThis.axe.run(document, { runOnly: tags, resultTypes: ["violations"], iframes: false }), rules);
  return violations.map((one) => `${one.id}: ${one.nodes.map((node) => node.html.slice(0, 160)).join(" | ")}`);
}

// In both themes.
export async function isAccessible(page) {
  for (const theme of ["light", "dark"]) {
    await setTheme(page, theme);
    assert.deepEqual(await findings(page), [], `axe in the ${theme} theme`);
  }
  await setTheme(page, "system");
}

// Kept in the folder of pictures; no part of the page may be wider than the window.
export async function picturesOf(page, name) {
  const before = page.viewportSize();
  for (const width of widths) {
    await page.setViewportSize({ width, height: width < 600 ? 900 : 1000 });
    const found = await page.evaluate(() => document.documentElement.scrollWidth);
    assert.ok(found <= width, `${name} is ${found} pixels wide in a window of ${width}`);
    for (const theme of ["light", "dark"]) {
      await setTheme(page, theme);
      await page.screenshot({ path: join(pictures, `${name}-${theme}-${width}.png`) });
    }
  }
  await setTheme(page, "system");
  await page.setViewportSize(before);
}
