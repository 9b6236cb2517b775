// Debian's Chromium, driven by playwright-core: one browser for a test file, one context for each test.
import { createRequire } from "node:module";
import { mkdirSync } from "node:fs";
import { join } from "node:path";

const modules = join(import.meta.dirname, "../../../build/console_tests/");
const require = createRequire(modules);
const { chromium } = require("playwright-core");
export const axePath = require.resolve("axe-core/axe.min.js");
export const pictures = process.env.CAIRN_PICTURES ?? join(modules, "pictures");
mkdirSync(pictures, { recursive: true });

export async function openBrowser() {
  return chromium.launch({
    executablePath: process.env.CAIRN_CHROMIUM ?? "/usr/bin/chromium",
    args: ["--no-sandbox", "--disable-dev-shm-usage", "--disable-gpu", "--font-render-hinting=none"],
  });
}

// A page that fails its test by an error of a script, or by something that the page's policy keeps from loading.
// With a token it is given when the page asks for one.
export async function openPage(browser, url, options = {}, token = "") {
  const context = await browser.newContext({ viewport: { width: 1280, height: 860 }, ...options });
  const page = await context.newPage();
  page.setDefaultTimeout(Number(process.env.CAIRN_PATIENCE_MS ?? 60_000));
  page.faults = [];
  page.on("pageerror", (error) => page.faults.push(String(error)));
  page.on("console", (message) => {
    if (message.type() === "error" && !/Failed to load resource/.test(message.text())) page.faults.push(message.text());
  });
  await page.goto(url);
  if (token === "") return page;
  await page.getByLabel("Token").fill(token);
  await page.getByRole("button", { name: "Go on" }).click();
  return page;
}
