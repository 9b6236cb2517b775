// The frame: keys, themes, a path below another one, what the page loads, and the page as commands.
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { writeFileSync } from "node:fs";
import http from "node:http";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { promisify } from "node:util";
import { deflateRawSync } from "node:zlib";
import { openBrowser, openPage } from "./browser.mjs";
import { dry } from "./graphs.mjs";
import { until, World } from "./world.mjs";

let world;
let browser;
let run;

before(async () => {
  world = await World.begin();
  await world.addGraph(dry);
  run = await world.startRun("dry");
  await world.isStatus(run, "failed");
  browser = await openBrowser();
});
after(async () => {
  await browser?.close();
  await world?.end();
});

const theme = (page) => page.evaluate(() => getComputedStyle(document.body).backgroundColor);

test("each key does what the list of keys says", async () => {
  const page = await openPage(browser, `${world.url}#/run/${run}`);
  await page.locator(".run-title").waitFor();
  await page.keyboard.press("?");
  const dialog = page.getByRole("dialog", { name: "Keys" });
  for (const says of ["Read again", "Light, dark, as the system", "One event back", "Runs"])
    await dialog.getByText(says, { exact: true }).waitFor();
  await page.keyboard.press("Escape");
  await dialog.waitFor({ state: "detached" });
  const light = await theme(page);
  await page.keyboard.press("t");
  await page.keyboard.press("t");
  assert.notEqual(await theme(page), light);
  await page.reload();
  assert.notEqual(await theme(page), light);
  await page.locator(".run-title").waitFor();
  for (const [letter, title] of [["i", "Inbox"], ["q", "Queues"]]) {
    await page.keyboard.press("g");
    await page.keyboard.press(letter);
    await page.getByRole("heading", { name: title, exact: true }).waitFor();
  }
  await page.keyboard.press("g");
  await page.keyboard.press("r");
  await page.locator("table.runs").waitFor();
  const read = page.waitForRequest(/api\/v1\/runs\?/);
  await page.keyboard.press("r");
  await read;
  await page.keyboard.press("/");
  assert.equal(await page.evaluate(() => document.activeElement?.getAttribute("role")), "combobox");
  await page.keyboard.type("t?");
  assert.equal(await page.getByRole("combobox").inputValue(), "t?");
  await page.context().close();
});

test("the system's colours are taken where nothing else was chosen", async () => {
  const light = await openPage(browser, world.url, { colorScheme: "light" });
  const dark = await openPage(browser, world.url, { colorScheme: "dark" });
  assert.notEqual(await theme(light), await theme(dark));
  await light.context().close();
  await dark.context().close();
});

test("nothing is loaded from elsewhere, and the policy says so", async () => {
  const answer = await fetch(world.url);
  assert.match(answer.headers.get("content-security-policy"), /^default-src 'self';/);
  const page = await openPage(browser, "about:blank");
  const asked = [];
  page.on("request", (request) => asked.push(request.url()));
  await page.goto(`${world.url}#/run/${run}`);
  await page.locator("[data-node]").first().waitFor();
  assert.deepEqual(asked.filter((url) => !url.startsWith(world.url)), []);
  await page.context().close();
});

test("the first page is at most 60 kB of compressed script", async () => {
  const page = await openPage(browser, "about:blank");
  const scripts = [];
  page.on("response", (response) => {
    if (response.url().endsWith(".js")) scripts.push(response.allHeaders());
  });
  await page.goto(world.url);
  await page.locator("table.runs").waitFor();
  const heads = await Promise.all(scripts);
  assert.ok(heads.every((head) => head["content-encoding"] === "gzip"));
  const bytes = heads.reduce((sum, head) => sum + Number(head["content-length"]), 0);
  assert.ok(bytes > 1_000 && bytes < 60_000, `${bytes} bytes`);
  await page.context().close();
});

