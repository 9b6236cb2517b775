// Where a person would click on an element: {x, y}, or {fault} if that would hit nothing or something else.
// arguments[1]: whether something else may lie over it there, as for a box to scroll in.
const [element, anyhow] = arguments;
if (!element.isConnected) return {fault: 'stale element reference: The element is no longer in the page.'};
element.scrollIntoView({block: 'center', inline: 'center', behavior: 'instant'});
const boxes = [...element.getClientRects()].filter((one) => one.width > 0 && one.height > 0);
if (boxes.length === 0) return {fault: 'element not interactable: The element has no size.'};

function hitAt(x, y) {
  let hit = document.elementFromPoint(x, y);
  while (hit?.shadowRoot) {
    const inner = hit.shadowRoot.elementFromPoint(x, y);
    if (!inner || inner === hit) break;
    hit = inner;
  }
  return hit;
}
function isWithin(node, outer) {
  while (node && node !== outer) node = node.assignedSlot || node.parentElement || node.getRootNode().host;
  return node === outer;
}
const isPierced = getComputedStyle(element).pointerEvents === 'none';
const takes = (hit) => hit && (isWithin(hit, element) || (isPierced && isWithin(element, hit)) ||
  [...(element.labels || [])].some((label) => isWithin(hit, label)));
const named = (one) => one ? `<${one.localName}${one.id ? ` id="${one.id}"` : ''}>` : 'nothing';

let first = null;
for (const box of boxes.slice(0, 3)) {
  const [x0, x1] = [Math.max(box.left, 0), Math.min(box.right, innerWidth)];
  const [y0, y1] = [Math.max(box.top, 0), Math.min(box.bottom, innerHeight)];
  for (const [fx, fy] of [[.5, .5], [.15, .5], [.85, .5], [.5, .15], [.5, .85]]) {
    const [x, y] = [x0 + (x1 - x0) * fx, y0 + (y1 - y0) * fy];
    const hit = hitAt(x, y);
    if (takes(hit)) return {x: x, y: y};
    first ||= {x, y, hit};
  }
}
if (anyhow) return {x: first.x, y: first.y};
return {fault: `element click intercepted: Element ${named(element)} is not clickable at point ` +
  `(${Math.floor(first.x)}, ${Math.floor(first.y)}). Other element would receive the click: ${named(first.hit)}`};
