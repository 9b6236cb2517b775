// Tells a frame as text: what is to be read, and numbered what can be acted upon. An element keeps its number as long
// as it lives. arguments: the next free number, the bytes that may be told, the number of elements that listen to
// presses; then these elements, and after them those that listen to the mouse's moves.
const [first, bytesMax, presses] = arguments;
const pressed = new Set([...arguments].slice(3, 3 + presses));
const hovered = new Set([...arguments].slice(3 + presses));
const seen = globalThis.cairnSeen ||= {numberOf: new WeakMap(), secrets: new WeakSet()};
seen.byNumber = new Map();
seen.frames = [];
let next = first;
let left = bytesMax;

const native = 'a[href],area[href],button,input:not([type=hidden]),select,textarea,summary,[onclick],[onmousedown],' +
  '[onmouseup],[draggable=true],[contenteditable=""],[contenteditable=true],[contenteditable=plaintext-only]';
const roles = new Set(['button', 'link', 'checkbox', 'radio', 'switch', 'tab', 'option', 'menuitem',
  'menuitemcheckbox', 'menuitemradio', 'treeitem', 'textbox', 'searchbox', 'combobox', 'spinbutton', 'slider',
  'scrollbar', 'gridcell']);
const fields = 'input,select,textarea';
const kept = new Set(['h1', 'h2', 'h3', 'h4', 'h5', 'h6', 'p', 'li', 'ul', 'ol', 'dl', 'dt', 'dd', 'form', 'fieldset',
  'legend', 'table', 'tr', 'td', 'th', 'caption', 'nav', 'dialog', 'label', 'main', 'section', 'article', 'header',
  'footer', 'pre', 'blockquote']);
const unread = new Set(['script', 'style', 'template', 'noscript', 'head', 'object', 'embed']);
const lists = 'ul,ol,tbody,[role=list],[role=listbox],[role=grid],[role=menu],[role=tree]';
const hintsMax = 60;
const textMax = 400;

const words = (text) => (text || '').replace(/[\s\u200b\ue000]+/g, ' ').trim();
// With a mark where it is cut, since a secret may be cut there, which is then found by the mark alone.
const cut = (text, most) => text.length > most ? text.slice(0, most) + '\u2026' : text;
// Its end, from a whole word on, where words have spaces between them.
const endOf = (text, most) => text.length <= most ? text
  : text[text.length - most - 1] === ' ' ? text.slice(-most) : text.slice(-most).replace(/^[!-~]*\s*/, '');
const escaped = (text) => text.replace(/&/g, '&amp;').replace(/</g, '&lt;').replace(/>/g, '&gt;');
const quoted = (value) => `"${escaped(words(String(value))).replace(/"/g, '&quot;')}"`;
const pair = (name, value) => value === '' || value === null || value === undefined || value === false ? '' :
  value === true ? ` ${name}` : ` ${name}=${quoted(value)}`;
const styles = new Map();
function styleOf(element) {
  if (!styles.has(element)) styles.set(element, getComputedStyle(element));
  return styles.get(element);
}

// --- the tree as it is shown -------------------------------------------------------------------------------------
function childrenOf(element) {
  if (element.shadowRoot) return [...element.shadowRoot.childNodes];
  if (element.localName !== 'slot') return [...element.childNodes];
  const given = element.assignedNodes({flatten: true});
  return given.length > 0 ? given : [...element.childNodes];
}

const parentOf = (node) => node.assignedSlot || node.parentElement || node.getRootNode().host || null;

function isWithin(node, outer) {
  while (node && node !== outer) node = parentOf(node);
  return node === outer;
}

function hitAt(x, y) {
  let hit = document.elementFromPoint(x, y);
  while (hit?.shadowRoot) {
    const inner = hit.shadowRoot.elementFromPoint(x, y);
    if (!inner || inner === hit) break;
    hit = inner;
  }
  return hit;
}

const isNone = (element) => styleOf(element).display === 'none' ||
  (element.localName === 'details' ? false : element.parentElement?.localName === 'details' &&
    !element.parentElement.open && element.localName !== 'summary');

