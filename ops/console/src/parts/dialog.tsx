import type { ComponentChildren } from "preact";
import { useLayoutEffect, useRef } from "preact/hooks";

interface Props {
  title: string;
  onClose: () => void;
  children: ComponentChildren;
}

// A dialog over the page; Escape and its button close it, and the focus goes back to where it was.
export function Dialog({ title, onClose, children }: Props) {
  const place = useRef<HTMLDialogElement>(null);
  useLayoutEffect(() => {
    const before = document.activeElement as HTMLElement | null;
    const dialog = place.current!;
    dialog.showModal();
    return () => {
      const { activeElement: at } = document; // elsewhere already, where a key was quicker
      if (at === null || at === document.body || dialog.contains(at)) before?.focus();
    };
  }, []);
  return (
    <dialog ref={place} aria-label={title} onClose={onClose}>
      <div class="dialog-head">
        <h2>{title}</h2>
        <button type="button" class="quiet" aria-label="Close" onClick={onClose}>×</button>
      </div>
      {children}
    </dialog>
  );
}
