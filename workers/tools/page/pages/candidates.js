// The elements of the document and of its open shadow trees that show something and are no controls by themselves: what
// their author listens to says whether they can be acted upon. At most arguments[0].
const native = 'a[href],button,input,select,textarea,option,script,style,head,head *,html,body,br,meta,link,iframe';
// Chromium crashes when it is asked about an element around a field for dates or times.
const timed = 'input[type=date],input[type=time],input[type=datetime-local],input[type=month],input[type=week]';
const found = [];
const roots = [document];
for (let at = 0; at < roots.length; ++at) {
  for (const element of roots[at].querySelectorAll('*')) {
    if (element.shadowRoot && roots.length < 50) roots.push(element.shadowRoot);
    if (found.length >= arguments[0] || element.matches(native)) continue;
    if (element.getClientRects().length > 0 && !element.querySelector(timed)) found.push(element);
  }
}
return found;