const isShown = (element) => element.checkVisibility ? element.checkVisibility({visibilityProperty: true}) :
  styleOf(element).visibility === 'visible';

// What is cut off by boxes around it that do not scroll. `flow`: for what lies in the flow; `placed`: for what is
// positioned by the nearest positioned box.
const whole = {left: -Infinity, top: -Infinity, right: Infinity, bottom: Infinity};
const common = (a, b) => ({left: Math.max(a.left, b.left), top: Math.max(a.top, b.top),
  right: Math.min(a.right, b.right), bottom: Math.min(a.bottom, b.bottom)});
const isCut = (box, clip) => box.right <= clip.left || box.left >= clip.right || box.bottom <= clip.top ||
  box.top >= clip.bottom || clip.right <= clip.left || clip.bottom <= clip.top;

function clipsIn(element, clips) {
  const style = styleOf(element);
  let {flow, placed} = clips;
  if (style.position === 'fixed') flow = placed = whole;
  if (style.position === 'absolute') flow = placed;
  const cuts = /hidden|clip/.test(style.overflowX + style.overflowY) && element !== document.body &&
    element !== document.documentElement && style.display !== 'contents' && !style.display.startsWith('inline ');
  const scrolls = /auto|scroll/.test(style.overflowX + style.overflowY);
  if (cuts && !scrolls && style.display !== 'inline') {
    flow = common(flow, element.getBoundingClientRect());
    if (style.position !== 'static') placed = flow;
  } else if (style.position !== 'static') {
    placed = flow;
  }
  return {flow, placed};
}

// --- names -------------------------------------------------------------------------------------------------------
const texts = (ids, root) =>
  words(ids.split(/\s+/).map((id) => root.getElementById?.(id)?.textContent || '').join(' '));

// The words of a label without those of the field inside it.
function labelText(label) {
  const walker = document.createTreeWalker(label, NodeFilter.SHOW_TEXT);
  let text = '';
  while (walker.nextNode()) {
    if (!walker.currentNode.parentElement.closest('select,textarea,button')) text += walker.currentNode.textContent;
  }
  return words(text);
}

// The words next to a field that nothing names: before it, for boxes to check after it.
function nearText(element) {
  const isBox = element.type === 'checkbox' || element.type === 'radio';
  const step = isBox ? 'nextSibling' : 'previousSibling';
  for (let node = element[step]; node; node = node[step]) {
    if (node.nodeType === Node.ELEMENT_NODE && (node.matches(fields) || node.matches('button,br') ||
        node.querySelector(fields))) break;
    const text = words(node.textContent);
    if (text) return endOf(text, hintsMax);
  }
  const cell = element.closest('td');
  const before = cell && !isBox && cell.previousElementSibling;
  return before && !before.querySelector(fields) ? endOf(words(before.textContent), hintsMax) : '';
}

function nameOf(element) {
  const by = element.getAttribute('aria-labelledby');
  const named = (by && texts(by, element.getRootNode())) || words(element.getAttribute('aria-label'));
  if (named) return named;
  if (element.labels?.length > 0) return labelText(element.labels[0]);
  if (element.localName === 'svg') return words(element.querySelector('title')?.textContent);
  const own = words(element.getAttribute('alt'));
  if (own || !element.matches(fields)) return own;
  if (['submit', 'reset', 'button'].includes(element.type)) return '';
  return words(element.getAttribute('title')) || nearText(element);
}

function colourOf(element) {
  const style = styleOf(element);
  if (element instanceof SVGElement) return style.fill;
  return style.backgroundColor === 'rgba(0, 0, 0, 0)' ? '' : style.backgroundColor;
}

