// The graph as the server draws it, coloured by the run: nodes that were visited, ways that were taken, the node under
// execution. The drawing is taken apart and rebuilt from its shapes and texts alone.
import { useSignal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import { address, send } from "../../api/client";
import { useResource } from "../../api/resource";
import { svgOf } from "../../parts/drawing";
import { DrawingSize } from "../../parts/drawing_size";
import { Failure, Loading } from "../../parts/states";
import { useRun, type RunView } from "./moment";
import { wayOf } from "./steps";

const drawings = new Map<string, Promise<string>>();

export function drawingOf(version: string): Promise<string> {
  let drawing = drawings.get(version);
  if (drawing === undefined) {
    drawing = send(address(`graphs/${version}`, { format: "svg" })).then((answer) => answer.text());
    drawing.catch(() => drawings.delete(version));
    drawings.set(version, drawing);
  }
  return drawing;
}

function openNodes(view: RunView): Map<string, string> {
  const nodes = new Map<string, string>();
  for (const step of view.open.value)
    if (step.sub_goal === undefined) nodes.set(step.node, step.waits_for);
  return nodes;
}

function colour(place: Element, view: RunView): void {
  const { steps } = view.history;
  place.setAttribute("data-status", view.shown.value?.status ?? "");
  const at = view.at.value;
  const open = openNodes(view);
  const reached = new Map<string, number>();
  const edges = [...place.querySelectorAll<SVGGElement>("[data-edge]")];
  const drawn = new Set(edges.map((edge) => wayOf(edge.dataset.edge!, edge.dataset.label ?? "")));
  for (const edge of edges) {
    const way = edge.dataset.edge!;
    const first = way.startsWith(".->") ? 1 : steps.firstOn(way, edge.dataset.label ?? "", drawn) ?? Infinity;
    edge.classList.toggle("been", first <= at);
    const to = way.slice(way.indexOf("->") + 2);
    reached.set(to, Math.min(first, reached.get(to) ?? Infinity));
  }
  for (const node of place.querySelectorAll<SVGGElement>("[data-node]")) {
    const name = node.dataset.node!;
    const count = name === "." ? 1 : steps.visitsUntil(name, at);
    const isReached = (reached.get(name) ?? Infinity) <= at;
    node.classList.toggle("been", count > 0 || isReached);
    node.classList.toggle("ended", count === 0 && isReached && !open.has(name));
    node.classList.toggle("open", open.has(name));
    node.classList.toggle("asks", open.get(name) === "question");
    const title = node.querySelector("title");
    if (title !== null && name !== ".") title.textContent = `${name}: ${count} ${count === 1 ? "visit" : "visits"}`;
  }
}

export function GraphPicture({ onNode, chosen }: { onNode: (node: string) => void; chosen: string }) {
  const view = useRun();
  const version = (view.shown.value ?? view.head.value!).version;
  const place = useRef<HTMLDivElement>(null);
  const read = useResource<string>(version, () => drawingOf(version));
  const drawn = useSignal(0); // how often; each drawing is coloured
  const text = read.data.value;
  useEffect(() => {
    if (text === undefined) return; // the last one stays while the next is on its way
    place.current?.replaceChildren(svgOf(text));
    drawn.value += 1;
  }, [text]);
  const { at, history: { inherited, known } } = view;
  useEffect(() => {
    if (place.current !== null && drawn.value > 0) colour(place.current, view);
  }, [drawn.value, at.value, known.value, inherited.value, view.shown.value]);
  useEffect(() => {
    for (const node of place.current?.querySelectorAll<SVGGElement>("[data-node]") ?? []) {
      const name = node.dataset.node!;
      node.setAttribute("aria-pressed", String(name === chosen));
      node.classList.toggle("chosen", name === chosen);
    }
  }, [chosen, drawn.value]);
  const choose = (target: EventTarget | null) => {
    const node = (target as Element | null)?.closest<SVGGElement>("[data-node]")?.dataset.node;
    if (node !== undefined && node !== ".") onNode(node === chosen ? "" : node);
  };
  return (
    <>
      {read.error.value !== undefined && text === undefined && <Failure error={read.error.value} />}
      {read.error.value === undefined && drawn.value === 0 && <Loading />}
      <DrawingSize place={place} drawn={drawn.value} />
      <div ref={place} class="drawing" onClick={(event) => choose(event.target)} onKeyDown={(event) => {
        if (event.key !== "Enter" && event.key !== " ") return;
        event.preventDefault();
        choose(event.target);
      }} />
    </>
  );
}
