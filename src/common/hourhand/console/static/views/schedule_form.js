// The form of a schedule's definition: the common fields first, all others in groups below.
import { html, useEffect, useId, useState } from "../lib/html.js";
import { CheckField, Field, JsonEditor, SelectField, TextField } from "../lib/components.js";
import { inputTime, instantOf } from "../lib/format.js";
import { useHandlers } from "../lib/handlers.js";
import { faultsOf } from "./schedule_definition.js";
import { COMMON_FIELDS, EXAMPLE_EXPRESSIONS, MORE_GROUPS } from "./schedule_fields.js";

/** Edit a draft of `schedule_definition.js`; `onChange` gets the changed one. */
export function ScheduleForm({ draft, isNew, faults, onChange }) {
  const change = (path) => (text) => onChange({ ...draft, texts: { ...draft.texts, [path]: text } });
  const show = (field) => html`<${EditorField} key=${field.path} field=${field} value=${draft.texts[field.path]}
    error=${faultsOf(faults, field.path)[0]} onChange=${change(field.path)} />`;
  const [expression, ...others] = COMMON_FIELDS;
  return html`<section class="card"><div class="card-body fields">
      ${show(expression)}
      <div class="field-wide chips" role="group" aria-label="Examples of expressions">
        ${EXAMPLE_EXPRESSIONS.map(([words, text]) => html`<button key=${text} type="button" class="button button-small" title=${text}
          onClick=${() => change("expression")(text)}>${words}</button>`)}
      </div>
      ${others.map(show)}
      ${isNew && html`<${CheckField} label="Start paused" isChecked=${draft.texts.paused} onChange=${change("paused")} />`}
    </div></section>
    ${MORE_GROUPS.map((group) => html`<${Group} key=${group.title} group=${group} draft=${draft} faults=${faults} show=${show} />`)}`;
}

/** A group of less common fields: closed, unless one of them is set or wrong. */
function Group({ group, draft, faults, show }) {
  const set = group.fields.filter(({ path, standard }) => draft.texts[path] && draft.texts[path] !== standard).length;
  const isWrong = group.fields.some(({ path }) => faultsOf(faults, path).length > 0);
  const [isOpen, setOpen] = useState(isWrong);
  useEffect(() => {
    if (isWrong) setOpen(true);
  }, [isWrong]);
  return html`<details class="card more-group" open=${isOpen} onToggle=${(event) => setOpen(event.currentTarget.open)}>
    <summary><h2>${group.title}</h2>${set > 0 && html`<span class="muted small">${set} set</span>`}</summary>
    <div class="card-body fields">${group.fields.map(show)}</div>
  </details>`;
}

function EditorField({ field, value, error, onChange }) {
  const { label, hint, unit, standard, isWide } = field;
  const placeholder = field.placeholder ?? standard;
  const common = { label: unit ? `${label} (${unit})` : label, hint, error, value, onChange, isWide };
  switch (field.input) {
    case "check":
      return html`<${CheckField} label=${label} isChecked=${value} onChange=${onChange} />`;
    case "choice":
      return html`<${SelectField} ...${common} value=${value || standard} options=${field.choices} />`;
    case "code":
      return html`<div class="field-wide">
        <${JsonEditor} label=${label} hint=${hint} error=${error} text=${value} onChange=${onChange} />
      </div>`;
    case "handler":
      return html`<${HandlerField} ...${common} />`;
    case "lines":
      return html`<${LinesField} ...${common} rows=${field.rows} isRequired=${field.isRequired} />`;
    case "number":
      return html`<${TextField} ...${common} placeholder=${placeholder} inputmode="decimal" />`;
    case "time":
      return html`<${TimeField} ...${common} />`;
    case "zone":
      return html`<${SuggestingField} ...${common} placeholder=${placeholder} suggestions=${zones()} />`;
    default:
      return html`<${TextField} ...${common} placeholder=${placeholder} />`;
  }
}

/** Several lines of text, in letters of one width. */
export function LinesField({ label, hint, error, value, onChange, rows, isRequired = false }) {
  const lines = Math.min(Math.max(rows, value.split("\n").length), 12);
  return html`<${Field} label=${label} hint=${hint} error=${error} isWide>
    ${(ties) => html`<textarea class="input mono" rows=${lines} value=${value} spellcheck=${false} autocapitalize="off"
      required=${isRequired} ...${ties} onInput=${(event) => onChange(event.currentTarget.value)}></textarea>`}
  <//>`;
}

/** A time: picked in the browser's zone, shown in UTC. A text that is not a time stays as it was written. */
function TimeField({ label, hint, error, value, onChange }) {
  const isTime = value === "" || !Number.isNaN(Date.parse(value));
  if (!isTime) return html`<${TextField} label=${label} hint=${hint} error=${error} value=${value} onChange=${onChange} />`;
  const shownHint = value === "" ? hint : `UTC: ${value}`;
  return html`<${TextField} label=${`${label} (your time)`} hint=${shownHint} error=${error} type="datetime-local" step="1"
    value=${inputTime(value)} onChange=${(picked) => onChange(instantOf(picked))} />`;
}

function HandlerField(properties) {
  const names = useHandlers().map(({ name }) => name);
  return html`<${SuggestingField} ...${properties} suggestions=${names} />`;
}

function SuggestingField({ suggestions, ...properties }) {
  const listId = useId();
  return html`<div class="suggesting"><${TextField} ...${properties} list=${listId} />
    <datalist id=${listId}>${suggestions.map((text) => html`<option key=${text} value=${text} />`)}</datalist></div>`;
}

function zones() {
  return ["UTC", ...Intl.supportedValuesOf("timeZone").filter((zone) => zone !== "UTC")];
}
