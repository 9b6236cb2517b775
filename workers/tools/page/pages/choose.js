// Chooses options of a list by their texts or values; the name of the first that it does not have, or true.
const [field, wanted] = arguments;
if (field.localName !== 'select') return 'a list to choose from';
const same = (text, value) => text.replace(/\s+/g, ' ').trim().toLowerCase() === value.trim().toLowerCase();
const found = [];
for (const value of wanted) {
  const option = [...field.options].find((one) => same(one.text, value)) ||
    [...field.options].find((one) => same(one.value, value));
  if (!option || option.disabled) return value;
  found.push(option);
}
if (found.length > 1 && !field.multiple) return 'several at once';
for (const option of field.options) option.selected = found.includes(option);
field.dispatchEvent(new Event('input', {bubbles: true, composed: true}));
field.dispatchEvent(new Event('change', {bubbles: true}));
return true;
