// Empties a field and puts the cursor into it; the fault that keeps it from being typed into. arguments[1]: whether
// what it holds stays, and the cursor goes behind it.
const [element, stays] = arguments;
if (!element.isConnected) return 'stale element reference: The element is no longer in the page.';
if (element.type === 'file') return 'element not interactable: Files are not given to pages.';
if (element.disabled || element.readOnly) return 'invalid element state: The field takes no text.';
element.scrollIntoView({block: 'center', inline: 'center', behavior: 'instant'});
element.focus();
if (element.getRootNode().activeElement !== element && !element.isContentEditable)
  return 'element not interactable: The field does not take the cursor.';
if (element.isContentEditable) {
  const range = document.createRange();
  range.selectNodeContents(element);
  if (stays) range.collapse(false);
  getSelection().removeAllRanges();
  getSelection().addRange(range);
  if (!stays) document.execCommand('delete');
  return null;
}
if (element.value === undefined || element.value === '') return null;
if (stays) {
  try { element.setSelectionRange(element.value.length, element.value.length); } catch (e) { /* has no cursor */ }
  return null;
}
element.value = '';
element.dispatchEvent(new Event('input', {bubbles: true, composed: true}));
element.dispatchEvent(new Event('change', {bubbles: true}));
element.focus();
return null;
