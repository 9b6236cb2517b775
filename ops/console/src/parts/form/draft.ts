// What stands in the fields of a form while it is filled in, and the value that it makes. Faults stand at their fields.
import { signal, type Signal } from "@preact/signals";
import type { Json } from "../../api/types";
import { isObject, type Field } from "./schema";

export interface Draft {
  field: Field;
  id: string;
  text: Signal<string>; // of a boolean "true", "false" or ""; of a choice and an enum the place in its list
  picked: Signal<ReadonlySet<number>>;
  fault: Signal<string>;
  members: Draft[];
}

let made = 0;

const same = (a: Json, b: Json) => JSON.stringify(a) === JSON.stringify(b);

const kindsOf: Record<string, string[]> = {
  string: ["text", "any"], number: ["number"], boolean: ["boolean"], object: ["object", "json"],
};

// Whether a value is of the field's kind, roughly: which alternative a form begins with.
function mayBe(field: Field, value: Json): boolean {
  if (field.kind === "fixed") return same(field.value, value);
  if (field.kind === "enum") return field.options.some((option) => same(option.value, value));
  return Array.isArray(value) ? field.kind === "enums" || field.kind === "json"
    : kindsOf[typeof value]?.includes(field.kind) ?? false;
}

function startText(field: Field, preset: Json): string {
  if (field.kind === "enum") {
    const at = field.options.findIndex((option) => same(option.value, preset));
    return at < 0 ? "" : String(at);
  }
  if (field.kind === "choice") return String(Math.max(0, field.alternatives.findIndex((one) => mayBe(one, preset))));
  if (preset === undefined || preset === null) return "";
  if (field.kind === "json") return JSON.stringify(preset, null, 2);
  return typeof preset === "string" ? preset : JSON.stringify(preset);
}

// `isWhole`: what is not in the preset is empty, also where the schema has a default.
export function draftOf(field: Field, preset: Json = field.preset, isWhole = false): Draft {
  made += 1;
  const members = field.kind === "object" ? field.members : field.kind === "choice" ? field.alternatives : [];
  const presetOf = (member: Field) => {
    if (field.kind === "choice" && mayBe(member, preset)) return preset;
    if (field.kind === "object" && isObject(preset) && Object.hasOwn(preset, member.name)) return preset[member.name];
    return isWhole ? null : member.preset;
  };
  const picked = field.kind === "enums" && Array.isArray(preset)
    ? field.options.flatMap((option, at) => (preset.some((one) => same(one, option.value)) ? [at] : [])) : [];
  return { field, id: `field-${made}`, text: signal(startText(field, preset)), picked: signal(new Set(picked)),
    fault: signal(""), members: members.map((member) => draftOf(member, presetOf(member), isWhole)) };
}

type Read = { value: Json } | { fault: string };

function readNumber(field: Field & { kind: "number" }, text: string): Read {
  const value = Number(text.trim());
  if (!Number.isFinite(value)) return { fault: "A number, please." };
  if (field.isInteger && !Number.isInteger(value)) return { fault: "A whole number, please." };
  if (value < field.least) return { fault: `At least ${field.least}.` };
  if (value > field.most) return { fault: `At most ${field.most}.` };
  if (value <= field.above) return { fault: `More than ${field.above}.` };
  if (value >= field.below) return { fault: `Less than ${field.below}.` };
  if (field.step > 0 && Math.abs(value / field.step - Math.round(value / field.step)) > 1e-9)
    return { fault: `A multiple of ${field.step}.` };
  return { value };
}

function patternFits(pattern: string, text: string): boolean {
  try {
    return new RegExp(pattern, "u").test(text);
  } catch {
    return true; // a pattern of another dialect: the server looks at it
  }
}

function readText(field: Field & { kind: "text" }, text: string): Read {
  const length = [...text].length;
  if (length < field.minLength) return { fault: `At least ${field.minLength} characters; here are ${length}.` };
  if (length > field.maxLength) return { fault: `At most ${field.maxLength} characters; here are ${length}.` };
  if (field.pattern !== undefined && !patternFits(field.pattern, text))
    return { fault: `It must match ${field.pattern}.` };
  if (field.input === "email" && !/^\S+@\S+$/.test(text)) return { fault: "An address like ann@example.org, please." };
  if (field.input === "url" && !URL.canParse(text)) return { fault: "An address like https://example.org, please." };
  return { value: text };
}

export function readJson(text: string): Read {
  try {
    return { value: JSON.parse(text) as Json };
  } catch (fault) {
    return { fault: `This is not JSON: ${(fault as Error).message}.` };
  }
}

