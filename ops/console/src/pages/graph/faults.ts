// The place in a graph's text that a sentence of its check is about: the member that it names, and in it the last word
// in quotes.
import { lineOf, placeOfFault, scanned, type Scanned } from "../../parts/code/json_scan";

export interface Fault {
  says: string;
  isWarning: boolean;
  at: number | undefined; // in the text
  line: number | undefined;
}

const named: [RegExp, string][] = [
  [/\bnode "([^"]+)"/, "nodes"],
  [/\bchannel "([^"]+)"/, "channels"],
  [/\bbudget "([^"]+)"/, "budgets"],
];

function memberOf(says: string, places: Scanned): { from: number; to: number; name: string } | undefined {
  for (const [pattern, folder] of named) {
    const name = pattern.exec(says)?.[1];
    const member = places.members.find(({ path }) => path.length === 2 && path[0] === folder && path[1] === name);
    if (member !== undefined) return { ...member, name: name! };
  }
  const start = /\bgraph's (\w+)/.exec(says)?.[1];
  const member = places.members.find(({ path }) => path.length === 1 && path[0] === start);
  return member === undefined ? undefined : { ...member, name: "" };
}

function placeOf(says: string, places: Scanned): number | undefined {
  const within = memberOf(says, places);
  const words = [...says.replace(/ \(did you mean.*$/, "").matchAll(/"([^"]+)"|'([^']+)'|handler ([\w.]+)/g)]
    .map((match) => match[1] ?? match[2] ?? match[3]!)
    .filter((word) => word !== within?.name);
  for (const word of words.reverse()) {
    const token = places.strings.find(({ text, from, to }) =>
      text === word && from >= (within?.from ?? 0) && to <= (within?.to ?? Infinity));
    if (token !== undefined) return token.from;
  }
  return within?.from;
}

export function faultsIn(text: string, faults: string[], warnings: string[]): Fault[] {
  const places = scanned(text);
  const found = (says: string, isWarning: boolean): Fault => {
    const at = placeOf(says, places);
    return { says, isWarning, at, line: at === undefined ? undefined : lineOf(text, at) };
  };
  return [...faults.map((says) => found(says, false)), ...warnings.map((says) => found(says, true))];
}

// Of a text that is not JSON.
export function syntaxFault(text: string): Fault | undefined {
  try {
    JSON.parse(text);
    return undefined;
  } catch (fault) {
    const says = (fault as Error).message;
    const at = placeOfFault(text, says);
    return { says: `This is not JSON: ${says}.`, isWarning: false, at, line: at === undefined ? undefined
      : lineOf(text, at) };
  }
}
