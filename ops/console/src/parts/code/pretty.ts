// JSON as a person writes it: a value stands on one line where it fits, otherwise each member on its own.
const width = 100;

function onOneLine(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(onOneLine).join(", ")}]`;
  if (typeof value !== "object" || value === null) return JSON.stringify(value);
  const members = Object.entries(value).map(([key, member]) => `${JSON.stringify(key)}: ${onOneLine(member)}`);
  return members.length === 0 ? "{}" : `{ ${members.join(", ")} }`;
}

// `taken`: characters before it on its line.
export function pretty(value: unknown, indent = 0, taken = 0): string {
  const line = onOneLine(value);
  const isWhole = typeof value !== "object" || value === null || Object.keys(value).length === 0;
  if (isWhole || (indent > 0 && indent + taken + line.length <= width)) return line;
  const inner = " ".repeat(indent + 2);
  const rows = Array.isArray(value)
    ? value.map((one) => inner + pretty(one, indent + 2))
    : Object.entries(value).map(([key, member]) => {
        const name = `${JSON.stringify(key)}: `;
        return inner + name + pretty(member, indent + 2, name.length + 1);
      });
  const [open, close] = Array.isArray(value) ? "[]" : "{}";
  return `${open}\n${rows.join(",\n")}\n${" ".repeat(indent)}${close}`;
}
