// Where a frame's window begins in the window around it, after it has been scrolled to; with a point of that window
// given, the fault if something lies over the frame there.
const [frame, x, y] = arguments;
if (!frame.isConnected) return {fault: 'stale element reference: The frame is no longer in the page.'};
if (x === null) frame.scrollIntoView({block: 'nearest', inline: 'nearest', behavior: 'instant'});
const box = frame.getBoundingClientRect();
const style = getComputedStyle(frame);
const left = box.left + frame.clientLeft + parseFloat(style.paddingLeft);
const top = box.top + frame.clientTop + parseFloat(style.paddingTop);
if (x === null) return {x: left, y: top};
let hit = document.elementFromPoint(left + x, top + y);
while (hit?.shadowRoot && hit !== frame) {
  const inner = hit.shadowRoot.elementFromPoint(left + x, top + y);
  if (!inner || inner === hit) break;
  hit = inner;
}
if (hit && hit !== frame)
  return {fault: `element click intercepted: Something else lies over the frame there: <${hit.localName}>`};
return {x: left, y: top};
