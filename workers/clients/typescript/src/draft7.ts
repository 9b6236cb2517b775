// A JSON Schema 2020-12 as draft 7 has it, which json-schema-to-typescript reads: tuples are `items` and
// `additionalItems` there. It reads the rest as it is.
import type { Any, Fields } from "./api.js";

const values = new Set(["const", "enum", "default", "examples"]);
const tables = new Set(["properties", "patternProperties", "$defs", "definitions", "dependentSchemas"]);

// A schema, a list of them, or what a schema holds otherwise.
export function inDraft7(schema: Any): Any {
  if (Array.isArray(schema)) return schema.map(inDraft7);
  if (typeof schema !== "object" || schema === null) return schema;
  const translated: Fields = {};
  for (const [keyword, value] of Object.entries(schema)) {
    if (keyword === "prefixItems" || (keyword === "items" && "prefixItems" in schema)) continue;
    if (values.has(keyword)) translated[keyword] = value;
    else if (tables.has(keyword)) translated[keyword] = eachOf(value);
    else if (keyword === "$ref") translated[keyword] = String(value).replaceAll("/prefixItems/", "/items/");
    else translated[keyword] = inDraft7(value);
  }
  if (!("prefixItems" in schema)) return translated;
  translated.items = inDraft7(schema.prefixItems);
  translated.additionalItems = inDraft7(schema.items ?? true);
  return translated;
}

function eachOf(table: Any): Any {
  if (typeof table !== "object" || table === null) return table;
  return Object.fromEntries(Object.entries(table).map(([name, schema]) => [name, inDraft7(schema)]));
}
