// JSON as it is typed: the strings and members of a text with their places, also of one that is not whole yet; and the
// path of the object or array that a place is in.
export interface Token {
  text: string; // of a string
  from: number;
  to: number; // after its closing quote
  path: string[]; // of the object or array that it is in
  isKey: boolean;
}

export interface Member {
  path: string[]; // with its own name
  from: number; // of its key
  to: number; // after its value
}

export interface Scanned {
  strings: Token[];
  members: Member[];
}

interface Container {
  isObject: boolean;
  key: string;
  isAtKey: boolean; // the next string is a key
  index: number;
  opened: Member | undefined;
}

const depthMax = 200;

function unquoted(raw: string): string {
  try {
    return JSON.parse(raw) as string;
  } catch {
    return raw.replace(/^"|"$/g, "");
  }
}

class Scan {
  readonly strings: Token[] = [];
  readonly members: Member[] = [];
  readonly stack: Container[] = [];
  private pending: Member | undefined; // the member whose value comes next

  path(): string[] {
    return this.stack.map((one) => (one.isObject ? one.key : String(one.index)));
  }

  // The path of the innermost container, without the member that is under way in it.
  place(): string[] {
    return this.path().slice(0, -1);
  }

  string(text: string, from: number, to: number): void {
    const top = this.stack.at(-1);
    const isKey = top?.isObject === true && top.isAtKey;
    this.strings.push({ text, from, to, path: this.place(), isKey });
    if (!isKey) return this.end(to);
    top.key = text;
    top.isAtKey = false;
    this.pending = { path: this.path(), from, to };
    this.members.push(this.pending);
  }

  open(isObject: boolean): void {
    if (this.stack.length >= depthMax) return;
    const opened = this.pending;
    this.pending = undefined;
    this.stack.push({ isObject, key: "", isAtKey: isObject, index: 0, opened });
  }

  close(at: number): void {
    const closed = this.stack.pop();
    if (closed?.opened !== undefined) closed.opened.to = at;
  }

  comma(): void {
    this.pending = undefined;
    const top = this.stack.at(-1);
    if (top === undefined) return;
    top.key = top.isObject ? "" : top.key;
    top.isAtKey = top.isObject;
    top.index += 1;
  }

  end(at: number): void {
    if (this.pending !== undefined) this.pending.to = at;
    this.pending = undefined;
  }
}

const tokens = /"(?:[^"\\\n]|\\.)*"?|[{}[\],:]|[^\s{}[\],:"]+/g;

function scan(text: string, until = text.length): Scan {
  const found = new Scan();
  for (const match of text.matchAll(tokens)) {
    const from = match.index;
    const raw = match[0];
    if (from >= until) break;
    const to = from + raw.length;
    if (raw.startsWith('"')) found.string(unquoted(raw), from, to);
    else if (raw === "{" || raw === "[") found.open(raw === "{");
    else if (raw === "}" || raw === "]") found.close(to);
    else if (raw === ",") found.comma();
    else if (raw !== ":") found.end(to);
  }
  return found;
}

export const scanned = (text: string): Scanned => scan(text);

export interface Here {
  path: string[]; // of the innermost object or array
  isObject: boolean;
  key: string; // that is being written, or whose value is
  isAtKey: boolean;
}

// The surroundings of a place in the text.
export function hereIn(text: string, at: number): Here {
  const found = scan(text, at);
  const top = found.stack.at(-1);
  return { path: found.place(), isObject: top?.isObject ?? false, key: top?.key ?? "", isAtKey: top?.isAtKey ?? false };
}

export function lineOf(text: string, at: number): number {
  let line = 1;
  for (let end = text.indexOf("\n"); end >= 0 && end < at; end = text.indexOf("\n", end + 1)) line += 1;
  return line;
}

// The place at which a parser stopped; nothing: its sentence has none.
export function placeOfFault(text: string, says: string): number | undefined {
  const position = /position (\d+)/.exec(says)?.[1];
  if (position !== undefined) return Number(position);
  return /end of JSON/.test(says) ? text.length : undefined;
}
