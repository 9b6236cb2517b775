// One graph: its picture, its text, its versions and how they differ, and a start.
import { get, may, Refusal } from "../../api/client";
import { useResource, type Resource } from "../../api/resource";
import type { Graph, GraphListed } from "../../api/types";
import { useKeys } from "../../keys";
import { Failure, Read } from "../../parts/states";
import { Time } from "../../parts/time";
import { amend, link, route } from "../../router";
import { curlLine, useCommandLines } from "../../shell/command_lines";
import { Difference, olderOf } from "./difference";
import { draftOf, versionInWork } from "./drafts";
import { Picture } from "./picture";
import { Start } from "./start";
import { GraphText, NewGraph } from "./text";
import { Versions } from "./versions";

const views = { picture: "Picture", text: "Text", versions: "Versions", start: "Start" } as const;
type View = keyof typeof views | "difference";

export function Page() {
  const name = route.value.rest[0];
  if (name === undefined) return <NewGraph />;
  return <OneGraph key={name} name={name} />;
}

export interface Shown {
  name: string;
  version: string;
  isCurrent: boolean;
  graph: Graph;
  versions: GraphListed[]; // the newest first
}

function viewOf(): View {
  const show = route.value.query.get("show") ?? "";
  return show in views || show === "difference" ? (show as View) : "picture";
}

function versionsOf(name: string, lines: GraphListed[]): GraphListed[] {
  return lines.filter((line) => line.name === name)
    .sort((a, b) => (b.at ?? "").localeCompare(a.at ?? "") || Number(b.current) - Number(a.current));
}

function OneGraph({ name }: { name: string }) {
  const list = useResource<GraphListed[]>("list", (signal) => get<GraphListed[]>("graphs", {}, signal), 10_000);
  return <Read from={list}>{(lines) => <Found name={name} list={list} versions={versionsOf(name, lines)} />}</Read>;
}

interface FoundProps {
  name: string;
  list: Resource<GraphListed[]>;
  versions: GraphListed[];
}

function Found({ name, list, versions }: FoundProps) {
  const current = versions.find((line) => line.current) ?? versions[0];
  const held = versionInWork(name); // stays, whatever is added
  const version = route.value.query.get("version") ?? held ?? current?.version ?? "";
  const graph = useResource<Graph>(version, (signal) => get<Graph>(`graphs/${version}`, {}, signal));
  useLines(name, version, versions);
  if (current === undefined)
    return (
      <>
        <h1><bdi>{name}</bdi></h1>
        <Failure error={new Refusal("not_found", `There is no graph named ${name}.`, 404)} />
      </>
    );
  const line = versions.find((one) => one.version === version);
  return (
    <>
      <div class="page-head graph-head">
        <h1><bdi>{name}</bdi></h1>
        <code class="muted" title={version}>{version.slice(0, 12)}</code>
        {line?.current === true ? <span class="status is-done"><span aria-hidden="true">✓</span>current</span>
          : <a href={link(["graph", name], { show: viewOf(), version: current.version })}>not current: show the current
            version</a>}
        {line?.at !== undefined && (
          <span class="muted">since <Time at={line.at} />{line.actor && <> by <bdi>{line.actor}</bdi></>}</span>
        )}
        <a class="graph-runs" href={link(["runs"], { where: `graph=${name}` })}>Runs</a>
      </div>
      <Tabs isChanged={draftOf(name, version) !== undefined} />
      <Read from={graph}>
        {(text) => <Body shown={{ name, version, isCurrent: line?.current === true, graph: text, versions }}
          onAdded={list.reload} />}
      </Read>
    </>
  );
}

function Tabs({ isChanged }: { isChanged: boolean }) {
  const shown = viewOf() === "difference" ? "versions" : viewOf();
  const offered = Object.entries(views).filter(([view]) => view !== "start" || may("run"));
  const step = (by: number) => {
    const at = offered.findIndex(([view]) => view === shown);
    amend({ show: offered[(at + by + offered.length) % offered.length]![0], from: null }, "push");
  };
  useKeys([
    { keys: "j", says: "Next part", act: () => step(1) },
    { keys: "k", says: "Part before", act: () => step(-1) },
  ], [shown, offered.length]);
  const { page, rest, query } = route.value;
  return (
    <nav class="tabs" aria-label="Parts of the graph">
      {offered.map(([view, title]) => (
        <a key={view} href={link([page, ...rest], { version: query.get("version"), show: view })}
          aria-current={view === shown ? "page" : undefined}>
          {title}{view === "text" && isChanged && <span class="muted"> changed</span>}
        </a>
      ))}
    </nav>
  );
}

interface BodyProps {
  shown: Shown;
  onAdded: () => void;
}

function Body({ shown, onAdded }: BodyProps) {
  switch (viewOf()) {
    case "text": return <GraphText key={shown.version} shown={shown} onAdded={onAdded} />;
    case "versions": return <Versions shown={shown} onAdded={onAdded} />;
    case "difference": return <Difference shown={shown} />;
    case "start": return <Start key={shown.version} shown={shown} />;
    default: return <Picture shown={shown} />;
  }
}

function useLines(name: string, version: string, versions: GraphListed[]): void {
  const view = viewOf();
  const isCurrent = versions.some((line) => line.current && line.version === version);
  const meant = isCurrent ? name : version;
  const path = `graphs/${encodeURIComponent(meant)}`;
  const from = olderOf({ versions, version }) ?? version;
  const both = (line: (version: string) => string) => `diff <(${line(from)}) <(${line(version)})`; // of bash and zsh
  const lines: Record<View, [string, string]> = {
    picture: [curlLine(path, { format: "svg" }), `cairn graph show ${meant} --format svg`],
    text: [curlLine(path), `cairn graph show ${meant}`],
    versions: [curlLine("graphs"), "cairn graph list"],
    difference: [both((of) => curlLine(`graphs/${of}`)), both((of) => `cairn graph show ${of}`)],
    start: [curlLine("runs", {}, { graph: name, input: {} }), `cairn start ${name} --input '{}'`],
  };
  useCommandLines(...lines[view]);
}
