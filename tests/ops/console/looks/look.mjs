// How a page looks and reads: pictures in both themes and three widths, and axe without a finding.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { axePath, pictures } from "../browser.mjs";

const widths = [320, 1280, 1920];

async function setTheme(page, theme) {
  await page.evaluate((name) => (document.documentElement.dataset.theme = name), theme);
}

// In both themes: WCAG 2.2 AA, and what axe calls best practice.
export async function isAccessible(page) {
  await page.evaluate(() => Promise.all(document.getAnimations().map((one) => one.finished.catch(() => {}))));
  if (!(await page.evaluate(() => "axe" in globalThis))) await page.evaluate(readFileSync(axePath, "utf8"));
  for (const theme of ["light", "dark"]) {
    await setTheme(page, theme);
    const found = await page.evaluate(() =>
      globalThis.axe.run(document, { resultTypes: ["violations"], iframes: false }).then((report) =>
        report.violations.map(({ id, help, nodes }) => ({ id, help, at: nodes.slice(0, 3).map((node) => node.html) })),
      ));
    assert.deepEqual(found, [], `axe in the ${theme} theme`);
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
