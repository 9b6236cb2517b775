// A JSON Schema as the fields of a form. A part of it that a form cannot show becomes a field for JSON.
import type { Json } from "../../api/types";

export type TextInput = "text" | "email" | "url" | "date" | "time";

export interface Option {
  value: Json;
  says: string;
}

type Kind =
  | { kind: "text"; input: TextInput; isLong: boolean; minLength: number; maxLength: number; pattern?: string }
  | { kind: "number"; isInteger: boolean; least: number; most: number; above: number; below: number; step: number }
  | { kind: "boolean" }
  | { kind: "enum"; options: Option[] }
  | { kind: "enums"; options: Option[]; least: number; most: number; isUnique: boolean }
  | { kind: "fixed"; value: Json }
  | { kind: "object"; members: Field[] }
  | { kind: "choice"; alternatives: Field[] }
  | { kind: "any" }
  | { kind: "json" };

export type Field = Kind & {
  name: string;
  title: string;
  says: string; // the schema's description
  isRequired: boolean;
  isNullable: boolean;
  preset: Json; // its default; undefined: none
};

export type Schema = Record<string, unknown>;

const inputs: Record<string, TextInput> = { email: "email", uri: "url", url: "url", date: "date", time: "time" };
const alternativesMax = 6;
const lineMax = 120; // characters

export const isObject = (value: unknown): value is Schema =>
  typeof value === "object" && value !== null && !Array.isArray(value);
const numberOf = (value: unknown, without: number) => (typeof value === "number" ? value : without);
const textOf = (value: unknown) => (typeof value === "string" ? value : "");

export const shownValue = (value: Json) => (typeof value === "string" ? value : JSON.stringify(value));

// "first_name" as "First name".
function words(name: string): string {
  const spaced = name.replace(/[_-]+/g, " ").trim();
  return spaced.charAt(0).toUpperCase() + spaced.slice(1);
}

// The schema that a reference within the document names; nothing: it is elsewhere.
function followed(schema: Schema, root: Schema): Schema | undefined {
  let at: unknown = schema;
  for (let hop = 0; hop < 8 && isObject(at) && typeof at.$ref === "string"; hop += 1) {
    const { $ref, ...others } = at;
    if (!($ref as string).startsWith("#")) return undefined;
    let target: unknown = root;
    for (const part of ($ref as string).slice(1).split("/").slice(1)) {
      const key = decodeURIComponent(part).replaceAll("~1", "/").replaceAll("~0", "~");
      target = isObject(target) && Object.hasOwn(target, key) ? target[key] : undefined;
    }
    at = isObject(target) ? { ...target, ...others } : undefined;
  }
  return isObject(at) && at.$ref === undefined ? at : undefined;
}

function optionsOf(schema: Schema): Option[] | undefined {
  if (Array.isArray(schema.enum)) return schema.enum.map((value) => ({ value, says: shownValue(value) }));
  const named = schema.oneOf ?? schema.anyOf;
  if (!Array.isArray(named) || named.length === 0) return undefined;
  if (!named.every((one) => isObject(one) && Object.hasOwn(one, "const"))) return undefined;
  return named.map((one: Schema) => ({ value: one.const, says: textOf(one.title) || shownValue(one.const) }));
}

// Long is what is the whole answer, or may be longer than a line.
function textKind(schema: Schema, isWhole: boolean): Kind {
  const format = textOf(schema.format);
  const maxLength = numberOf(schema.maxLength, Infinity);
  const mayBeLong = isWhole ? maxLength > lineMax : Number.isFinite(maxLength) && maxLength > lineMax;
  const isLong = format === "" && schema.pattern === undefined && mayBeLong;
  return { kind: "text", input: inputs[format] ?? "text", isLong, minLength: numberOf(schema.minLength, 0), maxLength,
    ...(typeof schema.pattern === "string" ? { pattern: schema.pattern } : {}) };
}

function numberKind(schema: Schema, type: string): Kind {
  const isInteger = type === "integer";
  return { kind: "number", isInteger, least: numberOf(schema.minimum, -Infinity),
    most: numberOf(schema.maximum, Infinity), above: numberOf(schema.exclusiveMinimum, -Infinity),
    below: numberOf(schema.exclusiveMaximum, Infinity), step: numberOf(schema.multipleOf, 0) };
}

// An array of a set of words is a group of boxes.
function listKind(schema: Schema, root: Schema): Kind {
  const items = isObject(schema.items) ? followed(schema.items, root) : undefined;
  const options = items === undefined ? undefined : optionsOf(items);
  if (options === undefined) return { kind: "json" };
  return { kind: "enums", options, least: numberOf(schema.minItems, 0), most: numberOf(schema.maxItems, Infinity),
    isUnique: true };
}

const combining = ["allOf", "not", "if", "dependentSchemas", "patternProperties", "propertyNames"];

function objectKind(schema: Schema, root: Schema, depth: number): Kind {
  if (!isObject(schema.properties) || depth > 1) return { kind: "json" };
  if (combining.some((word) => schema[word] !== undefined)) return { kind: "json" };
  const { properties } = schema;
  const listed: string[] = Array.isArray(schema.required) ? schema.required : [];
  const required = listed.filter((name) => Object.hasOwn(properties, name));
  const names = new Set<string>([...required, ...Object.keys(properties)]); // a graph's text has its keys sorted
  const members = [...names].map((name) => {
    const member = properties[name];
    return fieldOf(isObject(member) ? member : {}, root, name, required.includes(name), depth + 1);
  });
  return members.length === 0 ? { kind: "json" } : { kind: "object", members };
}

function kindOf(schema: Schema, type: string | undefined, root: Schema, depth: number, isWhole: boolean): Kind {
  if (Object.hasOwn(schema, "const")) return { kind: "fixed", value: schema.const };
  const options = optionsOf(schema);
  if (options !== undefined) return { kind: "enum", options };
  const named = schema.oneOf ?? schema.anyOf;
  if (Array.isArray(named)) {
    if (named.length > alternativesMax || depth > 1) return { kind: "json" };
    const alternatives = named.map((one) => fieldOf(isObject(one) ? one : {}, root, "", true, depth));
    return { kind: "choice", alternatives };
  }
  if (combining.some((word) => schema[word] !== undefined)) return { kind: "json" };
  if (type === "string") return textKind(schema, isWhole);
  if (type === "number" || type === "integer") return numberKind(schema, type);
  if (type === "boolean") return { kind: "boolean" };
  if (type === "array") return listKind(schema, root);
  if (type === "object" || schema.properties !== undefined) return objectKind(schema, root, depth);
  return Object.keys(schema).some((key) => !["title", "description", "default"].includes(key))
    ? { kind: "json" } : { kind: "any" };
}

export function fieldOf(given: Schema, root: Schema, name: string, isRequired: boolean, depth = 0): Field {
  const schema = followed(given, root) ?? { ...given, not: {} };
  const types = Array.isArray(schema.type) ? schema.type : [schema.type];
  const isNullable = types.includes("null");
  const others = types.filter((type) => type !== "null");
  const type = others.length === 1 ? textOf(others[0]) || undefined : undefined;
  const kind: Kind = others.length > 1 ? { kind: "json" } : kindOf(schema, type, root, depth, name === "");
  return { ...kind, name, title: textOf(schema.title) || words(name), says: textOf(schema.description), isRequired,
    isNullable, preset: schema.default };
}

// The one field that the whole schema is; null or nothing: any value.
export function rootField(schema: Json): Field {
  const root = isObject(schema) ? schema : {};
  return fieldOf(root, root, "", true);
}
