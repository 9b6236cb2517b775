// A drawing that is wider than its place is shown as a whole, too small to be read; it can be shown in its own size.
import { useSignal } from "@preact/signals";
import type { RefObject } from "preact";
import { useEffect } from "preact/hooks";

interface Props {
  place: RefObject<HTMLElement | null>;
  drawn: unknown; // changes with each drawing
}

const readable = 0.8; // of its own size

export function DrawingSize({ place, drawn }: Props) {
  const isSmall = useSignal(false);
  const isWhole = useSignal(true);
  useEffect(() => {
    const look = () => {
      const svg = place.current?.querySelector("svg");
      const room = place.current?.clientWidth ?? 0;
      isSmall.value = svg !== null && svg !== undefined && room > 0 && room < readable * parseFloat(svg.style.width);
    };
    const observer = new ResizeObserver(look);
    if (place.current !== null) observer.observe(place.current);
    look();
    return () => observer.disconnect();
  }, [drawn]);
  useEffect(() => {
    place.current?.classList.toggle("own-size", isSmall.value && !isWhole.value);
  }, [isSmall.value, isWhole.value, drawn]);
  if (!isSmall.value) return null;
  return (
    <button type="button" class="quiet drawing-size"
      onClick={() => (isWhole.value = !isWhole.value)}>{isWhole.value ? "Readable size" : "Whole picture"}</button>
  );
}
