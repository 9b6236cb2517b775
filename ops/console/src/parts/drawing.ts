// A drawing of the server as elements of this page: only shapes and texts are taken over, and none of their colours.
// Nodes and edges have their names in data-node, data-edge and data-label, and nodes can be reached by keyboard.
const space = "http://www.w3.org/2000/svg";
const shapes = new Set(["g", "path", "polygon", "polyline", "ellipse", "text", "title"]);
const attributes = new Set(["d", "points", "cx", "cy", "rx", "ry", "x", "y", "transform", "text-anchor"]);

const textIn = (source: Element, kind: string) =>
  [...source.children].find((child) => child.localName === kind)?.textContent ?? "";

function copyOf(source: Element): SVGElement | undefined {
  if (!shapes.has(source.localName)) return undefined;
  const copy = document.createElementNS(space, source.localName);
  for (const { name, value } of source.attributes) if (attributes.has(name)) copy.setAttribute(name, value);
  if (source.localName === "text" || source.localName === "title") {
    copy.textContent = source.textContent;
    return copy;
  }
  for (const child of source.children) {
    const taken = copyOf(child);
    if (taken !== undefined) copy.append(taken);
  }
  const kind = source.getAttribute("class");
  const name = textIn(source, "title");
  if (kind === "node") {
    copy.setAttribute("class", "node");
    copy.setAttribute("data-node", name);
    if (name !== ".") {
      copy.setAttribute("tabindex", "0");
      copy.setAttribute("role", "button");
    }
  } else if (kind === "edge") {
    copy.setAttribute("class", "edge");
    copy.setAttribute("data-edge", name);
    copy.setAttribute("data-label", textIn(source, "text"));
  }
  return copy;
}

export function svgOf(text: string): SVGElement {
  const source = new DOMParser().parseFromString(text, "image/svg+xml").documentElement;
  const drawing = document.createElementNS(space, "svg");
  const box = source.getAttribute("viewBox") ?? "0 0 100 100";
  drawing.setAttribute("viewBox", box);
  const [, , width = 100, height = 100] = box.split(" ").map(Number);
  drawing.style.width = `${Math.round(width * 1.1)}px`;
  drawing.style.aspectRatio = `${width} / ${height}`;
  for (const child of source.children) {
    const taken = copyOf(child);
    if (taken !== undefined) drawing.append(taken);
  }
  // The first polygon of the graph is its background.
  drawing.querySelector(":scope > g > polygon")?.remove();
  return drawing;
}
