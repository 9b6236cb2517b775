// The way to the API: the token, requests, refusals, and whether the server answers. A token is kept for this tab's
// session only.
import { signal } from "@preact/signals";
import type { Caller, Refused, Role } from "./types";

export const base = new URL("api/v1/", new URL(".", location.href));

export const token = signal(sessionStorage.getItem("cairn.token") ?? "");
export const isTokenAsked = signal(false);
export const connection = signal<"here" | "lost">("here");
export const caller = signal<Caller | undefined>();

// Whether the caller's token allows what needs the role; what it does not is not offered.
export function may(role: Role): boolean {
  const roles = caller.value?.roles ?? [];
  return roles.includes(role) || roles.includes("admin");
}

// Whether the token may bring a text of that graph: of a built-in one only that of an admin may.
export const mayBring = (graph: { built_in: boolean }) => may(graph.built_in ? "admin" : "operate");

// Not a token with a scope; until the server has said who asks, anyone.
export const seesAll = () => caller.value?.all_runs !== false;

// The same for what concerns all runs, which a token with a scope may not do.
export const mayForAll = (role: Role) => may(role) && caller.value?.all_runs === true;

// What concerns all queues as well, as schedules do, is refused to a token with a scope of queues alone, too.
export const hasNoScope = () => caller.value?.all_runs === true && caller.value.all_queues;

// Whether the token may limit or pause a queue that it sees: one with a scope of queues sees those of its scope alone.
export const mayLimit = () => may("operate") && (caller.value?.all_runs === true || caller.value?.all_queues === false);

// A sentence of the server, with its code; "lost": the server did not answer.
export class Refusal extends Error {
  constructor(
    readonly code: string, message: string, readonly status: number, readonly faults: string[] = [],
    readonly ends: number[] = [], // of commits, next to an event inside one
  ) {
    super(message);
  }
}

export type Query = Record<string, string | number | boolean | undefined> | [string, string][];

export function address(path: string, query: Query = {}): URL {
  const url = new URL(path, base);
  const terms = Array.isArray(query) ? query : Object.entries(query);
  for (const [key, value] of terms)
    if (value !== undefined && value !== "") url.searchParams.append(key, String(value));
  return url;
}

export interface Asked {
  method?: string;
  body?: unknown;
  headers?: Record<string, string>;
  signal?: AbortSignal;
}

async function refusalOf(response: Response): Promise<Refusal> {
  const text = await response.text();
  try {
    const { error } = JSON.parse(text) as Refused;
    return new Refusal(error.code, error.message, response.status, error.faults, error.ends);
  } catch {
    return new Refusal("internal", `The server answered with status ${response.status}.`, response.status);
  }
}

export async function send(url: URL, asked: Asked = {}): Promise<Response> {
  const headers: Record<string, string> = { ...asked.headers };
  if (token.value !== "") headers.Authorization = `Bearer ${token.value}`;
  const init: RequestInit = { method: asked.method ?? "GET", headers };
  if (asked.signal !== undefined) init.signal = asked.signal;
  if (asked.body !== undefined) {
    headers["Content-Type"] = "application/json";
    init.body = JSON.stringify(asked.body);
  }
  let response: Response;
  try {
    response = await fetch(url, init);
  } catch (fault) {
    if (asked.signal?.aborted === true) throw fault;
    connection.value = "lost";
    throw new Refusal("lost", "Expected the server to answer, but it does not.", 0);
  }
  connection.value = response.status === 502 || response.status === 504 ? "lost" : "here";
  if (response.ok) return response;
  if (response.status === 401) isTokenAsked.value = true;
  throw await refusalOf(response);
}

export async function get<T>(path: string, query: Query = {}, signal?: AbortSignal): Promise<T> {
  const response = await send(address(path, query), signal === undefined ? {} : { signal });
  return (await response.json()) as T;
}

export async function post<T>(path: string, body: unknown, signal?: AbortSignal): Promise<T> {
  const asked: Asked = { method: "POST", body };
  if (signal !== undefined) asked.signal = signal;
  return (await (await send(address(path), asked)).json()) as T;
}

export interface Page<T> {
  items: T[];
  next: string | undefined; // the value of `after` or `from` that goes on
}

// A list with the parameter that its next page is asked with, as the header Link has it.
export async function getPage<T>(path: string, query: Query, goesOn: string, signal?: AbortSignal): Promise<Page<T>> {
  const response = await send(address(path, query), signal === undefined ? {} : { signal });
  const target = /<([^>]*)>;\s*rel="?next"?/.exec(response.headers.get("Link") ?? "")?.[1];
  const next = target === undefined ? undefined : new URL(target, base).searchParams.get(goesOn) ?? undefined;
  return { items: (await response.json()) as T[], next };
}

export async function meetCaller(): Promise<void> {
  const index = await get<{ caller: Caller }>("");
  caller.value = index.caller;
  isTokenAsked.value = false;
}

export async function takeToken(given: string): Promise<void> {
  token.value = given.trim();
  await meetCaller();
  sessionStorage.setItem("cairn.token", token.value);
}
