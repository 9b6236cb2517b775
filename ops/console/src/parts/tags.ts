// Tags of a run as a person writes them.

// From KEY=VALUE, a line each or after commas.
export function tagsOf(text: string): Record<string, string> {
  const tags: Record<string, string> = {};
  for (const part of text.split(/[,\n]/).map((one) => one.trim()).filter((one) => one !== "")) {
    const [key = "", value] = part.split(/=(.*)/s);
    if (value === undefined) throw new Error(`Expected tags as KEY=VALUE, but found ${part}.`);
    tags[key.trim()] = value.trim();
  }
  return tags;
}

export const tagsText = (tags: Record<string, string>) =>
  Object.entries(tags).map(([key, value]) => `${key}=${value}`).join("\n");
