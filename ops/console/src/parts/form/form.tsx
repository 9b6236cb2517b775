// A form made from a JSON Schema, which the whole value can also be written into as JSON. Ctrl and Enter send it.
import { useSignal } from "@preact/signals";
import { useMemo, useRef } from "preact/hooks";
import type { ComponentChildren } from "preact";
import type { Refusal } from "../../api/client";
import type { Json } from "../../api/types";
import { CodeArea } from "../code/code_area";
import { draftFor, draftOf, readDraft, readJson, writtenIn, type Draft } from "./draft";
import { FieldShown } from "./fields";
import { rootField } from "./schema";

interface Props {
  schema: Json;
  preset?: Json;
  action: string; // the words on the button
  send: (value: Json) => Promise<void>; // a refusal that it throws is shown
  children?: ComponentChildren; // more fields
  more?: ComponentChildren; // after the button
}

export function SchemaForm({ schema, preset, action, send, children, more }: Props) {
  const field = useMemo(() => rootField(schema), [JSON.stringify(schema)]);
  const filled = useSignal<Draft | undefined>(undefined); // from what was written as JSON
  const first = useMemo(() => draftOf(field, preset), [field]);
  const draft = filled.value?.field === field ? filled.value : first;
  const json = useSignal<string | undefined>(undefined);
  const shownJson = useRef(""); // how the form was shown as JSON
  const says = useSignal<string[]>([]);
  const isBusy = useSignal(false);
  const isJsonAlone = draft.field.kind === "json";
  const submit = async (event?: Event) => {
    event?.preventDefault();
    const read = json.value === undefined ? readDraft(draft) : readJson(json.value);
    says.value = "fault" in read ? [read.fault] : [];
    if ("fault" in read || isBusy.value) return;
    isBusy.value = true;
    try {
      await send(read.value);
    } catch (refusal) {
      const { message, faults = [] } = refusal as Refusal;
      says.value = faults.length > 1 ? faults : [message];
    }
    isBusy.value = false;
  };
  const toggle = () => {
    says.value = [];
    if (json.value === undefined) {
      json.value = shownJson.current = JSON.stringify(writtenIn(draft) ?? {}, null, 2);
      return;
    }
    if (json.value === shownJson.current || json.value.trim() === "") {
      json.value = undefined;
      return;
    }
    const read = readJson(json.value);
    const made = "value" in read ? draftFor(field, read.value) : undefined;
    if (made === undefined) says.value = ["fault" in read ? read.fault : "The form has no place for all of this."];
    else [filled.value, json.value] = [made, undefined];
  };
  return (
    <form class="schema-form" noValidate onSubmit={(event) => void submit(event)} onInput={() => (says.value = [])}
      onKeyDown={(event) => {
        if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) void submit(event);
      }}>
      {json.value === undefined ? <FieldShown draft={draft} isOutermost /> : (
        <CodeArea aria-label="The whole as JSON" value={json.value}
          onInput={(event) => (json.value = event.currentTarget.value)} />
      )}
      {children}
      <div role="alert">{says.value.map((line) => <p class="refusal" key={line}><bdi>{line}</bdi></p>)}</div>
      <div class="buttons">
        <button type="submit" class="primary" disabled={isBusy.value}>{action}</button>
        {more}
        {!isJsonAlone && (
          <button type="button" class="quiet form-toggle" onClick={toggle}>
            {json.value === undefined ? "As JSON" : "As a form"}
          </button>
        )}
      </div>
    </form>
  );
}
