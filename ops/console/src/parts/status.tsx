// A status in a word, a mark and a colour; the mark is for readers who do not see the colour.
const marks: Record<string, string> = {
  running: "●", waiting: "◔", paused: "Ⅱ", done: "✓", failed: "✕", aborted: "⊘",
  succeeded: "✓", skipped: "–", open: "●", pending: "○", blocked: "○", rejected: "⊘",
  delivered: "✓", parked: "✕", gone: "⊘", on: "●",
};

export function Status({ of }: { of: string }) {
  return (
    <span class={`status is-${of}`}>
      <span aria-hidden="true">{marks[of] ?? "·"}</span>
      {of}
    </span>
  );
}

export const Paused = () => <Status of="paused" />;

// As much of an id as tells two runs apart; commands take it as well.
export const shortId = (run: string) => run.slice(0, 13);
