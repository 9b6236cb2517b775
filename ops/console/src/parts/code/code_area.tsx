// An area for code: lines with their numbers, marks at those that have a fault, and Tab as two spaces. Escape and then
// Tab leave it by the keyboard.
import { useSignal } from "@preact/signals";
import type { Ref, TargetedEvent } from "preact";
import { useEffect, useId, useRef } from "preact/hooks";

interface Props {
  value: string;
  onInput: (event: TargetedEvent<HTMLTextAreaElement>) => void;
  id?: string;
  "aria-label"?: string | undefined;
  "aria-describedby"?: string | undefined;
  "aria-invalid"?: boolean;
  "aria-required"?: boolean;
  marks?: ReadonlyMap<number, string>; // by line, from 1: what is wrong there
  rows?: number;
  readOnly?: boolean;
  place?: Ref<HTMLTextAreaElement>;
  onKeyDown?: (event: TargetedEvent<HTMLTextAreaElement, KeyboardEvent>) => void;
  onSelect?: (event: TargetedEvent<HTMLTextAreaElement>) => void;
}

const linesMax = 20_000; // whose numbers are shown

export const lineCount = (text: string) => {
  let count = 1;
  for (let at = text.indexOf("\n"); at >= 0; at = text.indexOf("\n", at + 1)) count += 1;
  return count;
};

function Numbers({ count, marks }: { count: number; marks: ReadonlyMap<number, string> }) {
  const lines = [];
  for (let line = 1; line <= Math.min(count, linesMax); line += 1)
    lines.push(<div key={line} class={marks.has(line) ? "fault" : undefined} title={marks.get(line)}>{line}</div>);
  return <div class="code-numbers" aria-hidden="true">{lines}</div>;
}

export function CodeArea({ marks = new Map(), place, onKeyDown, rows, ...area }: Props) {
  const box = useRef<HTMLDivElement>(null);
  const isLeaving = useSignal(false);
  const count = lineCount(area.value);
  const keysId = useId();
  const described = [area["aria-describedby"], keysId].filter((id) => id !== undefined).join(" ");
  const onScroll = (event: TargetedEvent<HTMLTextAreaElement>) => {
    box.current!.querySelector(".code-numbers")!.scrollTop = event.currentTarget.scrollTop;
  };
  useEffect(() => {
    isLeaving.value = false;
  }, [area.value]);
  const onKey = (event: TargetedEvent<HTMLTextAreaElement, KeyboardEvent>) => {
    onKeyDown?.(event);
    if (event.defaultPrevented) return;
    if (event.key === "Escape") isLeaving.value = true;
    if (event.key !== "Tab" || event.shiftKey || isLeaving.value || area.readOnly === true) return;
    event.preventDefault();
    document.execCommand("insertText", false, "  ");
  };
  return (
    <div class="code-area" ref={box}>
      <Numbers count={count} marks={marks} />
      <span class="hidden" id={keysId}>Tab writes two spaces. Escape and then Tab leave the text.</span>
      <textarea {...area} {...(place === undefined || place === null ? {} : { ref: place })}
        aria-describedby={described} spellcheck={false} wrap="off" autocomplete="off"
        rows={rows ?? Math.min(Math.max(count + 1, 4), 24)} onScroll={onScroll} onKeyDown={onKey} />
    </div>
  );
}
