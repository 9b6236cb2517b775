// Empties a field and puts the cursor into it; the fault that keeps it from being typed into.
const element = arguments[0];
if (!element.isConnected) return 'stale element reference: The element is no longer in the page.';
if (element.type === 'file') return 'element not interactable: Files are not given to pages.';
if (element.disabled || element.readOnly) return 'invalid element state: The field takes no text.';
element.scrollIntoView({block: 'center', inline: 'center', behavior: 'instant'});
element.focus();
if (document.activeElement !== element) return 'element not interactable: The field does not take the cursor.';
if (element.value === '') return null;
element.value = '';
element.dispatchEvent(new Event('input', {bubbles: true}));
element.dispatchEvent(new Event('change', {bubbles: true}));
element.focus();
return null;
