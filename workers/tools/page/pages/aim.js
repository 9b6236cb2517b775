// Where a person would click on an element: {x, y}, or {fault} if that would hit nothing or something else.
const element = arguments[0];
if (!element.isConnected) return {fault: 'stale element reference: The element is no longer in the page.'};
element.scrollIntoView({block: 'center', inline: 'center', behavior: 'instant'});
const box = [...element.getClientRects()].find((one) => one.width > 0 && one.height > 0);
if (!box) return {fault: 'element not interactable: The element has no size.'};
const middle = (from, to, size) => (Math.max(from, 0) + Math.min(to, size)) / 2;
const x = middle(box.left, box.right, innerWidth);
const y = middle(box.top, box.bottom, innerHeight);
const told = (one) => one ? `<${one.localName}${one.id ? ` id="${one.id}"` : ''}>` : 'nothing';
const hit = document.elementFromPoint(x, y);
const isHit = hit && (element.contains(hit) || [...(element.labels || [])].some((label) => label.contains(hit)));
if (isHit) return {x: x, y: y};
return {fault: `element click intercepted: Element ${told(element)} is not clickable at point ` +
  `(${Math.floor(x)}, ${Math.floor(y)}). Other element would receive the click: ${told(hit)}`};
