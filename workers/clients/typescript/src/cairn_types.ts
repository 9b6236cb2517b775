// cairn-types GRAPH...: the types of what graphs take and give, by their schemas, for `client.start<In, Out>()`. A
// graph is a file that ends in .json, or a name that the API is asked for.
import type { Fields } from "./api.js";
import { Client } from "./client.js";
import { inDraft7 } from "./draft7.js";
import { sentenceOf } from "./http.js";
import { failProgram, programArguments, readText } from "./process.js";

const usage = `usage: cairn-types GRAPH...

Prints the types of what graphs take and give, by their schemas. A GRAPH is a file that ends in .json, or a name that
the API at CAIRN_URL is asked for. Needs the npm package json-schema-to-typescript where it is run.`;
const generator = "json-schema-to-typescript";

async function compiler() {
  try {
    return (await import("json-schema-to-typescript")).compile;
  } catch {
    throw new Error(`Expected the npm package ${generator}, but it is not installed: npm install -D ${generator}`);
  }
}

async function graphOf(word: string): Promise<Fields> {
  if (!word.endsWith(".json")) return new Client().graph(word);
  try {
    return JSON.parse(await readText(word));
  } catch (fault) {
    throw new Error(`Expected a graph as JSON in file ${word}, but: ${sentenceOf(fault)}`);
  }
}

// plan_runner: PlanRunner
function typeName(graph: string): string {
  const words = graph.split(/[^A-Za-z0-9]+/).filter((word) => word !== "");
  const name = words.map((word) => word[0]!.toUpperCase() + word.slice(1)).join("");
  return /^[A-Z]/.test(name) ? name : `Graph${name}`;
}

// The parts of a schema have names of their own, which the other side or another graph may use as well: they stand in a
// namespace of their side.
function apart(types: string, title: string): string {
  if ((types.match(/^export /gm) ?? []).length < 2) return types;
  const inside = types.trimEnd().replace(/^(?=.)/gm, "  ");
  return `export namespace ${title}Types {\n${inside}\n}\nexport type ${title} = ${title}Types.${title};\n`;
}

async function typesOf(graph: Fields): Promise<string> {
  const compile = await compiler();
  let text = `// graph ${graph.name}\n`;
  for (const side of ["input", "output"]) {
    const title = typeName(graph.name) + (side === "input" ? "Input" : "Output");
    const schema = inDraft7(graph[side] ?? { additionalProperties: true });
    const root = { type: "object" as const, ...schema, title };
    const options = { bannerComment: "", additionalProperties: false, style: { printWidth: 120 } };
    text += apart(await compile(root, title, options), title);
  }
  return text;
}

// Two of one name would merge.
function checkNames(graphs: Fields[], words: string[]): void {
  const taken = new Map<string, string>();
  for (const [at, { name }] of graphs.entries()) {
    if (typeof name !== "string") throw new Error(`Expected a graph with a name in ${words[at]}, but it has none.`);
    const type = typeName(name);
    const other = taken.get(type);
    if (other !== undefined)
      throw new Error(`Expected graphs whose types have different names, but ${other} and ${name} are ${type}.`);
    taken.set(type, name);
  }
}

async function main(): Promise<void> {
  const words = programArguments();
  if (words.includes("--help") || words.includes("-h")) return console.log(usage);
  if (words.length === 0) throw new Error("Expected graphs (FILE.json or NAME), but found none.");
  const graphs: Fields[] = [];
  for (const word of words) graphs.push(await graphOf(word));
  checkNames(graphs, words);
  const parts: string[] = [];
  for (const graph of graphs) parts.push(await typesOf(graph));
  console.log("// Made by cairn-types.\n" + parts.join("\n").trimEnd());
}

main().catch((thrown: unknown) => failProgram(`cairn-types: ${sentenceOf(thrown)}`));