function readPicked(field: Field & { kind: "enums" }, picked: ReadonlySet<number>): Read {
  const value = field.options.filter((_, at) => picked.has(at)).map((option) => option.value);
  if (value.length < field.least) return { fault: `At least ${field.least} of these.` };
  if (value.length > field.most) return { fault: `At most ${field.most} of these.` };
  return { value };
}

function readFilled(draft: Draft, text: string): Read {
  const { field } = draft;
  switch (field.kind) {
    case "number": return readNumber(field, text);
    case "text": return readText(field, text);
    case "boolean": return { value: text === "true" };
    case "enum": return { value: field.options[Number(text)]!.value };
    case "json": return readJson(text);
    default: return { value: text };
  }
}

// The members that have a value. Each of them is read, so that every fault is shown at once.
function readObject(draft: Draft): Read {
  const value: Record<string, Json> = {};
  let faults = 0;
  for (const member of draft.members) {
    const read = readDraft(member);
    if ("fault" in read) faults += 1;
    else if (read.value !== undefined)
      Object.defineProperty(value, member.field.name, { value: read.value, enumerable: true });
  }
  if (faults > 0)
    return { fault: faults === 1 ? "One field is not right yet." : `${faults} fields are not right yet.` };
  const isLeftOut = Object.keys(value).length === 0 && !draft.field.isRequired;
  return { value: isLeftOut ? undefined : value };
}

// An empty text is no answer; one that is meant can be written as JSON.
function readEmpty(field: Field): Read {
  if (field.isNullable && field.isRequired) return { value: null };
  if (!field.isRequired) return { value: undefined };
  return { fault: field.kind === "boolean" || field.kind === "enum" ? "Choose one, please." : "This is needed." };
}

// The value; undefined: it is left out. The fault stands at the field as well.
export function readDraft(draft: Draft): Read {
  const { field } = draft;
  let read: Read;
  if (field.kind === "object") read = readObject(draft);
  else if (field.kind === "choice") read = readDraft(draft.members[Number(draft.text.value)]!);
  else if (field.kind === "fixed") read = { value: field.value };
  else if (field.kind === "enums")
    read = draft.picked.value.size === 0 && !field.isRequired ? { value: undefined }
      : readPicked(field, draft.picked.value);
  else read = draft.text.value === "" ? readEmpty(field) : readFilled(draft, draft.text.value);
  const isOwn = field.kind !== "object" && field.kind !== "choice";
  draft.fault.value = isOwn && "fault" in read ? read.fault : "";
  return read;
}

// As far as the fields are right: of an object the members that are.
export function writtenIn(draft: Draft): Json {
  if (draft.field.kind === "choice") return writtenIn(draft.members[Number(draft.text.value)]!);
  if (draft.field.kind === "object") {
    const members = draft.members.map((member): [string, Json] => [member.field.name, writtenIn(member)]);
    const written = members.filter(([, value]) => value !== undefined);
    return written.length > 0 || draft.field.isRequired ? Object.fromEntries(written) : undefined;
  }
  const read = readDraft(draft);
  draft.fault.value = "";
  return "value" in read ? read.value : undefined;
}

// Whether all that is in the value is in the other one as well.
function isWithin(value: Json, other: Json): boolean {
  if (Array.isArray(value) && Array.isArray(other))
    return value.length === other.length && value.every((one) => other.some((each) => same(one, each)));
  if (!isObject(value)) return same(value, other);
  return isObject(other) && Object.entries(value).every(([name, member]) => isWithin(member, other[name]));
}

// The form with a value in its fields; undefined: it has no place for some of it.
export function draftFor(field: Field, value: Json): Draft | undefined {
  const draft = draftOf(field, value, true);
  return isWithin(value, textsOf(draft) ?? {}) ? draft : undefined;
}

// What stands in the fields, right or not, where it is a value at all.
function textsOf(draft: Draft): Json {
  const { field } = draft;
  if (field.kind === "choice") return textsOf(draft.members[Number(draft.text.value)]!);
  if (field.kind === "object") {
    const members = draft.members.map((member): [string, Json] => [member.field.name, textsOf(member)]);
    return Object.fromEntries(members.filter(([, value]) => value !== undefined));
  }
  if (field.kind === "fixed") return field.value;
  if (field.kind === "enums")
    return field.options.filter((_, at) => draft.picked.value.has(at)).map((option) => option.value);
  const text = draft.text.value;
  if (text === "") return field.isNullable && field.isRequired ? null : undefined;
  if (field.kind === "number") return Number(text);
  const read = readFilled(draft, text);
  return "value" in read ? read.value : text;
}
