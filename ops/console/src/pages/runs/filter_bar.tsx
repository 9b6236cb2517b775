// The filter in the language of --where. Completion offers keys, then the values that are known: graphs, statuses, and
// tags of runs that were shown.
import { useSignal } from "@preact/signals";
import { useEffect, useLayoutEffect, useRef } from "preact/hooks";
import { termsOf, withTerm } from "../../api/filter";
import { isFilterAsked, useKeys } from "../../keys";
import { useCompletions } from "./completions";
import { useCounts } from "./counts";

const statuses = ["running", "waiting", "paused", "done", "failed", "aborted"];

export function FilterBar({ where, onChange }: { where: string; onChange: (where: string) => void }) {
  const text = useSignal(where);
  const isOpen = useSignal(false);
  const marked = useSignal(-1);
  const field = useRef<HTMLInputElement>(null);
  useLayoutEffect(() => {
    text.value = where;
  }, [where]);
  useKeys([{ keys: "/", says: "Filter", act: () => field.current?.focus() }]);
  useEffect(() => {
    if (isFilterAsked.value) field.current?.focus();
    isFilterAsked.value = false;
  }, [isFilterAsked.value]);
  const offered = useCompletions(text.value, isOpen.value);
  const counts = useCounts();
  const areAll = termsOf(where).every((term) => term.key === "status"); // else the counts are of other runs
  const take = (index: number) => {
    const offer = offered[index];
    if (offer === undefined) return;
    text.value = offer.text;
    marked.value = -1;
    if (offer.isWhole) submit();
  };
  const submit = () => {
    isOpen.value = false;
    onChange(text.value.replace(/,\s*$/, ""));
  };
  const onKey = (event: KeyboardEvent) => {
    if (event.key === "ArrowDown" || event.key === "ArrowUp") {
      event.preventDefault();
      isOpen.value = true;
      const count = offered.length;
      if (count > 0) marked.value = (marked.value + (event.key === "ArrowDown" ? 1 : count) + count) % count;
    } else if (event.key === "Tab" && marked.value >= 0) {
      event.preventDefault();
      take(marked.value);
    } else if (event.key === "Enter") {
      event.preventDefault();
      if (isOpen.value && marked.value >= 0) take(marked.value);
      else submit();
    } else if (event.key === "Escape") {
      isOpen.value = false;
    }
  };
  const shown = isOpen.value && offered.length > 0;
  const status = termsOf(where).find((term) => term.key === "status")?.value;
  return (
    <div class="filter">
      <div class="filter-field">
        <input ref={field} type="text" role="combobox" aria-label="Filter, as --where" aria-expanded={shown}
          aria-controls="filter-offers" aria-autocomplete="list" spellcheck={false} autocomplete="off"
          aria-activedescendant={shown && marked.value >= 0 ? `filter-offer-${marked.value}` : undefined}
          placeholder="graph=order,status=failed,tag.team=a,since=2h" value={text.value}
          onFocus={() => (isOpen.value = true)} onBlur={() => (isOpen.value = false)} onKeyDown={onKey}
          onInput={(event) => {
            text.value = event.currentTarget.value;
            isOpen.value = true;
            marked.value = -1;
          }} />
        <ul id="filter-offers" role="listbox" aria-label="Completions" class="offers" hidden={!shown}>
          {offered.map((offer, index) => (
            <li key={offer.text} id={`filter-offer-${index}`} role="option" aria-selected={index === marked.value}
              onMouseDown={(event) => {
                event.preventDefault();
                take(index);
              }}><bdi>{offer.shown}</bdi> <span class="muted">{offer.says}</span></li>
          ))}
        </ul>
      </div>
      <div class="statuses" role="group" aria-label="Status">
        {["", ...statuses].map((word) => (
          <button type="button" key={word} class="chip" aria-pressed={(status ?? "") === word}
            onClick={() => onChange(withTerm(where, "status", word === "" ? undefined : word))}>
            {word === "" ? "all" : word}
            {areAll && (counts[word] ?? 0) > 0 && <span class="muted number"> {counts[word]!.toLocaleString()}</span>}
          </button>
        ))}
      </div>
    </div>
  );
}
