// The picture of a graph as the server draws it; a node that is chosen is shown as its text.
import { useSignal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import { address, send } from "../../api/client";
import { useResource } from "../../api/resource";
import { svgOf } from "../../parts/drawing";
import { DrawingSize } from "../../parts/drawing_size";
import { Read } from "../../parts/states";
import { pretty } from "../../parts/code/pretty";
import { amend, route } from "../../router";
import { inOrder } from "./graph_schema";
import type { Shown } from "./page";

export function Picture({ shown }: { shown: Shown }) {
  const { version } = shown;
  const drawing = useResource<string>(`svg ${version}`, async (signal) =>
    (await send(address(`graphs/${version}`, { format: "svg" }), { signal })).text());
  const chosen = route.value.query.get("node") ?? "";
  return (
    <div class="graph-picture">
      <Read from={drawing}>{(text) => <Drawing text={text} chosen={chosen} />}</Read>
      <NodeText shown={shown} name={chosen} />
    </div>
  );
}

function Drawing({ text, chosen }: { text: string; chosen: string }) {
  const place = useRef<HTMLDivElement>(null);
  const isDrawn = useSignal(false);
  useEffect(() => {
    place.current!.replaceChildren(svgOf(text));
    isDrawn.value = true;
  }, [text]);
  useEffect(() => {
    for (const node of place.current!.querySelectorAll<SVGGElement>("[data-node]")) {
      const isChosen = node.dataset.node === chosen;
      if (node.getAttribute("role") === "button") node.setAttribute("aria-pressed", String(isChosen));
      node.classList.toggle("chosen", isChosen);
    }
  }, [chosen, isDrawn.value, text]);
  const choose = (target: EventTarget | null) => {
    const node = (target as Element | null)?.closest<SVGGElement>("[data-node]")?.dataset.node;
    if (node !== undefined && node !== ".") amend({ node: node === chosen ? null : node });
  };
  return (
    <div class="card">
      <DrawingSize place={place} drawn={isDrawn.value ? text : ""} />
      <div ref={place} class="drawing whole" onClick={(event) => choose(event.target)} onKeyDown={(event) => {
        if (event.key !== "Enter" && event.key !== " ") return;
        event.preventDefault();
        choose(event.target);
      }} />
    </div>
  );
}

function NodeText({ shown, name }: { shown: Shown; name: string }) {
  const nodes = shown.graph.nodes as Record<string, unknown>;
  const { description } = shown.graph as { description?: string };
  if (!Object.hasOwn(nodes, name)) {
    return (
      <section class="node-text card" aria-label="About the graph">
        <h2>{Object.keys(nodes).length} nodes</h2>
        {description !== undefined && <p><bdi>{description}</bdi></p>}
        <p class="muted">Choose a node to read it.</p>
      </section>
    );
  }
  return (
    <section class="node-text card" aria-label={`Node ${name}`}>
      <h2><bdi>{name}</bdi></h2>
      <pre tabIndex={0} aria-label="Its text">{pretty(inOrder(nodes[name], ["nodes", name]))}</pre>
    </section>
  );
}
