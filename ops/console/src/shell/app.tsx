// The frame of every page: navigation, the state of the connection, the page itself, and what it is as commands.
import { effect, signal } from "@preact/signals";
import type { ComponentChildren, ComponentType } from "preact";
import { useEffect, useLayoutEffect } from "preact/hooks";
import { connection, isTokenAsked, meetCaller, Refusal, seesAll, send } from "../api/client";
import { reloadAll } from "../api/resource";
import { isFilterAsked, useKeys } from "../keys";
import { offeredPages, pages } from "../pages/pages";
import { Bare, Failure, Loading } from "../parts/states";
import { go, route } from "../router";
import { nextTheme } from "../theme";
import { CommandLines } from "./command_lines";
import { Help, isHelpOpen } from "./help";
import { Navigation } from "./navigation";
import { Notices } from "./notices";
import { TokenForm } from "./token_form";

const loaded = signal<Record<string, ComponentType>>({});
const loadFault = signal("");

effect(() => {
  const { page } = route.value;
  const entry = pages[page];
  if (entry === undefined || loaded.peek()[page] !== undefined) return;
  entry.load().then(
    (module) => {
      loadFault.value = "";
      loaded.value = { ...loaded.peek(), [page]: module.Page };
    },
    () => {
      loadFault.value = page;
    },
  );
});

const askAgainMs = 2000;
const answerMs = 5000; // a request that has no answer until then is given up

// Pages that read nothing all the time hear as well when the server is back.
function useAskAgain(isLost: boolean): void {
  useEffect(() => {
    if (!isLost) return;
    const aborter = new AbortController();
    let timer = 0;
    const ask = () => {
      const signal = AbortSignal.any([aborter.signal, AbortSignal.timeout(answerMs)]);
      send(new URL("readyz", new URL(".", location.href)), { signal }).catch(() => undefined).finally(() => {
        if (!aborter.signal.aborted) timer = window.setTimeout(ask, askAgainMs);
      });
    };
    timer = window.setTimeout(ask, askAgainMs);
    return () => {
      aborter.abort();
      clearTimeout(timer);
    };
  }, [isLost]);
}

function Connection() {
  useAskAgain(connection.value === "lost");
  if (connection.value === "here") return null;
  return (
    <p class="lost" role="status">
      The server does not answer. What is shown is how it last was; it is asked again all the time.
    </p>
  );
}

function Shown() {
  const { page } = route.value;
  const entry = pages[page];
  const Page = loaded.value[page];
  useLayoutEffect(() => {
    document.title = entry === undefined ? "Cairn" : `${entry.title} · Cairn`;
    document.getElementById("main")?.focus({ preventScroll: true });
  }, [page]);
  const bare = (state: ComponentChildren) => <Bare title={entry?.title ?? "Nothing"}>{state}</Bare>;
  if (entry === undefined)
    return bare(<Failure error={new Refusal("not_found", `There is no page "${page}".`, 404)} />);
  if (loadFault.value === page)
    return bare(<Failure error={new Refusal("lost", "This page could not be loaded: load the console again.", 0)} />);
  return Page === undefined ? bare(<Loading />) : <Page />;
}

// A page that is opened by a link needs no caller.
function useCaller(isNeeded: boolean): void {
  useEffect(() => {
    if (!isNeeded) return;
    let timer = 0;
    const meet = () => {
      meetCaller().catch((refusal: Refusal) => {
        if (refusal.status !== 401) timer = window.setTimeout(meet, 1000);
      });
    };
    meet();
    return () => clearTimeout(timer);
  }, [isNeeded]);
}

export function App() {
  const isLinked = route.value.page === "answer";
  useCaller(!isLinked);
  const seen = seesAll();
  const bound = offeredPages(seen).map(([name, { key, title }]) => (
    { keys: `g ${key}`, says: title, act: () => go([name]) }
  ));
  const filter = { keys: "/", says: "Filter the runs", act: () => {
    isFilterAsked.value = true;
    go(["runs"]);
  } };
  useKeys([
    { keys: "?", says: "These keys", act: () => (isHelpOpen.value = true) },
    { keys: "r", says: "Read again", act: reloadAll },
    { keys: "t", says: "Light, dark, as the system", act: nextTheme },
  ]);
  useKeys(isLinked ? [] : [filter, ...bound], [seen, isLinked]); // a link leads nowhere else
  if (isLinked) return <><Connection /><main id="main" tabIndex={-1}><Shown /></main></>;
  const page = isTokenAsked.value ? <TokenForm /> : <Shown />;
  return (
    <>
      <a class="skip" href="#main" onClick={(event) => {
        event.preventDefault();
        document.getElementById("main")?.focus();
      }}>To the page</a>
      <Navigation />
      <Connection />
      <main id="main" tabIndex={-1}>{page}</main>
      <CommandLines />
      <Notices />
      <Help />
    </>
  );
}
