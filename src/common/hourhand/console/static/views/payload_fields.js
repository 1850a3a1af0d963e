// The payload of a job: a form built from the handler's schema, or JSON.
import { html, useMemo, useState } from "../lib/html.js";
import { Field, JsonEditor, SelectField, TextField } from "../lib/components.js";
import { visible } from "../lib/format.js";
import { jsonFault } from "../lib/json_fault.js";
import { fieldsOf, initialTexts, payloadOf, textsOf } from "../lib/schema.js";

/** The payload that a new form starts with: the defaults of the schema, else the handler's first example. */
export function firstPayload({ payload_schema: schema, payload_examples: examples }) {
  const fields = schema ? fieldsOf(schema) : null;
  if (fields) return payloadOf(fields, initialTexts(fields));
  return examples?.length > 0 ? JSON.stringify(examples[0], null, 2) : "{}";
}

/** Edit `text`, the payload as JSON. `wrong(path)` is the API's error of a field. */
export function PayloadFields({ schema, text, onChange, hint, wrong }) {
  const fields = useMemo(() => (schema ? fieldsOf(schema) : null), [schema]);
  const [texts, setTexts] = useState(() => fields && textsOf(fields, text));
  const editor = html`<${JsonEditor} label="Payload (JSON)" text=${text} onChange=${onChange} error=${wrong("payload")} hint=${hint} />`;
  if (!fields || fields.length === 0) return editor;
  if (!texts) {
    const readable = textsOf(fields, text);
    return html`<${ModeBar} label="Form" isDisabled=${!readable} onClick=${() => setTexts(readable)}
        title=${readable ? "Show a field for each property" : "The form cannot show this payload"} />${editor}`;
  }
  const change = (name) => (value) => {
    const changed = { ...texts, [name]: value };
    setTexts(changed);
    onChange(payloadOf(fields, changed));
  };
  const isBroken = jsonFault(text) !== null;
  return html`<${ModeBar} label="JSON" isDisabled=${isBroken} onClick=${() => setTexts(null)}
      title=${isBroken ? "Correct the marked fields first" : "Edit the payload as JSON"} />
    <div class="field-wide payload-fields" role="group" aria-label="Payload">
      <div class="fields">${fields.map((field) => html`<${PayloadField} key=${field.name} field=${field} value=${texts[field.name]}
        onChange=${change(field.name)} error=${wrong(`payload.${field.name}`)} />`)}</div>
      ${hint && html`<p class="field-hint">${hint}</p>`}
    </div>`;
}

function ModeBar({ label, onClick, title, isDisabled = false }) {
  return html`<div class="field-wide payload-mode"><h2>Payload</h2>
    <button type="button" class="button button-small" disabled=${isDisabled} onClick=${onClick} title=${title}>${label}</button></div>`;
}

function PayloadField({ field, value, onChange, error }) {
  const { name, kind, isRequired, choices, hint } = field;
  const label = html`<bdi class="mono">${visible(name)}</bdi>${isRequired && html` <span class="required">required</span>`}`;
  const common = { label, hint: hint && visible(hint), error, value, onChange };
  switch (kind) {
    case "choice":
      return html`<${SelectField} ...${common} options=${[["", isRequired ? "Choose" : "not given"], ...choices.map((one) => [JSON.stringify(one), String(one)])]} />`;
    case "flag":
      return html`<${SelectField} ...${common} options=${[["", isRequired ? "Choose" : "not given"], "true", "false"]} />`;
    case "number":
      return html`<${TextField} ...${common} inputmode="decimal" />`;
    case "json": {
      const fault = value.trim() ? jsonFault(value) : null;
      const message = fault ? `Line ${fault.line}, column ${fault.column}: ${fault.message}.` : error;
      return html`<${Field} label=${label} hint=${hint && visible(`JSON: ${hint}`)} error=${message} isWide>
        ${(ties) => html`<textarea class="input mono" rows=${Math.min(Math.max(value.split("\n").length, 2), 12)} value=${value}
          spellcheck=${false} autocapitalize="off" ...${ties} onInput=${(event) => onChange(event.currentTarget.value)}></textarea>`}
      <//>`;
    }
    default:
      return html`<${TextField} ...${common} />`;
  }
}
