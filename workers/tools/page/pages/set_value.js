// For a field into which a person does not type: chooses, or sets and tells the page of it. True: that was one.
const [field, value] = arguments;
const typed = field.localName === 'textarea' || !field.matches('input,select') || (field.localName === 'input' &&
  !['date', 'time', 'datetime-local', 'month', 'week', 'color', 'range'].includes(field.type));
if (typed) return false;
if (field.localName === 'select') {
  const same = (text) => text.replace(/\s+/g, ' ').trim().toLowerCase() === value.trim().toLowerCase();
  const option = [...field.options].find((one) => same(one.text) || same(one.value));
  if (!option) return null;
  field.value = option.value;
} else {
  field.value = value;
  if (field.value === '' && value !== '') return null;
}
field.dispatchEvent(new Event('input', {bubbles: true, composed: true}));
field.dispatchEvent(new Event('change', {bubbles: true}));
return true;
