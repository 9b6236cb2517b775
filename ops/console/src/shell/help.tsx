import { signal } from "@preact/signals";
import { bindings } from "../keys";
import { Dialog } from "../parts/dialog";

export const isHelpOpen = signal(false);

export function Help() {
  if (!isHelpOpen.value) return null;
  return (
    <Dialog title="Keys" onClose={() => (isHelpOpen.value = false)}>
      <dl class="keys">
        {bindings.value.map((binding) => (
          <div key={binding.keys + binding.says}>
            <dt>{binding.keys.split(" ").map((key) => <kbd key={key}>{key}</kbd>)}</dt>
            <dd>{binding.says}</dd>
          </div>
        ))}
      </dl>
    </Dialog>
  );
}
