// Proof: runs verified and decided again with a report that is an address; an export read and checked by the browser.
import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { gzipSync } from "node:zlib";
import { openBrowser, openPage } from "./browser.mjs";
import { dry, order } from "./graphs.mjs";
import { isAccessible, picturesOf } from "./looks/look.mjs";
import { until, World } from "./world.mjs";

let world;
let browser;
let file;
const runs = [];
const plan = { goal: "g", sub_goals: [{ id: "a", tool: "echo", inputs: { text: "é\u202e<b>x".repeat(8000) } }] };

before(async () => {
  world = await World.begin();
  await world.addGraph(order);
  await world.addGraph(dry);
  for (let n = 0; n < 5; n += 1) runs.push(await world.startRun("dry"));
  runs.push(await world.startRun("plan_runner", plan));
  for (const run of runs.slice(0, 5)) await world.isStatus(run, "failed");
  await world.isStatus(runs[5], "done");
  file = join(world.folder, "runs.jsonl");
  await world.cairn("export", "--all", "--out", file);
  browser = await openBrowser();
});
after(async () => {
  await browser?.close();
  await world?.end();
});

const opened = (view, options = {}, token = "") => openPage(browser, world.url + view, options, token);
const verdict = (page) => page.locator(".verdict-line");

async function give(page, name, content) {
  await page.getByLabel("Export file").setInputFiles({ name, mimeType: "application/jsonl", buffer: content });
}

// As they stand: a number in them may be larger than JavaScript can hold.
const linesOf = () => readFileSync(file, "utf8").trimEnd().split("\n");
const bytesOf = (lines) => Buffer.from(lines.map((line) => line + "\n").join(""));
const change = (lines, kind, from, to) => {
  const at = lines.findIndex((line) => line.includes(`"kind":"${kind}"`) && from.test(line));
  assert.ok(at >= 0, `${kind} ${from}`);
  lines[at] = lines[at].replace(from, to);
};

test("runs are verified with a progress, and the link makes the report again", async () => {
  const page = await opened("#/runs");
  await page.locator("table.runs").waitFor();
  await page.keyboard.press("g");
  await page.keyboard.press("p");
  await page.getByRole("heading", { name: "Proof", exact: true }).waitFor();
  await page.getByText("Hashes of all events are computed again").waitFor();
  await isAccessible(page);
  await page.getByLabel("The newest").fill("100001");
  await page.getByRole("button", { name: "Verify", exact: true }).last().click();
  await page.getByText("Expected a whole number of runs from 1 to 100,000.").waitFor();
  await page.getByLabel("The newest").fill("1000");
  await page.getByLabel("Runs, as --where").fill("graph=dry");
  await page.getByRole("button", { name: "Verify", exact: true }).last().click();
  await verdict(page).getByText("5 runs sound").waitFor();
  const link = await page.evaluate(() => location.hash);
  assert.equal(link, "#/proof?do=verify&where=graph%3Ddry&limit=1000");
  await isAccessible(page);
  await picturesOf(page, "proof-verify");
  const other = await opened(link);
  await verdict(other).getByText("5 runs sound").waitFor();
  for (const one of [page, other]) {
    assert.deepEqual(one.faults, []);
    await one.context().close();
  }
});

test("the page of a run leads to the proof of its history", async () => {
  const page = await opened(`#/run/${runs[0]}`);
  await page.getByRole("link", { name: "verify its history" }).click();
  await verdict(page).getByText("1 run sound").waitFor();
  assert.equal(await page.evaluate(() => location.hash), `#/proof?do=verify&run=${runs[0]}`);
  await page.context().close();
});

