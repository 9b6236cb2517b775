import { signal } from "@preact/signals";
import { bindings, type Binding } from "../keys";
import { Dialog } from "../parts/dialog";

export const isHelpOpen = signal(false);

// Of several for a key the last one, as it is taken.
const acting = (all: Binding[]) => new Map(all.map((binding) => [binding.keys, binding])).values();

export function Help() {
  if (!isHelpOpen.value) return null;
  return (
    <Dialog title="Keys" onClose={() => (isHelpOpen.value = false)}>
      <dl class="keys">
        {[...acting(bindings.value)].map((binding) => (
          <div key={binding.keys + binding.says}>
            <dt>{binding.keys.split(" ").map((key) => <kbd key={key}>{key}</kbd>)}</dt>
            <dd>{binding.says}</dd>
          </div>
        ))}
      </dl>
    </Dialog>
  );
}
