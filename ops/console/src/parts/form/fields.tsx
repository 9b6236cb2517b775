// The fields of a form, each with its label, its description and its fault, which are read out with it.
import type { ComponentChildren } from "preact";
import { CodeArea } from "../code/code_area";
import { readDraft, type Draft } from "./draft";
import { shownValue } from "./schema";

const radiosMax = 5;

function describedBy(draft: Draft): string | undefined {
  const parts = [draft.field.says !== "" && `${draft.id}-says`, draft.fault.value !== "" && `${draft.id}-fault`];
  return parts.filter((part) => part !== false).join(" ") || undefined;
}

function Notes({ draft }: { draft: Draft }) {
  return (
    <>
      {draft.field.says !== "" && <p class="field-says muted" id={`${draft.id}-says`}><bdi>{draft.field.says}</bdi></p>}
      {draft.fault.value !== "" && <p class="refusal field-fault" id={`${draft.id}-fault`}>{draft.fault.value}</p>}
    </>
  );
}

// Where a fault was said, it is looked at again with each change.
const changed = (draft: Draft) => {
  if (draft.fault.value !== "") readDraft(draft);
};

function set(draft: Draft, text: string): void {
  draft.text.value = text;
  changed(draft);
}

const Optional = ({ draft }: { draft: Draft }) =>
  draft.field.isRequired ? null : <span class="muted optional"> optional</span>;

function Labelled({ draft, children }: { draft: Draft; children: ComponentChildren }) {
  return (
    <div class="field">
      {draft.field.title !== "" && (
        <label for={draft.id}><bdi>{draft.field.title}</bdi><Optional draft={draft} /></label>
      )}
      {children}
      <Notes draft={draft} />
    </div>
  );
}

function Group({ draft, children }: { draft: Draft; children: ComponentChildren }) {
  return (
    <fieldset class="field" aria-describedby={describedBy(draft)} aria-invalid={draft.fault.value !== ""}>
      <legend class={draft.field.title === "" ? "hidden" : undefined}>
        <bdi>{draft.field.title || "Answer"}</bdi><Optional draft={draft} />
      </legend>
      {children}
      <Notes draft={draft} />
    </fieldset>
  );
}

interface Choice {
  value: string;
  says: string;
}

function Radios({ draft, choices }: { draft: Draft; choices: Choice[] }) {
  return (
    <div class="radios">
      {choices.map((choice) => (
        <label key={choice.value} class="pick">
          <input type="radio" name={draft.id} value={choice.value} checked={draft.text.value === choice.value}
            onChange={() => set(draft, choice.value)} />
          <bdi>{choice.says}</bdi>
        </label>
      ))}
    </div>
  );
}

function EnumField({ draft, options }: { draft: Draft; options: Choice[] }) {
  if (options.length <= radiosMax) {
    const none = draft.field.isRequired ? [] : [{ value: "", says: "No answer" }];
    return <Group draft={draft}><Radios draft={draft} choices={[...options, ...none]} /></Group>;
  }
  return (
    <Labelled draft={draft}>
      <select id={draft.id} aria-label={draft.field.title || "Answer"} aria-describedby={describedBy(draft)}
        aria-invalid={draft.fault.value !== ""} value={draft.text.value}
        onChange={(event) => set(draft, event.currentTarget.value)}>
        <option value="">—</option>
        {options.map((option) => <option key={option.value} value={option.value}>{option.says}</option>)}
      </select>
    </Labelled>
  );
}

function ListField({ draft }: { draft: Draft }) {
  if (draft.field.kind !== "enums") return null;
  const toggle = (at: number) => {
    const picked = new Set(draft.picked.value);
    if (!picked.delete(at)) picked.add(at);
    draft.picked.value = picked;
    changed(draft);
  };
  return (
    <Group draft={draft}>
      <div class="radios">
        {draft.field.options.map((option, at) => (
          <label key={option.says} class="pick">
            <input type="checkbox" checked={draft.picked.value.has(at)} onChange={() => toggle(at)} />
            <bdi>{option.says}</bdi>
          </label>
        ))}
      </div>
    </Group>
  );
}

// A line or an area of text.
function TextField({ draft }: { draft: Draft }) {
  const { field } = draft;
  const common = {
    id: draft.id,
    value: draft.text.value,
    "aria-label": field.title === "" ? "Answer" : undefined,
    "aria-describedby": describedBy(draft),
    "aria-invalid": draft.fault.value !== "",
    "aria-required": field.isRequired,
    onInput: (event: { currentTarget: { value: string } }) => set(draft, event.currentTarget.value),
  };
  if (field.kind === "json")
    return <Labelled draft={draft}><CodeArea {...common} aria-label={field.title || "Answer as JSON"} /></Labelled>;
  if (field.kind === "any" || (field.kind === "text" && field.isLong))
    return <Labelled draft={draft}><textarea class="prose" rows={3} {...common} /></Labelled>;
  const isNumber = field.kind === "number";
  const type = (field.kind === "text" ? field.input : "text") as "text"; // all of them are lines of text to Preact
  return (
    <Labelled draft={draft}>
      <input type={type} inputMode={isNumber ? "decimal" : undefined}
        class={isNumber ? "short" : undefined} autocomplete="off" {...common} />
    </Labelled>
  );
}

function ChoiceField({ draft }: { draft: Draft }) {
  const choices = draft.members.map((member, at) => ({
    value: String(at),
    says: member.field.title || member.field.says || kindWords[member.field.kind] || `Form ${at + 1}`,
  }));
  return (
    <Group draft={draft}>
      <Radios draft={draft} choices={choices} />
      <div class="nested"><FieldShown draft={draft.members[Number(draft.text.value)]!} /></div>
    </Group>
  );
}

const kindWords: Record<string, string> = {
  text: "Text", number: "A number", boolean: "Yes or no", enum: "One of a list", enums: "Some of a list",
  object: "Several fields", json: "JSON", any: "Text",
};

export function FieldShown({ draft, isOutermost = false }: { draft: Draft; isOutermost?: boolean }) {
  const { field } = draft;
  switch (field.kind) {
    case "object":
      if (isOutermost) return <>{draft.members.map((member) => <FieldShown key={member.id} draft={member} />)}</>;
      return (
        <Group draft={draft}>
          <div class="nested">{draft.members.map((member) => <FieldShown key={member.id} draft={member} />)}</div>
        </Group>
      );
    case "boolean":
      return <EnumField draft={draft} options={[{ value: "true", says: "Yes" }, { value: "false", says: "No" }]} />;
    case "enum":
      return <EnumField draft={draft} options={field.options.map(({ says }, at) => ({ value: String(at), says }))} />;
    case "enums": return <ListField draft={draft} />;
    case "choice": return <ChoiceField draft={draft} />;
    case "fixed":
      return <p class="field"><bdi>{field.title}</bdi> <code>{shownValue(field.value)}</code></p>;
    default: return <TextField draft={draft} />;
  }
}
