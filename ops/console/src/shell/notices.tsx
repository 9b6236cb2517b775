// Short sentences about what came of an action: they are read out, and go by themselves or when they are closed.
import { signal } from "@preact/signals";

interface Notice {
  id: number;
  says: string;
  isRefusal: boolean;
}

const notices = signal<Notice[]>([]);
let last = 0;

export function dismiss(id: number): void {
  notices.value = notices.value.filter((notice) => notice.id !== id);
}

export function say(says: string): void {
  last += 1;
  const id = last;
  notices.value = [...notices.value, { id, says, isRefusal: false }];
  setTimeout(() => dismiss(id), 8000);
}

// A refusal stays until it is closed.
export function sayRefusal(fault: unknown): void {
  last += 1;
  const says = fault instanceof Error ? fault.message : String(fault);
  notices.value = [...notices.value, { id: last, says, isRefusal: true }];
}

export function Notices() {
  return (
    <div class="notices" role="status" aria-live="polite">
      {notices.value.map((notice) => (
        <p key={notice.id} class={notice.isRefusal ? "notice refusal" : "notice"}>
          <bdi>{notice.says}</bdi>
          <button type="button" class="quiet" aria-label="Close" onClick={() => dismiss(notice.id)}>×</button>
        </p>
      ))}
    </div>
  );
}
