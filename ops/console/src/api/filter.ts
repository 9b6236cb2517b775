// The language of --where on this side: KEY=VALUE,... with "\," for a comma in a value, as terms and as the parameters
// of a request. What a key or value means, the server says.
export interface Term {
  key: string;
  value: string;
}

export function termsOf(text: string): Term[] {
  const parts = text.trim() === "" ? [] : text.match(/(?:\\,|[^,])+/g) ?? [];
  return parts.map((part) => {
    const whole = part.replaceAll("\\,", ",").trim();
    const equals = whole.indexOf("=");
    return equals < 0 ? { key: whole, value: "" } : { key: whole.slice(0, equals), value: whole.slice(equals + 1) };
  });
}

export function textOf(terms: Term[]): string {
  return terms.map(({ key, value }) => `${key}=${value.replaceAll(",", "\\,")}`).join(",");
}

// As GET /runs takes them.
export function parametersOf(terms: Term[]): [string, string][] {
  return terms.map(({ key, value }) => (key.startsWith("tag.") ? ["tag", `${key.slice(4)}=${value}`] : [key, value]));
}

// As POST /bulk takes them.
export function whereOf(terms: Term[]): Record<string, string> {
  return Object.fromEntries(terms.map(({ key, value }) => [key, value]));
}

// The text with the key's term set, or without it.
export function withTerm(text: string, key: string, value: string | undefined): string {
  const others = termsOf(text).filter((term) => term.key !== key);
  return textOf(value === undefined ? others : [...others, { key, value }]);
}
