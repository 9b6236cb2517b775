// For how many milliseconds the frame has not changed. An element that changes again and again (a clock, an animation)
// is left out. arguments[0]: whether an act begins, from which changes are counted.
const seen = globalThis.cairnSeen ||= {numberOf: new WeakMap(), secrets: new WeakSet()};
const timesMax = 8;
if (!seen.watch) {
  seen.changedAt = performance.now();
  const observer = new MutationObserver((changes) => {
    for (const target of new Set(changes.map((one) => one.target))) {
      const times = (seen.times.get(target) || 0) + 1;
      seen.times.set(target, times);
      if (times <= timesMax) seen.changedAt = performance.now();
    }
  });
  const roots = new WeakSet();
  seen.times = new WeakMap();
  seen.watch = (root) => {
    if (roots.has(root)) return;
    roots.add(root);
    observer.observe(root, {subtree: true, childList: true, characterData: true, attributes: true});
  };
  seen.watch(document);
}
if (arguments[0]) {
  seen.times = new WeakMap();
  seen.changedAt = performance.now();
}
return {quiet: performance.now() - seen.changedAt, ready: document.readyState === 'complete'};
