// Copies a text, and shows whether that went well.
import { useSignal } from "@preact/signals";

// Whether the text is copied. Browsers keep the clipboard from pages over plain HTTP; there a field is selected, within
// the dialog that is open, if there is one: nothing around it can be selected.
export async function copyText(text: string): Promise<boolean> {
  if (navigator.clipboard !== undefined) return navigator.clipboard.writeText(text).then(() => true, () => false);
  const before = document.activeElement as HTMLElement | null;
  const area = document.createElement("textarea");
  area.value = text;
  ([...document.querySelectorAll("dialog[open]")].at(-1) ?? document.body).append(area);
  area.focus({ preventScroll: true });
  area.select();
  const isCopied = document.execCommand("copy");
  area.remove();
  before?.focus({ preventScroll: true });
  return isCopied;
}

interface Props {
  text: string;
  says: string;
  label?: string; // for those who do not see where it stands
  class: string;
}

export function CopyButton({ text, says, label, class: kind }: Props) {
  const shown = useSignal(says);
  const copy = async () => {
    shown.value = await copyText(text) ? "Copied" : "Not copied: select it, please";
  };
  return <button type="button" class={kind} aria-label={label} onClick={() => void copy()}>{shown.value}</button>;
}
