// The JSON Schema of graphs: the keys that may stand at a place, with what they mean, and their order.
import schema from "../../../../guide/graph.schema.json";
import type { Here } from "../../parts/code/json_scan";

type Part = { [word: string]: unknown };

const root = schema as Part;

const isPart = (value: unknown): value is Part => typeof value === "object" && value !== null && !Array.isArray(value);

// The schemas that together say what may stand there: references and alternatives are followed.
function spread(part: Part): Part[] {
  const parts = [part];
  if (typeof part.$ref === "string") {
    const name = part.$ref.split("/").at(-1)!;
    const target = (root.definitions as Part)[name];
    if (isPart(target)) parts.push(...spread(target));
  }
  for (const word of ["oneOf", "anyOf", "allOf"])
    if (Array.isArray(part[word])) parts.push(...(part[word] as unknown[]).filter(isPart).flatMap(spread));
  return parts;
}

function step(parts: Part[], name: string): Part[] {
  return parts.flatMap((part) => {
    const found: Part[] = [];
    const { properties, patternProperties, additionalProperties, items } = part;
    if (isPart(properties) && isPart(properties[name])) found.push(properties[name]);
    if (isPart(patternProperties))
      for (const [pattern, target] of Object.entries(patternProperties))
        if (isPart(target) && new RegExp(pattern, "u").test(name)) found.push(target);
    if (found.length === 0 && isPart(additionalProperties)) found.push(additionalProperties);
    if (isPart(items)) found.push(items);
    return found.flatMap(spread);
  });
}

const at = (path: string[]) => path.reduce(step, spread(root));

export interface KeyOffered {
  key: string;
  says: string;
}

const saysOf = (part: Part) => spread(part).map((one) => one.description).find((one) => typeof one === "string") ?? "";

// Whether an object with these keys may be what the schema says.
function fits(part: Part, present: ReadonlySet<string>): boolean {
  const { properties, additionalProperties } = part;
  if (additionalProperties !== false || !isPart(properties)) return true;
  return [...present].every((key) => Object.hasOwn(properties, key) || isPart(part.patternProperties));
}

// The keys that an object may have which has these.
function keysWith(path: string[], present: ReadonlySet<string>): KeyOffered[] {
  const offered = new Map<string, string>();
  for (const part of at(path)) {
    if (!isPart(part.properties) || !fits(part, present)) continue;
    for (const [key, member] of Object.entries(part.properties))
      if (!key.startsWith("$") && isPart(member) && !offered.get(key)) offered.set(key, String(saysOf(member)));
  }
  return [...offered].map(([key, says]) => ({ key, says }));
}

// Those of them that it has not yet.
export const keysFor = (path: string[], present: ReadonlySet<string>): KeyOffered[] =>
  keysWith(path, present).filter(({ key }) => !present.has(key));

export interface Meant {
  says: string;
  words: string[]; // the values that it may have, where they are a list
}

// The meaning of the member at which the text is being written.
export function meaningOf(here: Here): Meant {
  const parts = at([...here.path, ...(here.key === "" ? [] : [here.key])]);
  const words = parts.flatMap((part) => (Array.isArray(part.enum) ? part.enum : "const" in part ? [part.const] : []));
  return { says: parts.map((part) => part.description).find((one): one is string => typeof one === "string") ?? "",
    words: [...new Set(words.filter((word) => typeof word === "string"))] };
}

// The value with the members of each object in the order that the schema has.
export function inOrder(value: unknown, path: string[] = []): unknown {
  if (Array.isArray(value)) return value.map((one, index) => inOrder(one, [...path, String(index)]));
  if (!isPart(value) || path.length > 4) return value;
  const order = keysWith(path, new Set(Object.keys(value))).map((offered) => offered.key);
  const rank = (key: string) => (order.includes(key) ? order.indexOf(key) : order.length);
  const names = Object.keys(value).sort((a, b) => rank(a) - rank(b));
  return Object.fromEntries(names.map((name) => [name, inOrder(value[name], [...path, name])]));
}
