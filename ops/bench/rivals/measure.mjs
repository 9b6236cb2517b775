// What all measurements share: a database of their own, processes that end with this one, the load, the processor time
// of each part, and the line that is the result. The environment names the server of the databases (PGHOST: the folder
// of a cluster that `cairn` made, PGUSER, PGPASSWORD) and says how long the load lasts (SECONDS_OF_LOAD).
import { fork, spawn } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { createServer } from "node:net";
import { cpus, release } from "node:os";
import { createInterface } from "node:readline";
import pg from "pg";

export const stepsOfWorkflow = 10;
const warmingSeconds = 3;

// --- options ---

// `--name value` pairs; numbers as numbers.
export function options(defaults) {
  const given = { ...defaults };
  const words = process.argv.slice(2);
  for (let at = 0; at < words.length; at += 2) {
    const name = words[at].replace(/^--/, "").replaceAll("-", "_");
    if (!(name in defaults)) throw new Error(`Expected one of ${Object.keys(defaults)}, but got ${words[at]}.`);
    given[name] = typeof defaults[name] === "number" ? Number(words[at + 1]) : words[at + 1];
  }
  return given;
}

export function packageVersion(name) {
  return JSON.parse(readFileSync(new URL(`node_modules/${name}/package.json`, import.meta.url))).version;
}

// --- processes ---

const children = new Set();
process.on("exit", () => children.forEach((child) => child.kill("SIGKILL")));
for (const signal of ["SIGINT", "SIGTERM"]) process.on(signal, () => process.exit(1));

function ours(child, name) {
  children.add(child);
  child.on("exit", (code, signal) => {
    children.delete(child);
    console.error(`Expected ${name} to go on, but it ended: ${signal ?? code}`);
    process.exit(1);
  });
  return child;
}

export function program(file, words, environment = {}) {
  const stdio = ["ignore", "pipe", "inherit"];
  return ours(spawn(file, words, { stdio, env: { ...process.env, ...environment } }), file);
}

// The path of a file next to this one.
export const besides = (name) => new URL(name, import.meta.url).pathname;

// A script next to this one, in a process of its own; it sends messages to this one.
export function script(name, words = []) {
  return ours(fork(besides(name), words), name);
}

export function onLines(child, take) {
  createInterface({ input: child.stdout }).on("line", take);
}

export function firstLine(child) {
  return new Promise((resolve) => createInterface({ input: child.stdout }).once("line", resolve));
}

export function firstMessage(child) {
  return new Promise((resolve) => child.once("message", resolve));
}

export async function freePort() {
  const server = createServer();
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address();
  await new Promise((resolve) => server.close(resolve));
  return port;
}

// --- the database ---

async function connect(database) {
  const client = new pg.Client({ database });
  client.on("error", () => {}); // the cluster may end before this process
  await client.connect();
  return client;
}

const database = "rivals";
const settingsShown = ["server_version", "fsync", "synchronous_commit", "shared_buffers", "max_wal_size"];
let postgres; // its version and its settings

// A new database, with a connection to it that counts. It is left for the caller of the script to be dropped.
export async function freshDatabase() {
  const server = await connect("postgres");
  await server.query(`drop database if exists ${database} with (force)`);
  await server.query(`create database ${database}`);
  const shown = settingsShown.map((setting) => `current_setting('${setting}') as ${setting}`);
  postgres = (await server.query(`select ${shown}`)).rows[0];
  await server.end();
  const { PGHOST, PGUSER, PGPASSWORD } = process.env;
  const login = `${PGUSER}:${encodeURIComponent(PGPASSWORD)}`;
  const connection = await connect(database);
  return {
    name: database,
    url: `postgresql://${login}@localhost/${database}?host=${encodeURIComponent(PGHOST)}`,
    count: async (statement) => Number((await connection.query(statement)).rows[0].count),
  };
}

// --- the load ---

export const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