const fileOf = (url) => (url.match(/([^/"')]+?)(\.\w+)?["')]*$/) || [])[1] || '';

// An image that is drawn, not written: the words of its class.
function iconOf(element) {
  const style = styleOf(element);
  const before = getComputedStyle(element, '::before').content;
  const isDrawn = style.backgroundImage !== 'none' || style.maskImage !== 'none' || style.content.startsWith('url') ||
    (before !== 'none' && before !== 'normal' && before !== '""') || element.localName === 'svg';
  if (!isDrawn || words(element.textContent)) return '';
  const box = element.getBoundingClientRect();
  if (box.width > 80 || box.height > 80) return '';
  return words(element.getAttribute('class') || element.id || fileOf(style.content));
}

function iconIn(element) {
  for (const one of [element, ...[...element.querySelectorAll('*')].slice(0, 20)]) {
    const icon = iconOf(one);
    if (icon) return cut(icon, hintsMax);
  }
  return '';
}

// For an element without words: what its author calls it, and how it looks.
function hintOf(element) {
  const title = words(element.getAttribute('title')) || words(element.querySelector?.('[alt],[title]')?.alt) ||
    words(element.querySelector?.('[title]')?.getAttribute('title')) ||
    words(element.querySelector?.('title')?.textContent);
  if (title) return title;
  const name = element.getAttribute('data-testid') || element.id || element.getAttribute('class') ||
    fileOf(element.querySelector?.('img')?.currentSrc || '') || iconIn(element);
  return cut(words(name), hintsMax);
}

// --- what can be acted upon --------------------------------------------------------------------------------------
const isRoot = (element) => element === document.body || element === document.documentElement;

function isField(element) {
  return element.matches(fields) || element.isContentEditable ||
    ['textbox', 'searchbox', 'spinbutton'].includes(element.getAttribute('role'));
}

function scrolls(element) {
  if (isRoot(element) || element.matches(fields)) return false;
  const style = styleOf(element);
  return /auto|scroll/.test(style.overflowY) && element.scrollHeight > element.clientHeight + 8;
}

function pointsAt(element) {
  if (styleOf(element).cursor !== 'pointer') return false;
  const parent = parentOf(element);
  return !parent || isRoot(parent) || styleOf(parent).cursor !== 'pointer';
}

function isActed(element) {
  if (isRoot(element)) return false;
  if (element.localName === 'label') {
    const control = element.control;
    return Boolean(control && control.type !== 'hidden' && !canBeHit(control));
  }
  if (element.localName === 'a' && element.hasAttribute('href')) return true;
  if (element.matches(native) || roles.has(element.getAttribute('role'))) {
    return !element.parentElement?.closest('[contenteditable=""],[contenteditable=true]') || element.matches(fields);
  }
  if (element.hasAttribute('tabindex') && element.tabIndex >= 0) return true;
  const list = parentOf(element);
  if (list && list.matches?.(lists) && pressed.has(list) && !pressed.has(element)) return true;
  if (pressed.has(element) && !element.matches(lists)) return true;
  if (hovered.has(element) && element.childElementCount < 4) return true;
  return pointsAt(element) || scrolls(element);
}

function boxesOf(element) {
  return [...element.getClientRects()].filter((one) => one.width > 0 && one.height > 0);
}

function canBeHit(element) {
  return !isNone(element) && isShown(element) && boxesOf(element).length > 0;
}

// The points at which a person would try to hit an element, in the part of it that is in the window.
function pointsOf(element) {
  const points = [];
  for (const box of boxesOf(element).slice(0, 3)) {
    const [x0, x1] = [Math.max(box.left, 0), Math.min(box.right, innerWidth)];
    const [y0, y1] = [Math.max(box.top, 0), Math.min(box.bottom, innerHeight)];
    if (x1 <= x0 || y1 <= y0) continue;
    for (const [fx, fy] of [[.5, .5], [.15, .5], [.85, .5], [.5, .15], [.5, .85]])
      points.push([x0 + (x1 - x0) * fx, y0 + (y1 - y0) * fy]);
  }
  return points;
}

const takes = (element, hit) => isWithin(hit, element) || (pierced(element) && isWithin(element, hit)) ||
  [...(element.labels || [])].some((label) => isWithin(hit, label));
const pierced = (element) => styleOf(element).pointerEvents === 'none';

// --- the walk ----------------------------------------------------------------------------------------------------
const acted = new Set();
const covered = new Set();
const overlays = new Set();
const holders = new Set();  // with something in them that can be acted upon
let watched = 0;
let shows = false;  // the characters of a secret that was filled in

function isDialog(element) {
  return element.localName === 'dialog' || ['dialog', 'alertdialog'].includes(element.getAttribute('role')) ||
    element.getAttribute('aria-modal') === 'true' || overlays.has(element);
}

const showsValue = (element) => element.type !== 'password' && isShown(element) &&
  Boolean(element.value ?? element.textContent);

function collect(node, clips) {
  if (node.nodeType !== Node.ELEMENT_NODE || unread.has(node.localName) || isNone(node)) return;
  if (++watched > 50000) return;
  if (seen.secrets.has(node)) shows ||= showsValue(node);
  if (node.shadowRoot && seen.watch) seen.watch(node.shadowRoot);
  const inside = clipsIn(node, clips);
  const outer = styleOf(node).position === 'absolute' ? clips.placed :
    styleOf(node).position === 'fixed' ? whole : clips.flow;
  const boxes = boxesOf(node);
  const label = node.control && isActed(node);
  if (isShown(node) && boxes.some((box) => !isCut(box, outer)) && (label || isActed(node))) acted.add(node);
  for (const child of childrenOf(node)) collect(child, inside);
}

// A box around many things that can be acted upon is no thing to act upon itself, unless it says so.
function leaveOutContainers() {
  const inner = new Map();
  for (const element of acted) {
    for (let outer = parentOf(element); outer; outer = parentOf(outer))
      if (acted.has(outer)) inner.set(outer, (inner.get(outer) || 0) + 1);
  }
  for (const [element, count] of inner) {
    const says = element.matches(native) || roles.has(element.getAttribute('role')) || scrolls(element);
    const box = element.getBoundingClientRect();
    const isWide = box.width * box.height > innerWidth * innerHeight * 0.6;
    if (!says && (count > 6 || isWide)) acted.delete(element);
  }
  for (const element of acted)
    for (let outer = parentOf(element); outer && !holders.has(outer); outer = parentOf(outer)) holders.add(outer);
}

function findCovered() {
  for (const element of acted) {
    const points = pointsOf(element);
    if (points.length === 0) continue;
    const hits = points.map(([x, y]) => hitAt(x, y));
    if (hits.some((hit) => hit && takes(element, hit))) continue;
    covered.add(element);
    const blocker = hits.find((hit) => hit);
    let overlay = null;
    for (let outer = blocker; outer && !isWithin(element, outer); outer = parentOf(outer)) {
      if (/fixed|absolute|sticky/.test(styleOf(outer).position) || isDialog(outer)) overlay = outer;
    }
    if (!overlay || isRoot(overlay)) continue;
    const box = blocker.getBoundingClientRect();
    if (box.width * box.height > innerWidth * innerHeight * 0.2 || words(overlay.innerText)) overlays.add(overlay);
  }
}

function numberFor(element) {
  if (!seen.numberOf.has(element)) seen.numberOf.set(element, next++);
  const number = seen.numberOf.get(element);
  seen.byNumber.set(number, element);
  return number;
}

function valueOf(element) {
  if (element.localName === 'select') return [...element.selectedOptions].map((one) => words(one.text)).join('|');
  if (element.type === 'password' || seen.secrets.has(element)) return element.value ? '***' : '';
  if (element.type === 'file') return [...element.files].map((one) => one.name).join('|');
  if (element.matches(fields)) return element.value;
  if (element.isContentEditable) return words(element.innerText);
  return element.getAttribute('aria-valuetext') || element.getAttribute('aria-valuenow') || '';
}

const isTrue = (element, name) => element.getAttribute(name) === 'true';

function statesOf(element) {
  const isInvalid = isTrue(element, 'aria-invalid') || (element.matches(fields) && element.matches(':user-invalid'));
  const control = element.localName === 'label' ? element.control : element;
  return pair('checked', Boolean(control.checked) || isTrue(element, 'aria-checked')) +
    pair('selected', isTrue(element, 'aria-selected')) + pair('pressed', isTrue(element, 'aria-pressed')) +
    pair('expanded', element.getAttribute('aria-expanded') ??
      (element.localName === 'summary' ? String(Boolean(element.parentElement?.open)) : '')) +
    pair('current', element.getAttribute('aria-current')) + pair('invalid', isInvalid) +
    pair('required', Boolean(element.required) || isTrue(element, 'aria-required')) +
    pair('readonly', Boolean(element.readOnly) && element.matches(fields)) +
    pair('disabled', element.matches(':disabled') || isTrue(element, 'aria-disabled')) +
    pair('covered', covered.has(element));
}

function hrefOf(element) {
  if (!element.href || typeof element.href !== 'string') return '';
  const isHere = element.href.startsWith(location.origin + '/');
  const place = isHere ? element.href.slice(location.origin.length) : element.href;
  return cut(place, 120);
}

function scrollOf(element) {
  const isLong = element.localName === 'textarea' && element.scrollHeight > element.clientHeight + 8;
  if (!scrolls(element) && !isLong) return '';
  return Math.round(100 * element.scrollTop / Math.max(1, element.scrollHeight - element.clientHeight)) + '%';
}

function tagOf(element) {
  if (isDialog(element)) return 'dialog';
  if (element.localName === 'a' && !element.hasAttribute('href')) return 'span';
  const known = ['a', 'button', 'input', 'select', 'textarea', 'summary', 'label'];
  if (known.includes(element.localName) || kept.has(element.localName)) return element.localName;
  return element instanceof SVGElement && element.localName !== 'svg' ? element.localName : 'span';
}

// The words of an element; what comes through a slot is not in its innerText.
function textIn(element) {
  const text = words(element.innerText ?? element.textContent);
  const slot = element.querySelector?.('slot');
  if (!slot || !slot.assignedNodes) return text;
  return words(text + ' ' + slot.assignedNodes({flatten: true}).map((one) => one.textContent).join(' '));
}

// A thing that can be acted upon; `inner`: what is told of the things in it, if there are any.
function tellActed(element, clips) {
  const number = numberFor(element);
  const holds = holders.has(element);
  const isTyped = isField(element);
  const text = isTyped || holds ? '' : cut(textIn(element), textMax);
  const name = nameOf(element);
  const isNamed = Boolean(name || text || element.getAttribute('placeholder') || (!isTyped && holds) ||
    (element.localName === 'input' && element.value && ['submit', 'reset', 'button'].includes(element.type)));
  const icon = holds || isTyped ? '' : iconIn(element);
  const hint = isNamed ? '' : hintOf(element);
  const role = element.getAttribute('role');
  const options = element.localName === 'select' ?
    [...element.options].slice(0, 300).map((one) => words(one.text)).join('|') :
    element.list ? [...element.list.options].slice(0, 50).map((one) => words(one.value)).join('|') : '';
  const tag = tagOf(element);
  const attributes = pair('id', number) + pair('role', role) +
    pair('type', element.localName === 'input' ? element.type : '') + pair('name', element.getAttribute('name')) +
    pair('label', name === text ? '' : name) + pair('placeholder', element.getAttribute('placeholder')) +
    pair('hint', hint) + pair('icon', icon === hint ? '' : icon) +
    pair('colour', isNamed || isTyped ? '' : colourOf(element)) + pair('href', hrefOf(element)) +
    (isTyped || role === 'slider' || role === 'combobox' ? pair('value', cut(valueOf(element), 20000)) : '') +
    pair('contenteditable', element.isContentEditable && !element.matches(fields)) +
    pair('min', element.type === 'range' ? element.min : element.getAttribute('aria-valuemin')) +
    pair('max', element.type === 'range' ? element.max : element.getAttribute('aria-valuemax')) +
    pair('multiple', Boolean(element.multiple)) + pair('options', options) + pair('scroll', scrollOf(element)) +
    statesOf(element);
  if (tag === 'input') return `<${tag}${attributes}>\n`;
  if (!holds) return `<${tag}${attributes}>${escaped(text)}</${tag}>\n`;
  const inner = childrenOf(element).map((child) => tell(child, clips)).join('');
  return `<${tag}${attributes}>${inner.trim()}</${tag}>\n`;
}

function tellText(node, clips) {
  if (!words(node.textContent)) return /\s/.test(node.textContent) ? ' ' : '';
  const parent = node.parentElement || node.getRootNode().host;
  if (parent && !isShown(parent)) return '';
  const range = document.createRange();
  range.selectNodeContents(node);
  const boxes = [...range.getClientRects()];
  if (boxes.length === 0 || boxes.every((box) => isCut(box, clips.flow))) return '';
  return escaped(node.textContent.replace(/[\s\u200b\ue000]+/g, ' '));
}

function tellFrame(element) {
  if (!isShown(element) || boxesOf(element).length === 0) return '';
  seen.frames.push(element);
  const label = pair('label', words(element.title) || words(element.getAttribute('aria-label')));
  return `<iframe${label}>\ue000${seen.frames.length - 1}\ue000</iframe>\n`;
}

function attributesOf(element, role) {
  const isOver = isDialog(element);
  const heading = isOver ? words(element.querySelector('h1,h2,h3,h4,legend')?.textContent) : '';
  const label = nameOf(element) || heading;
  return pair('role', role || (isOver ? 'dialog' : '')) + pair('name', element.getAttribute('name')) +
    pair('label', cut(label, 200)) + pair('overlay', overlays.has(element) && element.localName !== 'dialog');
}

const hoisted = new Set();

function tell(node, clips, isTop = false) {
  if (left <= 0) return '';
  if (node.nodeType === Node.TEXT_NODE) return counted(tellText(node, clips));
  if (node.nodeType !== Node.ELEMENT_NODE || unread.has(node.localName) || isNone(node)) return '';
  if (!isTop && hoisted.has(node)) return '';
  const inside = clipsIn(node, clips);
  if (acted.has(node)) return counted(tellActed(node, inside));
  if (node.localName === 'iframe' || node.localName === 'frame') return counted(tellFrame(node));
  if (node.localName === 'img') {
    const alt = words(node.alt);
    return alt && isShown(node) ? counted(`<img label=${quoted(alt)}>\n`) : '';
  }
  if (isTrue(node, 'aria-hidden') && !holders.has(node)) return '';
  const inner = childrenOf(node).map((child) => tell(child, inside)).join('');
  const role = node.getAttribute('role');
  const isOver = isDialog(node);
  if (inner.trim() === '' && node.localName !== 'form') {
    const icon = !isOver && isShown(node) && node.childElementCount === 0 ? iconOf(node) : '';
    return icon ? counted(`<i${pair('icon', icon)}></i>\n`) : '';
  }
  const hasText = childrenOf(node).some((child) => child.nodeType === Node.TEXT_NODE && child.textContent.trim());
  const tag = isOver ? 'dialog' : kept.has(node.localName) ? node.localName : hasText || role ? 'span' : '';
  if (tag === '') return inner;
  return `<${tag}${attributesOf(node, role)}>${inner.trim()}</${tag}>\n`;
}

function counted(text) {
  left -= text.length;
  return text;
}

if (!document.body) return {url: location.href, title: document.title, dom: '', next: next, frames: 0, ready: false};
const clips = {flow: whole, placed: whole};
collect(document.body, clips);
leaveOutContainers();
findCovered();
// What lies over the rest is told first.
let dom = '';
for (const element of document.querySelectorAll('*')) {
  if (hoisted.size > 20) break;
  if (!isDialog(element) || isNone(element) || [...hoisted].some((outer) => isWithin(element, outer))) continue;
  if (element.contains(document.body)) continue;
  hoisted.add(element);
  dom += tell(element, clips, true);
}
for (const element of overlays) {
  if ([...hoisted].some((outer) => isWithin(element, outer)) || isNone(element)) continue;
  hoisted.add(element);
  dom += tell(element, clips, true);
}
dom += tell(document.body, clips);
// What is shown may lie over the body, beside it.
for (const other of document.documentElement.children)
  if (other !== document.body && other.localName !== 'head') dom += tell(other, clips);
if (left <= 0) dom += '<p>(The rest of the page is not told: it is too long.)</p>\n';
return {url: location.href, title: document.title, dom: dom, next: next, frames: seen.frames.length,
  ready: document.readyState === 'complete', shows: shows};
