// The graphs by name: which version is current, since when, by whom.
import { useRef } from "preact/hooks";
import { get, may } from "../../api/client";
import { useResource } from "../../api/resource";
import type { GraphListed } from "../../api/types";
import { useKeys } from "../../keys";
import { useChosen } from "../../parts/chosen";
import { Empty, Read } from "../../parts/states";
import { Time } from "../../parts/time";
import { amend, go, link, route } from "../../router";
import { curlLine, useCommandLines } from "../../shell/command_lines";

interface Named {
  name: string;
  current: GraphListed;
  versions: number;
}

function byName(lines: GraphListed[]): Named[] {
  const names = new Map<string, Named>();
  for (const line of lines) {
    const known = names.get(line.name);
    if (known === undefined) names.set(line.name, { name: line.name, current: line, versions: 1 });
    else {
      known.versions += 1;
      if (line.current) known.current = line;
    }
  }
  return [...names.values()].sort((a, b) => a.name.localeCompare(b.name));
}

export function Page() {
  const graphs = useResource<GraphListed[]>("graphs", (signal) => get<GraphListed[]>("graphs", {}, signal), 10_000);
  const word = route.value.query.get("name") ?? "";
  const field = useRef<HTMLInputElement>(null);
  useKeys([{ keys: "/", says: "Names with these letters", act: () => field.current?.focus() }]);
  useCommandLines(curlLine("graphs"), "cairn graph list");
  return (
    <>
      <div class="page-head">
        <h1>Graphs</h1>
        {may("operate") && <a class="button" href={link(["graph"], { show: "text" })}>New graph</a>}
        <div class="page-filter">
          <input ref={field} type="text" aria-label="Names with these letters" placeholder="Name" value={word}
            spellcheck={false} autocomplete="off" onInput={(event) => amend({ name: event.currentTarget.value })} />
        </div>
      </div>
      <Read from={graphs}>
        {(lines) => <List graphs={byName(lines).filter(({ name }) => name.includes(word))} isFiltered={word !== ""} />}
      </Read>
    </>
  );
}

function List({ graphs, isFiltered }: { graphs: Named[]; isFiltered: boolean }) {
  const chosen = useChosen({ rows: graphs, nameOf: ({ name }) => name, noun: "graph", open: ({ name }) =>
    go(["graph", name]) });
  if (graphs.length === 0)
    return isFiltered ? <Empty title="No graph has these letters" /> : (
      <Empty title="No graph is here"><pre>cairn graph add order.json</pre></Empty>
    );
  return (
    <table class="list cards graphs">
      <thead>
        <tr>
          <th scope="col">Graph</th><th scope="col">Current version</th><th scope="col" class="number">Versions</th>
          <th scope="col">Since</th><th scope="col">By</th><th scope="col"><span class="hidden">Runs</span></th>
        </tr>
      </thead>
      <tbody>
        {graphs.map(({ name, current, versions }, index) => (
          <tr key={name} data-row={index} class={index === chosen ? "chosen" : undefined}>
            <td class="name"><a href={link(["graph", name])}><bdi>{name}</bdi></a></td>
            <td><code class="muted" title={current.version}>{current.version.slice(0, 12)}</code></td>
            <td class="number" data-label="Versions">{versions}</td>
            <td data-label="Since">{current.at === undefined ? "–" : <Time at={current.at} />}</td>
            <td data-label="By"><bdi>{current.actor ?? "–"}</bdi></td>
            <td class="row-actions"><a href={link(["runs"], { where: `graph=${name}` })}
              aria-label={`Runs of ${name}`}>Runs</a></td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}