// `atOnce` callers: each executes one workflow after the other, until the time is over.
export function callers(atOnce, execute) {
  let count = 0;
  return async (seconds) => {
    const until = performance.now() + seconds * 1_000;
    const call = async () => {
      while (performance.now() < until) await execute(++count);
    };
    await Promise.all(Array.from({ length: atOnce }, call));
    return count;
  };
}

// `atOnce` workflows under way: as soon as a tenth of them have ended, as many are started at once.
export function feeder(atOnce, { start, ended }) {
  let started = 0;
  return async (seconds) => {
    const until = performance.now() + seconds * 1_000;
    while (performance.now() < until) {
      const room = Math.min(atOnce - (started - ended()), 1_000);
      if (room < Math.max(atOnce / 10, 1)) {
        await pause(2);
        continue;
      }
      await start(room);
      started += room;
    }
    while (ended() < started) await pause(5);
    return started;
  };
}

// --- processor time ---

const ticks = 100; // of a second: what Linux counts in

function fieldsOf(pid) {
  const text = readFileSync(`/proc/${pid}/stat`, "utf8");
  return text.slice(text.lastIndexOf(")") + 2).split(" ");
}

function secondsOf(pid, { withEnded = false } = {}) {
  const fields = fieldsOf(pid).map(Number);
  return (fields[11] + fields[12] + (withEnded ? fields[13] + fields[14] : 0)) / ticks;
}

function secondsOfPostgres() {
  const main = readFileSync(`${process.env.PGHOST}/data/postmaster.pid`, "utf8").split("\n")[0];
  let seconds = secondsOf(main, { withEnded: true });
  for (const pid of readdirSync("/proc").filter((name) => /^\d+$/.test(name))) {
    try {
      if (fieldsOf(pid)[1] === main) seconds += secondsOf(pid);
    } catch {
      // it has just ended
    }
  }
  return seconds;
}

// All but idle and waiting for the disk.
function secondsOfMachine() {
  const [user, nice, system, , , irq, softirq, steal] = readFileSync("/proc/stat", "utf8").match(/\d+/g).map(Number);
  return (user + nice + system + irq + softirq + steal) / ticks;
}

// `parts` are lists of processes by name.
function processorTime(parts) {
  const spent = { client: secondsOf(process.pid) };
  for (const [name, processes] of Object.entries(parts))
    spent[name] = processes.reduce((sum, one) => sum + secondsOf(one.pid), 0);
  if (postgres) spent.postgres = secondsOfPostgres();
  return { ...spent, machine: secondsOfMachine() };
}

// --- the measurement ---

// Takes the load twice, first to warm up, and prints the result. `steps` counts what the system has on record. `must`:
// so many steps a second at least, apart from what the others have.
export async function measure({ system, version, settings, load, steps, must, parts = {} }) {
  let done = await load(warmingSeconds);
  const before = await steps();
  const spentBefore = processorTime(parts);
  const began = performance.now();
  done = (await load(Number(process.env.SECONDS_OF_LOAD ?? 10))) - done;
  const seconds = (performance.now() - began) / 1_000;
  const spent = processorTime(parts);
  const counted = (await steps()) - before;
  if (counted !== done * stepsOfWorkflow)
    throw new Error(`Expected ${done * stepsOfWorkflow} steps of ${done} workflows on record, but found ${counted}.`);
  const cores = {};
  for (const name of Object.keys(spent)) cores[name] = (spent[name] - spentBefore[name]) / seconds;
  const { machine, ...known } = cores;
  const others = machine - Object.values(known).reduce((sum, one) => sum + one);
  const line = { system, version, settings, must, workflows: done, steps: counted, seconds, cores: known, others };
  console.log(JSON.stringify({ ...line, node: process.version, machine: machineOf(), postgres }));
  process.exit(0);
}

function machineOf() {
  const kilobytes = Number(/MemTotal:\s+(\d+)/.exec(readFileSync("/proc/meminfo", "utf8"))[1]);
  return { cores: cpus().length, cpu: cpus()[0].model, gibibytes: Math.round(kilobytes / 2 ** 20), linux: release() };
}
