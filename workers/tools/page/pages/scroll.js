// Scrolls an element, or the page if it is null, by most of its height, or to an end. False: it could not move.
const [element, way] = arguments;
const style = (one) => getComputedStyle(one);
const moves = (one) => one.scrollHeight > one.clientHeight + 1 || one.scrollWidth > one.clientWidth + 1;
function largest() {
  const all = [...document.querySelectorAll('*')].filter((one) =>
    /auto|scroll/.test(style(one).overflowY + style(one).overflowX) && moves(one));
  const area = (one) => one.clientWidth * one.clientHeight;
  return all.sort((a, b) => area(b) - area(a))[0];
}
let box = element;
while (box && !(moves(box) && /auto|scroll/.test(style(box).overflowY + style(box).overflowX)))
  box = box.parentElement || box.getRootNode().host;
if (!box) box = moves(document.scrollingElement) ? document.scrollingElement : largest() || document.scrollingElement;
const [x, y] = [box.scrollLeft, box.scrollTop];
const to = {up: [x, y - box.clientHeight * 0.85], down: [x, y + box.clientHeight * 0.85], top: [x, 0],
  bottom: [x, box.scrollHeight], left: [x - box.clientWidth * 0.85, y], right: [x + box.clientWidth * 0.85, y]}[way];
box.scrollTo({left: to[0], top: to[1], behavior: 'instant'});
return box.scrollLeft !== x || box.scrollTop !== y;
