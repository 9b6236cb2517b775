// A form made from a JSON Schema: fields for what it names, and JSON for what it leaves open. The server checks the
// value; the form keeps to the types.
import { useSignal } from "@preact/signals";
import { useId } from "preact/hooks";

export interface Schema {
  type?: string | string[];
  title?: string;
  description?: string;
  enum?: unknown[];
  const?: unknown;
  oneOf?: Schema[];
  properties?: Record<string, Schema>;
  required?: string[];
  items?: Schema;
  minimum?: number;
  maximum?: number;
  minLength?: number;
  maxLength?: number;
  default?: unknown;
  format?: string;
}

interface FieldProps {
  schema: Schema;
  name: string;
  value: unknown;
  isRequired: boolean;
  onChange: (value: unknown) => void;
  depth?: number;
}

const typeOf = ({ type }: Schema) => (Array.isArray(type) ? type.find((one) => one !== "null") : type);

// What the form begins with.
export function firstValue(schema: Schema): unknown {
  if (schema.default !== undefined) return schema.default;
  if (typeOf(schema) !== "object" || schema.properties === undefined) return undefined;
  const fields = Object.entries(schema.properties).map(([name, field]) => [name, firstValue(field)]);
  return Object.fromEntries(fields.filter(([, value]) => value !== undefined));
}

function choicesOf(schema: Schema): { value: unknown; title: string }[] | undefined {
  if (schema.enum !== undefined) return schema.enum.map((value) => ({ value, title: String(value) }));
  if (schema.oneOf?.every((one) => one.const !== undefined))
    return schema.oneOf.map((one) => ({ value: one.const, title: one.title ?? String(one.const) }));
  return undefined;
}

function Title({ schema, name, isRequired }: { schema: Schema; name: string; isRequired: boolean }) {
  return (
    <>
      <bdi>{schema.title ?? name}</bdi>
      {isRequired && <span class="muted"> required</span>}
    </>
  );
}

function Choice({ schema, name, value, isRequired, onChange }: FieldProps) {
  const choices = choicesOf(schema)!;
  const chosen = choices.findIndex((choice) => JSON.stringify(choice.value) === JSON.stringify(value));
  return (
    <label>
      <Title schema={schema} name={name} isRequired={isRequired} />
      <select required={isRequired} value={chosen < 0 ? "" : String(chosen)}
        onChange={(event) => onChange(choices[Number(event.currentTarget.value)]?.value)}>
        <option value="" disabled={isRequired}>{isRequired ? "Choose…" : "none"}</option>
        {choices.map((choice, index) => <option key={index} value={String(index)}>{choice.title}</option>)}
      </select>
    </label>
  );
}

// A field that is not required can be left open: neither yes nor no.
function YesOrNo({ schema, name, value, isRequired, onChange }: FieldProps) {
  const group = useId();
  return (
    <fieldset class="yes-no">
      <legend><Title schema={schema} name={name} isRequired={isRequired} /></legend>
      {([["Yes", true], ["No", false]] as const).map(([title, means]) => (
        <label key={title}>
          <input type="radio" name={group} required={isRequired} checked={value === means}
            onChange={() => onChange(means)} /> {title}
        </label>
      ))}
    </fieldset>
  );
}

function NumberField({ schema, name, value, isRequired, onChange }: FieldProps) {
  return (
    <label>
      <Title schema={schema} name={name} isRequired={isRequired} />
      <input type="number" required={isRequired} min={schema.minimum} max={schema.maximum}
        step={typeOf(schema) === "integer" ? 1 : "any"} value={typeof value === "number" ? value : ""}
        onInput={(event) => {
          const text = event.currentTarget.value;
          onChange(text === "" ? undefined : Number(text));
        }} />
    </label>
  );
}

function TextField({ schema, name, value, isRequired, onChange }: FieldProps) {
  const text = typeof value === "string" ? value : "";
  const isLong = (schema.maxLength ?? 0) > 120 || text.length > 120;
  const take = (given: string) => onChange(given === "" && !isRequired ? undefined : given);
  const rules = { required: isRequired, minLength: schema.minLength, maxLength: schema.maxLength };
  return (
    <label>
      <Title schema={schema} name={name} isRequired={isRequired} />
      {isLong
        ? <textarea rows={5} {...rules} value={text} onInput={(event) => take(event.currentTarget.value)} />
        : <input type="text" {...rules} value={text} onInput={(event) => take(event.currentTarget.value)} />}
    </label>
  );
}

// For what no other field fits.
export function JsonField({ schema, name, value, isRequired, onChange }: FieldProps) {
  const text = useSignal(value === undefined ? "" : JSON.stringify(value, null, 2));
  return (
    <label>
      <Title schema={schema} name={name} isRequired={isRequired} /> <span class="muted">as JSON</span>
      <textarea rows={4} spellcheck={false} required={isRequired} value={text.value} onInput={(event) => {
        const field = event.currentTarget;
        text.value = field.value;
        try {
          onChange(field.value.trim() === "" ? undefined : JSON.parse(field.value));
          field.setCustomValidity("");
        } catch {
          field.setCustomValidity("Expected JSON: texts stand in double quotes.");
        }
      }} />
    </label>
  );
}

function ObjectField({ schema, name, value, onChange, depth = 0 }: FieldProps) {
  const fields = (value ?? {}) as Record<string, unknown>;
  const content = Object.entries(schema.properties!).map(([key, field]) => (
    <Field key={key} schema={field} name={key} value={fields[key]} depth={depth + 1}
      isRequired={schema.required?.includes(key) ?? false} onChange={(changed) => {
        const next = { ...fields, [key]: changed };
        if (changed === undefined) delete next[key];
        onChange(next);
      }} />
  ));
  if (depth === 0) return <>{content}</>;
  return <fieldset class="group"><legend><bdi>{schema.title ?? name}</bdi></legend>{content}</fieldset>;
}

function kindOf(schema: Schema) {
  if (choicesOf(schema) !== undefined) return Choice;
  const type = typeOf(schema);
  if (type === "boolean") return YesOrNo;
  if (type === "number" || type === "integer") return NumberField;
  if (type === "string") return TextField;
  if (type === "object" && schema.properties !== undefined) return ObjectField;
  return JsonField;
}

export function Field(props: FieldProps) {
  const Kind = kindOf(props.schema);
  return (
    <div class="field">
      <Kind {...props} />
      {props.schema.description !== undefined && <p class="muted"><bdi>{props.schema.description}</bdi></p>}
    </div>
  );
}

// The fields of a value that fits the schema; a text if there is no schema.
export function SchemaForm(props: { schema: unknown; name: string; value: unknown; onChange: (v: unknown) => void }) {
  const given = props.schema as Schema | null | undefined;
  const schema = given === null || given === undefined || Object.keys(given).length === 0 ? {} : given;
  return <Field schema={schema} name={props.name} value={props.value} isRequired onChange={props.onChange} />;
}
