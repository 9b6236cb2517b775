// The pages: each is loaded when it is first opened. To add one: a folder here whose page.tsx exports the component,
// and a line below.
import type { ComponentType } from "preact";

export interface PageModule {
  Page: ComponentType;
}

export interface PageEntry {
  title: string;
  key?: string; // after "g"; a page without one is not in the navigation
  isForAll?: boolean; // a token that does not see all runs is refused all of it
  load: () => Promise<PageModule>;
}

// The pages of the navigation that a caller may see, by name.
export const offeredPages = (seesAll: boolean) =>
  Object.entries(pages).filter(([, { key, isForAll }]) => key !== undefined && (seesAll || isForAll !== true));

export const pages: Record<string, PageEntry> = {
  runs: { title: "Runs", key: "r", load: () => import("./runs/page") },
  run: { title: "Run", load: () => import("./run/page") },
  inbox: { title: "Inbox", key: "i", load: () => import("./inbox/page") },
  queues: { title: "Queues", key: "q", load: () => import("./queues/page") },
  workers: { title: "Workers", key: "w", load: () => import("./workers/page") },
  schedules: { title: "Schedules", key: "s", isForAll: true, load: () => import("./schedules/page") },
  hooks: { title: "Hooks", key: "k", isForAll: true, load: () => import("./hooks/page") },
  graphs: { title: "Graphs", key: "h", load: () => import("./graphs/page") },
  graph: { title: "Graph", load: () => import("./graph/page") },
  proof: { title: "Proof", key: "p", load: () => import("./proof/page") },
  answer: { title: "A question", load: () => import("./answer/page") },
  compare: { title: "Compare", load: () => import("./compare/page") },
};
