// The fields of a queue's limits: of all its steps, of those of each key, what a step reserves, and the ageing.
import type { Signal } from "@preact/signals";
import type { LimitTexts, ShareTexts } from "./limits";

interface FieldProps {
  value: string;
  onText: (text: string) => void;
  placeholder: string;
  label?: string;
  size?: "short" | "long";
}

const Field = ({ value, onText, placeholder, label, size = "short" }: FieldProps) => (
  <input type="text" class={size} placeholder={placeholder} value={value} aria-label={label}
    onInput={(event) => onText(event.currentTarget.value)} />
);

interface ShareProps {
  share: ShareTexts;
  onShare: (share: ShareTexts) => void;
  whose: string;
}

function Share({ share, onShare, whose }: ShareProps) {
  const field = (of: keyof ShareTexts, placeholder: string, more: Pick<FieldProps, "label" | "size"> = {}) => (
    <Field value={share[of]} onText={(text) => onShare({ ...share, [of]: text })} placeholder={placeholder} {...more} />
  );
  return (
    <>
      <label>Steps{whose} held at once, over all workers {field("concurrency", "no limit")}</label>
      <fieldset>
        <legend>Steps{whose} that begin, over all workers</legend>
        {field("rate", "no rate", { label: `Steps${whose} that begin in each time` })} in each{" "}
        {field("per", "1", { label: `Seconds of that time${whose}` })} s, and{" "}
        {field("burst", "1", { label: `Steps${whose} at once on top of it` })} at once on top
      </fieldset>
      <label>Budgets{whose}{" "}
        {field("budgets", "no budget: tokens=2000000/day, cost=25/day", { size: "long" })}
      </label>
    </>
  );
}

export function LimitFields({ texts }: { texts: Signal<LimitTexts> }) {
  const change = (changed: Partial<LimitTexts>) => (texts.value = { ...texts.value, ...changed });
  const { all, reserve, key, each, weights, ageing } = texts.value;
  return (
    <>
      <Share share={all} onShare={(share) => change({ all: share })} whose="" />
      <label>Each step reserves{" "}
        <Field value={reserve} onText={(text) => change({ reserve: text })} size="long"
          placeholder="nothing: tokens=4000, cost=0.02" />
      </label>
      <label>Key by which its steps take turns{" "}
        <Field value={key} onText={(text) => change({ key: text })} placeholder="no key: tag.NAME or /PLACE" />
      </label>
      {key.trim() !== "" && <Share share={each} onShare={(share) => change({ each: share })} whose=" of each key" />}
      {key.trim() !== "" && (
        <label>Steps of a key that begin in its turn, a line each{" "}
          <textarea rows={3} class="long" value={weights} placeholder="one of each: acme=3"
            onInput={(event) => change({ weights: event.currentTarget.value })} />
        </label>
      )}
      <label>Seconds of waiting that count as one priority less{" "}
        <Field value={ageing} onText={(text) => change({ ageing: text })} placeholder="no ageing" />
      </label>
    </>
  );
}
