// Tells a page as text: what is to be read, and numbered what can be acted upon. arguments[0]: the number of an element
// to give instead, with its signature; 0: none.
const wanted = arguments[0];
const acted = 'a[href],button,input:not([type=hidden]),select,textarea,summary,[role=button],[role=link],[onclick]';
const kept = new Set(['h1', 'h2', 'h3', 'h4', 'h5', 'h6', 'p', 'li', 'ul', 'ol', 'form', 'fieldset', 'legend', 'table',
  'tr', 'td', 'th', 'caption', 'nav', 'dialog', 'label']);
const unread = new Set(['script', 'style', 'template', 'noscript', 'svg', 'iframe', 'head']);
let count = 0;
let found = null;

const words = (text) => (text || '').replace(/\s+/g, ' ').trim();
const escaped = (text) => text.replace(/&/g, '&amp;').replace(/</g, '&lt;').replace(/>/g, '&gt;');
const quoted = (value) => `"${escaped(String(value)).replace(/"/g, '&quot;')}"`;
const pair = (name, value) => value === '' || value === null || value === undefined ? '' : ` ${name}=${quoted(value)}`;

function isVisible(element) {
  const style = getComputedStyle(element);
  if (style.visibility === 'hidden' || style.display === 'none') return false;
  const box = element.getBoundingClientRect();
  return style.display === 'contents' || (box.width > 0 && box.height > 0);
}

function valueOf(element) {
  if (element.localName === 'select') return words(element.selectedOptions[0]?.text);
  if (element.type === 'password') return element.value ? '***' : '';
  return element.value;
}

// The words of a label without those of the field inside it.
function labelOf(label) {
  const walker = document.createTreeWalker(label, NodeFilter.SHOW_TEXT);
  let text = '';
  while (walker.nextNode()) {
    if (!walker.currentNode.parentElement.closest('select,textarea,button')) text += walker.currentNode.textContent;
  }
  return text;
}

function tellActed(element) {
  const number = ++count;
  if (number === wanted) found = element;
  const isField = element.matches('input,select,textarea');
  const labelled = element.labels && element.labels[0];
  const label = words(element.getAttribute('aria-label') || (labelled && labelOf(labelled)));
  const isInvalid = element.getAttribute('aria-invalid') === 'true' || (isField && element.matches(':user-invalid'));
  const options = element.localName === 'select' ? [...element.options].map((one) => words(one.text)).join('|') : '';
  const attributes = pair('id', number) + pair('type', element.localName === 'input' ? element.type : '') +
    pair('name', element.getAttribute('name')) + pair('label', label) +
    pair('placeholder', element.getAttribute('placeholder')) + (isField ? pair('value', valueOf(element)) : '') +
    pair('options', options) + (element.checked ? ' checked' : '') + (isInvalid ? ' invalid' : '') +
    (element.required ? ' required' : '') + (element.disabled ? ' disabled' : '');
  const text = isField ? '' : escaped(words(element.innerText));
  const end = element.localName === 'input' ? '' : `${text}</${element.localName}>`;
  return `<${element.localName}${attributes}>${end}\n`;
}

function tell(node) {
  if (node.nodeType === Node.TEXT_NODE) return escaped(node.textContent.replace(/\s+/g, ' '));
  if (node.nodeType !== Node.ELEMENT_NODE || unread.has(node.localName) || !isVisible(node)) return '';
  if (node.matches(acted)) return tellActed(node);
  const inner = [...node.childNodes].map(tell).join('');
  const role = node.getAttribute('role');
  if (inner.trim() === '' && node.localName !== 'form') return '';
  const hasText = [...node.childNodes].some((child) => child.nodeType === Node.TEXT_NODE && child.textContent.trim());
  const tag = kept.has(node.localName) ? node.localName : hasText || role ? 'span' : '';
  if (tag === '') return inner;
  const attributes = pair('role', role) + pair('name', node.getAttribute('name')) +
    pair('label', node.getAttribute('aria-label'));
  return `<${tag}${attributes}>${inner.trim()}</${tag}>\n`;
}

const dom = tell(document.body);
if (wanted) return found;
return {url: location.href, title: document.title, dom: dom, ready: document.readyState === 'complete'};