test("a run whose history was changed is found, and each finding leads to its event", async () => {
  await world.asOwner("update cairn.event set payload = replace(payload, 'No water', 'No coffee') " +
    `where run_id = '${runs[0]}' and payload like '%No water%' and type = 9`);
  const page = await opened("#/proof?do=verify&where=graph%3Ddry");
  await verdict(page).getByText("1 run with findings").waitFor();
  const found = page.locator(".finding").filter({ hasText: "altered" });
  const href = await found.getByRole("link").first().getAttribute("href");
  assert.match(href, new RegExp(`^#/run/${runs[0]}\\?at=\\d+$`));
  await picturesOf(page, "proof-findings");
  await isAccessible(page);
  await world.asOwner("update cairn.event set payload = replace(payload, 'No coffee', 'No water') " +
    `where run_id = '${runs[0]}' and type = 9`);
  await page.getByRole("button", { name: "Once more" }).click();
  await verdict(page).getByText("5 runs sound").waitFor();
  await page.context().close();
});

test("a replay is the same, and under a changed graph shows where runs go another way", async () => {
  const page = await opened("#/proof?do=replay&where=graph%3Ddry");
  await verdict(page).getByText("5 runs the same").waitFor();
  await page.getByRole("button", { name: "Under a changed graph" }).click();
  const changed = { ...dry, nodes: { ...dry.nodes, none: { end: { status: "failed", reason: "Tea, then." } } } };
  await page.getByLabel("The changed graph").fill(JSON.stringify(changed));
  await page.getByRole("button", { name: "Replay", exact: true }).last().click();
  await verdict(page).getByText("5 runs go another way").waitFor();
  await page.locator(".finding").getByText("run_finished").first().waitFor();
  await page.getByText("On record and again").first().click();
  await page.getByText("Tea, then.").first().waitFor();
  await isAccessible(page);
  await picturesOf(page, "proof-changed");
  const other = await opened(await page.evaluate(() => location.hash));
  await verdict(other).getByText("5 runs go another way").waitFor();
  assert.match(await other.getByLabel("The changed graph").inputValue(), /Tea, then/);
  for (const one of [page, other]) await one.context().close();
});

test("a graph with a fault ends the job with the server's sentence", async () => {
  const page = await opened("#/proof?do=replay&where=graph%3Ddry");
  await page.getByRole("button", { name: "Under a changed graph" }).click();
  await page.getByLabel("The changed graph").fill('{"name": "dry"');
  await page.getByRole("button", { name: "Replay", exact: true }).last().click();
  await page.getByText("The graph is not JSON").waitFor();
  await page.getByLabel("The changed graph").fill('{"name": "dry", "start": "x", "limits": {"steps": 1}, "nodes": {}}');
  await page.getByRole("button", { name: "Replay", exact: true }).last().click();
  await page.getByRole("alert").filter({ hasText: "Expected" }).first().waitFor();
  await page.context().close();
});

test("failed runs are blamed, summed by node and kind, and runs that did not fail are left out", async () => {
  const page = await opened("#/proof?do=blame");
  await verdict(page).getByText("5 failed runs, and what they depend on").waitFor();
  const found = page.locator(".finding");
  assert.equal(await found.count(), 1);
  await found.getByText("make", { exact: true }).waitFor();
  await found.getByText("5 runs").waitFor();
  await found.getByText("Tool fail failed: error: No water.").first().waitFor();
  await isAccessible(page);
  await picturesOf(page, "proof-blame");
  assert.deepEqual(page.faults, []);
  await page.context().close();
});

test("the page of a run that has ended leads to what its end depends on, event by event", async () => {
  const page = await opened(`#/run/${runs[0]}`);
  await page.getByRole("link", { name: "what it depends on" }).click();
  await verdict(page).getByText("It depends on 1 earlier outcome").waitFor();
  assert.equal(await page.evaluate(() => location.hash), `#/proof?do=blame&run=${runs[0]}`);
  await page.getByText("It ended as failed: No coffee today.").waitFor();
  const links = page.locator(".finding").getByRole("link");
  const blame = await world.api(`runs/${runs[0]}/blame`);
  assert.equal(await links.first().getAttribute("href"), `#/run/${runs[0]}?at=${blame.causes[0].seq}`);
  assert.equal(await links.nth(1).getAttribute("href"), `#/run/${runs[0]}?at=${blame.of.seq}`);
  await page.locator(".finding").getByText("by the edge error").waitFor();
  await isAccessible(page);
  await picturesOf(page, "proof-blame-run");
  assert.deepEqual(page.faults, []);
  await page.context().close();
});

