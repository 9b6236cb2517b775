// The view is the part of the address after "#": "#/run/ID?at=5". So one page serves all of them, below any prefix.
import { signal } from "@preact/signals";

export interface Route {
  page: string;
  rest: string[];
  query: URLSearchParams;
}

// An address that someone wrote by hand may have no code where one begins.
function decoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

// The id of a run, or what may be the beginning of one.
export const isRun = (text: string) => /^[0-9a-f-]{4,36}$/i.test(text);

function read(): Route {
  const [path = "", query = ""] = location.hash.slice(1).split(/\?(.*)/s);
  const [page = "", ...rest] = path.split("/").filter((part) => part !== "").map(decoded);
  return { page: page || "runs", rest, query: new URLSearchParams(query) };
}

export const route = signal(read());
addEventListener("hashchange", () => {
  route.value = read();
});

type Query = Record<string, string | number | undefined | null>;

export function link(path: string[], query: Query = {}): string {
  const terms = Object.entries(query).filter(([, value]) => value !== undefined && value !== null && value !== "");
  const text = new URLSearchParams(terms.map(([key, value]) => [key, String(value)])).toString();
  return "#/" + path.map(encodeURIComponent).join("/") + (text === "" ? "" : "?" + text);
}

export function go(path: string[], query: Query = {}): void {
  location.hash = link(path, query);
}

// Changes terms of the view's query; without a step in the browser's history where the view stays the same one.
export function amend(query: Query, mode: "replace" | "push" = "replace"): void {
  const { page, rest, query: old } = route.value;
  const to = link([page, ...rest], { ...Object.fromEntries(old), ...query });
  if (to === location.hash) return;
  if (mode === "push") {
    location.hash = to;
  } else {
    history.replaceState(null, "", to);
    route.value = read();
  }
}
