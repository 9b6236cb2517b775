// Texts of graphs that are being changed, by the graph's name ("" for a new one) and the version that they began with:
// they stay while other parts and pages are looked at or the page is loaded again, until they are added or undone, or
// this tab is closed.
import { effect, signal } from "@preact/signals";

interface Draft {
  name: string;
  version: string;
  text: string;
}

const place = "cairn.drafts";

const drafts = signal<readonly Draft[]>(kept()); // the one that was written to last is the last one

effect(() => {
  try {
    sessionStorage.setItem(place, JSON.stringify(drafts.value));
  } catch {
    // More than the browser keeps for a page: they stay until the page is left, and no earlier text takes their place.
    removeKept();
  }
});

function removeKept(): void {
  try {
    sessionStorage.removeItem(place);
  } catch {
    // a browser that keeps nothing for this page
  }
}

function kept(): Draft[] {
  try {
    return JSON.parse(sessionStorage.getItem(place) ?? "[]") as Draft[];
  } catch {
    return [];
  }
}

const isOf = (draft: Draft, name: string, version: string) => draft.name === name && draft.version === version;

export const draftOf = (name: string, version: string): string | undefined =>
  drafts.value.find((draft) => isOf(draft, name, version))?.text;

// Whose text is being changed.
export const versionInWork = (name: string): string | undefined =>
  drafts.value.findLast((draft) => draft.name === name)?.version;

export function keepDraft(name: string, version: string, text: string): void {
  dropDraft(name, version);
  drafts.value = [...drafts.value, { name, version, text }];
}

export function dropDraft(name: string, version: string): void {
  if (draftOf(name, version) !== undefined) drafts.value = drafts.value.filter((draft) => !isOf(draft, name, version));
}