test("a job can be stopped, and says how far it was", async () => {
  const page = await opened("#/proof");
  let held = 0;
  await page.route("**/verify", async (route) => {
    held += 1;
    if (held === 1) await route.continue();
  });
  await page.getByRole("button", { name: "Verify", exact: true }).last().click();
  await page.getByText("1 of 6 runs").waitFor();
  await page.getByRole("button", { name: "Stop" }).click();
  await page.getByText("stopped after 1 run").waitFor();
  await page.context().close();
});

test("an export is read and its chains are checked without the server", async () => {
  const page = await opened("#/proof/file");
  await page.getByRole("heading", { name: "An export, read here" }).waitFor();
  await page.route("**/api/**", (route) => route.abort());
  await isAccessible(page);
  await give(page, "runs.jsonl", readFileSync(file));
  await verdict(page).getByText("The file agrees with itself").waitFor();
  await page.getByText("Signatures:").waitFor();
  await isAccessible(page);
  await picturesOf(page, "proof-file");
  await page.getByLabel("Runs, graphs or statuses").fill("plan_runner");
  await page.locator(".file-run").first().click();
  await page.locator(".file-event").first().waitFor();
  const names = await page.locator(".file-event > :nth-child(2)").allInnerTexts();
  const events = await world.api(`runs/${runs[5]}/events`);
  assert.deepEqual(names, events.map((event) => event.type));
  await page.keyboard.press("j");
  await page.locator(".file-detail").getByText("Hash").waitFor();
  await isAccessible(page);
  await picturesOf(page, "proof-file-events");
  assert.deepEqual(page.faults, []);
  await page.context().close();
});

test("a file is taken where it is dropped, and o asks for one", async () => {
  const page = await opened("#/proof/file");
  const dropped = await page.evaluateHandle((text) => {
    const data = new DataTransfer();
    data.items.add(new File([text], "dropped.jsonl"));
    return data;
  }, readFileSync(file, "utf8"));
  await page.locator(".drop").dispatchEvent("drop", { dataTransfer: dropped });
  await verdict(page).getByText("The file agrees with itself").waitFor();
  let isAsked = false;
  page.on("filechooser", () => (isAsked = true));
  await until(async () => {
    if (!isAsked) await page.keyboard.press("o");
    return isAsked;
  }, "a file to be asked for");
  assert.deepEqual(page.faults, []);
  await page.context().close();
});

