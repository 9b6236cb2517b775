// The fields of a queue's limits: of all its steps, of those of each key, and the ageing.
import type { Signal } from "@preact/signals";
import type { LimitTexts, ShareTexts } from "./limits";

interface FieldProps {
  value: string;
  onText: (text: string) => void;
  placeholder: string;
  label?: string;
}

const Field = ({ value, onText, placeholder, label }: FieldProps) => (
  <input type="text" class="short" placeholder={placeholder} value={value} aria-label={label}
    onInput={(event) => onText(event.currentTarget.value)} />
);

interface ShareProps {
  share: ShareTexts;
  onShare: (share: ShareTexts) => void;
  whose: string;
}

function Share({ share, onShare, whose }: ShareProps) {
  const field = (of: keyof ShareTexts, placeholder: string, label?: string) => (
    <Field value={share[of]} onText={(text) => onShare({ ...share, [of]: text })} placeholder={placeholder}
      label={label} />
  );
  return (
    <>
      <label>Steps{whose} held at once, over all workers {field("concurrency", "no limit")}</label>
      <fieldset>
        <legend>Steps{whose} that begin, over all workers</legend>
        {field("rate", "no rate", `Steps${whose} that begin in each time`)} in each{" "}
        {field("per", "1", `Seconds of that time${whose}`)} s, and{" "}
        {field("burst", "1", `Steps${whose} at once on top of it`)} at once on top
      </fieldset>
    </>
  );
}

export function LimitFields({ texts }: { texts: Signal<LimitTexts> }) {
  const change = (changed: Partial<LimitTexts>) => (texts.value = { ...texts.value, ...changed });
  const { all, key, each, ageing } = texts.value;
  return (
    <>
      <Share share={all} onShare={(share) => change({ all: share })} whose="" />
      <label>Key by which its steps take turns{" "}
        <Field value={key} onText={(text) => change({ key: text })} placeholder="no key: tag.NAME or /PLACE" />
      </label>
      {key.trim() !== "" && <Share share={each} onShare={(share) => change({ each: share })} whose=" of each key" />}
      <label>Seconds of waiting that count as one priority less{" "}
        <Field value={ageing} onText={(text) => change({ ageing: text })} placeholder="no ageing" />
      </label>
    </>
  );
}