// A proxy that serves all below a path.
function proxyBelow(prefix) {
  const server = http.createServer((request, response) => {
    if (!request.url.startsWith(prefix)) return response.writeHead(404).end();
    const target = { host: "127.0.0.1", port: world.port, path: request.url.slice(prefix.length - 1) };
    const asked = http.request({ ...target, method: request.method, headers: request.headers }, (answer) => {
      response.writeHead(answer.statusCode, answer.headers);
      answer.pipe(response);
    });
    request.pipe(asked);
    return undefined;
  });
  return new Promise((resolve) => server.listen(0, "127.0.0.1", () => resolve(server)));
}

test("it works below a path", async () => {
  const proxy = await proxyBelow("/deep/cairn/");
  const page = await openPage(browser, `http://127.0.0.1:${proxy.address().port}/deep/cairn/`);
  await page.locator("table.runs a").first().click();
  await page.locator("[data-node]").first().waitFor();
  assert.match(await page.locator(".command-lines").innerText(), /\/deep\/cairn\/api\/v1\/runs\//);
  assert.deepEqual(page.faults, []);
  await page.context().close();
  proxy.closeAllConnections();
  await new Promise((resolve) => proxy.close(resolve));
});

test("the lines below the page do what the page shows", async () => {
  const page = await openPage(browser, `${world.url}#/runs?where=graph%3Ddry`);
  await page.locator("table.runs").waitFor();
  const [, cairn, , curl] = (await page.locator(".command-lines code, .command-lines span").allInnerTexts());
  const { stdout } = await promisify(execFile)("/bin/sh", ["-c", curl]);
  assert.equal(JSON.parse(stdout)[0].run, run);
  assert.match(await world.cairn(...cairn.split(" ").slice(1)), /No coffee today/);
  await page.context().close();
});

const pages = {
  runs: "#/runs", "a run": () => `#/run/${run}`, "a run's channels": () => `#/run/${run}?view=channels`,
  "two runs": () => `#/compare/${run}`, inbox: "#/inbox", queues: "#/queues", workers: "#/workers",
  schedules: "#/schedules", hooks: "#/hooks", graphs: "#/graphs", "a graph": "#/graph/dry", proof: "#/proof?do=verify",
};

for (const [name, view] of Object.entries(pages))
  test(`the keys and the lines are there: ${name}`, async () => {
    const page = await openPage(browser, world.url + (typeof view === "function" ? view() : view));
    await page.locator(".command-lines code").nth(1).waitFor();
    assert.match(await page.locator(".command-lines").innerText(), /cairn\s+cairn \w[\s\S]*curl\s+curl -s/);
    await page.keyboard.press("?");
    const dialog = page.getByRole("dialog", { name: "Keys" });
    await dialog.waitFor();
    const bound = async () => (await dialog.locator("dt").allInnerTexts()).map((text) => text.replaceAll(/\s+/g, ""));
    await until(async () => (await bound()).includes("j"), "the rows of the page to have their keys");
    const keys = await bound();
    for (const key of ["/", "?", "j", "k", "gr", "r", "t"])
      assert.deepEqual(keys.filter((one) => one === key), [key], `${key} of ${keys}`);
    await page.keyboard.press("Escape");
    await dialog.waitFor({ state: "detached" });
    await page.keyboard.press("/");
    await page.waitForFunction(() => document.activeElement instanceof HTMLInputElement);
    assert.deepEqual(page.faults, []);
    await page.context().close();
  });

test("/ leads from a page without a filter to that of the runs", async () => {
  const page = await openPage(browser, `${world.url}#/queues`);
  await page.getByRole("heading", { name: "Queues" }).waitFor();
  await page.keyboard.press("/");
  await page.waitForFunction(() => document.activeElement?.getAttribute("role") === "combobox");
  await page.keyboard.type("graph=dry");
  await page.keyboard.press("Enter");
  await page.waitForFunction(() => location.hash === "#/runs?where=graph%3Ddry");
  await page.context().close();
});

test("each view of a run has the line that shows it, and so has a comparison of moments", async () => {
  const page = await openPage(browser, `${world.url}#/run/${run}`);
  await page.locator(".run-title").waitFor();
  const shows = { events: /No water/, plan: /./, channels: /Open steps/, lineage: /dry/ };
  const lines = page.locator(".command-lines code");
  for (const [view, says] of [...Object.entries(shows), ["compare", /./]]) {
    const hash = view === "compare" ? `#/compare/${run}?at=2&with_at=3` : `#/run/${run}?view=${view}&at=2`;
    await page.evaluate((to) => (location.hash = to), hash);
    const word = view === "compare" ? "diff" : view === "channels" ? "show" : view === "lineage" ? "runs" : view;
    await lines.filter({ hasText: `cairn ${word} ` }).waitFor();
    const [cairn, curl] = await lines.allInnerTexts();
    const printed = await world.cairn(...cairn.split(" ").slice(1)).catch((fault) => fault.stdout); // 1: they differ
    if (view !== "plan") assert.match(printed, says, cairn);
    const { stdout } = await promisify(execFile)("/bin/sh", ["-c", curl]);
    assert.equal(JSON.parse(stdout).error, undefined, curl);
    if (view === "compare") assert.deepEqual([JSON.parse(stdout).a.seq, JSON.parse(stdout).b.seq], [2, 3]);
  }
  await page.context().close();
});

test("the lines of a queue, a difference and a proof show what is seen, and change nothing", async () => {
  await world.cairn("queue", "set", "mill", "--concurrency", "2");
  await world.addGraph({ ...dry, description: "Drier." });
  const [newest, older] = (await world.api("graphs")).filter(({ name }) => name === "dry")
    .sort((a, b) => Number(b.current) - Number(a.current)).map(({ version }) => version);
  const changed = JSON.stringify({ ...dry, nodes: { ...dry.nodes, none: { end: "done" } } });
  writeFileSync(join(world.folder, "FILE"), changed);
  const graph = `z:${deflateRawSync(changed).toString("base64url")}`;
  const where = "where=graph%3Ddry";
  const shows = [
    ["#/queues/mill", "queue history mill", /by \S/, /"concurrency":2/],
    [`#/graph/dry?show=difference&from=${older}&version=${newest}`, `graph show ${older}`, /^> .*Drier/m, /Drier/],
    [`#/proof?do=verify&${where}`, "verify --where", /1 run/, /"sound":true/],
    [`#/proof?do=verify&run=${run}`, `verify ${run}`, /1 run/, /"sound":true/],
    [`#/proof?do=replay&handlers=true&${where}`, "replay --where", /1 run/, /"same":1/],
    [`#/proof?do=changed&${where}&graph=${graph}`, "--graph FILE", /run_finished/, /"same":0/],
  ];
  const page = await openPage(browser, world.url);
  const codes = page.locator(".command-lines code");
  for (const [hash, words, ...seen] of shows) {
    await page.evaluate((to) => (location.hash = to), hash);
    await codes.filter({ hasText: words }).waitFor();
    for (const [n, line] of (await codes.allInnerTexts()).entries())
      assert.match(await world.shell(`cd ${world.folder}; ${line}`).catch((fault) => fault.stdout), seen[n], line);
  }
  assert.equal((await world.api("queues")).find(({ queue }) => queue === "mill").revision, 1);
  const forked = await world.api(`runs/${run}/fork`, { at: 1, tags: { run: "none" } });
  await world.isStatus(forked.run, "failed");
  await page.evaluate((to) => (location.hash = to), `#/proof?do=verify&${where}`);
  await codes.filter({ hasText: "verify --where" }).waitFor();
  const answers = await world.shell((await codes.allInnerTexts())[1]);
  assert.equal(answers.split('"sound":').length - 1, 2, "each run once, also one that was forked");
  await page.context().close();
});

test("a proof of a run whose address is no id asks for nothing, and its lines hold nothing of it", async () => {
  const page = await openPage(browser, `${world.url}#/proof?do=verify&run=${encodeURIComponent("$(touch x);")}`);
  const lines = page.locator(".command-lines code");
  await lines.nth(1).waitFor();
  for (const line of await lines.allInnerTexts()) assert.ok(!line.includes("touch"), line);
  await page.context().close();
});

test("a page that is not there is said to be not there", async () => {
  const page = await openPage(browser, `${world.url}#/nowhere`);
  await page.getByText("There is no page \"nowhere\".").waitFor();
  await page.context().close();
});
