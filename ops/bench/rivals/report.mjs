// Lines of measure.mjs from stdin as the page RIVALS.md on stdout; exits with 1 where Cairn has less than it must. With
// --line: one line as a few words.
import { readFileSync } from "node:fs";
import { loadavg } from "node:os";

const must = 3;
const lines = readFileSync(0, "utf8").split("\n").filter(Boolean).map((text) => JSON.parse(text));

const number = (value) => Math.round(value).toLocaleString("en-US");
const rate = (line) => line.steps / line.seconds;
const load = () => loadavg().map((one) => one.toFixed(1)).join(" ");

function median(values) {
  const sorted = [...values].sort((a, b) => a - b);
  const middle = Math.floor(sorted.length / 2);
  return sorted.length % 2 === 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
}

const coresUsed = (line) => Object.values(line.cores).reduce((sum, one) => sum + one);
const coresOf = (of, name) => median(of.map((line) => line.cores[name] ?? 0)).toFixed(2);
const coresText = (of) => Object.keys(of[0].cores).map((name) => `${name} ${coresOf(of, name)}`).join(", ");

if (process.argv[2] === "--line") {
  for (const line of lines) {
    const cores = `${coresText([line])}, others ${line.others.toFixed(2)}`;
    console.log(`${number(rate(line))} steps/s; cores: ${cores}; load ${load()}`);
  }
  process.exit(0);
}

const groups = new Map();
for (const line of lines) {
  const key = `${line.system} ${line.settings}`;
  groups.set(key, [...(groups.get(key) ?? []), line]);
}
const rows = [...groups.values()].map((of) => {
  const rates = of.map(rate);
  const isOurs = of[0].system.startsWith("Cairn");
  return { of, ...of[0], isOurs, median: median(rates), least: Math.min(...rates), most: Math.max(...rates) };
});
const best = (some) => some.sort((a, b) => b.median - a.median)[0];
const ours = best(rows.filter((row) => row.isOurs && row.must === undefined));
const rival = best(rows.filter((row) => !row.isOurs));

function rowText(row) {
  const ratio = ours ? (ours.median / row.median).toFixed(1) : "";
  const others = median(row.of.map((line) => line.others)).toFixed(2);
  const steps = `${number(row.median)} [${number(row.least)} .. ${number(row.most)}]`;
  const ofCore = number(median(row.of.map((line) => rate(line) / coresUsed(line))));
  const cells = [row.system, row.version, row.settings, steps, ratio, ofCore, coresText(row.of), others];
  return `| ${cells.join(" | ")} |`;
}

const { machine, node } = lines[0];
const postgres = lines.find((line) => line.postgres)?.postgres;
const { server_version: version = "", ...settings } = postgres ?? {};
const settingsText = Object.entries(settings).map(([name, value]) => `${name} ${value}`).join(", ");
const postgresText = postgres ? ` PostgreSQL ${version.split(" ")[0]}: ${settingsText}.` : "";
const count = Math.max(...rows.map((row) => row.of.length));
const rounds = `${count} round${count > 1 ? "s" : ""}`;
const ratio = ours && rival ? ours.median / rival.median : undefined;
// How many are at once and how each is started; what follows is a system's own.
const kindOf = (row) => row.settings.split("; ").slice(0, 2).join(", ");
const times = (row, other) => (row.median / other.median).toFixed(1);

function inEqualSettings(row) {
  const other = best(rows.filter((one) => !one.isOurs && kindOf(one) === kindOf(row)));
  if (other === undefined) return "";
  return `In equal settings, ${kindOf(row)}: ${number(row.median)} steps/s, ` +
    `${times(row, other)} times the ${number(other.median)} of ${other.system}.\n`;
}

const verdict = () => `
Cairn at its best, ${kindOf(ours)}: ${number(ours.median)} steps/s, ${times(ours, rival)} times as many as the
best of the others, ${rival.system} with ${number(rival.median)}. Three times as many are wanted.
${rows.filter((row) => row.isOurs && row.must === undefined).map(inEqualSettings).join("")}`;

console.log(`# Engines whose workflows are JavaScript

Written by \`./ops/bench/rivals/run\`; do not edit.

Durable workflows of ten steps that do nothing, in steps/s: the median of ${rounds}, the least and the most. All
take turns, each alone. Measured on ${new Date().toISOString().slice(0, 10)}; load of the machine at the end: ${load()}.

Machine: ${machine.cores} cores (${machine.cpu}), ${machine.gibibytes} GiB, Linux ${machine.linux}.
Node ${node.slice(1)}.${postgresText}
${ratio === undefined ? "" : verdict()}
| system | version | settings | steps/s | ours / it | steps/s of a core | cores in use | others |
|---|---|---|---|---|---|---|---|
${rows.map(rowText).join("\n")}
`);
console.log(readFileSync(new URL("compared.md", import.meta.url), "utf8").trimEnd());

const faults = rows
  .filter((row) => row.median < row.must)
  .map((row) => `${number(row.must)} steps/s of ${row.system}, but it has ${number(row.median)}`);
if (ratio < must)
  faults.push(`${must} times the steps of ${rival.system}, but Cairn has ${ratio.toFixed(1)} times as many`);
for (const fault of faults) console.error(`rivals: Expected ${fault}.`);
if (faults.length > 0) process.exit(1);