const damages = {
  "a payload that was changed": [(lines) => change(lines, "event", /No water/, "No tea"),
    /Expected the hash of event \d+ to follow/],
  "an event that is gone": [(lines) => {
    lines.splice(lines.findIndex((line) => /"kind":"event".*"seq":2,/.test(line)), 1);
  }, /Expected event 2, but event 3 follows event 1/],
  "a large value that was changed": [(lines) => change(lines, "blob", /"base64":"..../, '"base64":"AAAA'),
    /Expected a large value with the hash/],
  "a graph that was changed": [(lines) => change(lines, "graph", /limits/, "limit"), /Expected the text of graph/],
  "a file that is cut off": [(lines) => lines.pop(), /it is cut off before/],
  "a sum that is another": [(lines) => change(lines, "end", /"sha256":"..../, '"sha256":"0000'),
    /Expected the sum of the whole file/],
};

for (const [name, [damage, says]] of Object.entries(damages))
  test(`${name} is found in a file`, async () => {
    const lines = linesOf();
    damage(lines);
    const page = await opened("#/proof/file");
    await give(page, "damaged.jsonl", bytesOf(lines));
    await page.locator(".findings li").filter({ hasText: says }).first().waitFor();
    const count = { "a payload that was changed": 2, "a file that is cut off": 1, "a sum that is another": 1 }[name];
    if (count !== undefined) assert.equal(await page.locator(".findings li").count(), count);
    assert.match(await verdict(page).innerText(), /finding/);
    if (name === "a payload that was changed") await picturesOf(page, "proof-file-damaged");
    await page.context().close();
  });

test("times that are none are found, and the events are shown all the same", async () => {
  const lines = linesOf();
  change(lines, "event", /"at_us":\d+/, '"at_us":1e300');
  change(lines, "head", /"made_at":"[^"]*"/, '"made_at":"<b>never</b>"');
  const page = await opened("#/proof/file");
  await give(page, "damaged.jsonl", bytesOf(lines));
  await page.locator(".findings li").first().waitFor();
  await page.locator(".verdict").getByText("<b>never</b>").waitFor();
  await page.locator(".findings a").first().click();
  await page.locator(".file-detail").getByText("no time").waitFor();
  assert.deepEqual(page.faults, []);
  await page.context().close();
});

test("the events of a run are shown as they come while its file is still read", async () => {
  const lines = linesOf();
  const at = lines.findIndex((line) => line.includes('"kind":"event"'));
  const long = { ...JSON.parse(lines[at]), payload: JSON.stringify({ text: "x".repeat(400_000) }) };
  lines[at + 1] = JSON.stringify(long).replace(/"seq":1/, '"seq":2'); // the file is read in pieces of 256 KiB
  const page = await opened("#/proof/file");
  await page.evaluate(() => {
    const read = Blob.prototype.arrayBuffer;
    let pieces = 0;
    Blob.prototype.arrayBuffer = async function later() {
      if (this.size > 100_000) pieces += 1;
      if (this.size > 100_000 && pieces === 2) await new Promise((resolve) => (globalThis.letGo = resolve));
      return read.call(this);
    };
  });
  await give(page, "long.jsonl", bytesOf(lines));
  await page.locator(".file-run").first().click();
  await page.locator(".file-event").first().getByText("run_started").waitFor();
  await page.evaluate(() => globalThis.letGo());
  await page.locator(".verdict-line").waitFor();
  await page.locator(".file-event").nth(1).waitFor();
  await page.locator(".file-event").filter({ hasText: "…" }).first().waitFor({ state: "detached" });
  assert.deepEqual(page.faults, []);
  await page.context().close();
});

test("what the browser finds is what the command finds", async () => {
  const lines = linesOf();
  damages["a payload that was changed"][0](lines);
  const damaged = join(world.folder, "damaged.jsonl");
  writeFileSync(damaged, bytesOf(lines));
  const said = await world.cairn("verify", "--file", damaged, "--json").catch((fault) => fault.stdout);
  const { findings } = JSON.parse(said);
  const page = await opened("#/proof/file");
  await give(page, "damaged.jsonl", readFileSync(damaged));
  await page.locator(".findings li").first().waitFor();
  const here = await page.locator(".findings li").allInnerTexts();
  for (const { seq, kind } of findings.filter((one) => one.kind === "altered"))
    assert.ok(here.some((line) => line.includes(`event ${seq}`)), `${kind} at ${seq}: ${here}`);
  assert.ok(findings.some((one) => one.kind === "altered"));
  await page.context().close();
});

test("a file in gzip is read, one in Zstandard and one that is none are refused in a sentence", async () => {
  const page = await opened("#/proof/file");
  await give(page, "runs.jsonl.gz", gzipSync(readFileSync(file)));
  await verdict(page).getByText("The file agrees with itself").waitFor();
  await give(page, "runs.zst", Buffer.from([0x28, 0xb5, 0x2f, 0xfd, 0]));
  await page.getByRole("alert").filter({ hasText: "Zstandard" }).waitFor();
  await give(page, "notes.txt", Buffer.from("hello\n"));
  await page.getByRole("alert").filter({ hasText: "Expected an export" }).waitFor();
  await page.context().close();
});

test("a token that may only read is not offered a changed graph", async () => {
  const page = await opened("#/proof", {}, await world.addToken("reader", "read"));
  await page.getByLabel("Runs, as --where").waitFor();
  assert.equal(await page.getByRole("button", { name: "Under a changed graph" }).count(), 0);
  await page.context().close();
});
