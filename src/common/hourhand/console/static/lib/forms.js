// Fields with their label, hint and error, tied together for screen readers.
import { html, useId, useState } from "./html.js";
import { visible } from "./format.js";

const MAX_NOTE_CHARACTERS = 1000;

/**
 * A labelled field. `children` is a function of what the control must carry:
 * html`<${Field} label="Delay" hint="seconds">${(ties) => html`<input ...${ties} />`}<//>`
 */
export function Field({ label, hint, error, children, isWide = false }) {
  const id = useId();
  const notes = [hint && `${id}-hint`, error && `${id}-error`].filter(Boolean).join(" ");
  const ties = { id, "aria-describedby": notes || undefined, "aria-invalid": error ? "true" : undefined };
  return html`<div class=${isWide ? "field field-wide" : "field"}>
    <label for=${id}>${label}</label>
    ${children(ties)}
    ${error && html`<p class="field-error" id=${`${id}-error`}>${visible(error)}</p>`}
    ${hint && html`<p class="field-hint" id=${`${id}-hint`}>${hint}</p>`}
  </div>`;
}

/** A line of text. `onChange` gets the text; other attributes go to the input as they are. */
export function TextField({ label, hint, error, isWide, value, onChange, ...attributes }) {
  return html`<${Field} label=${label} hint=${hint} error=${error} isWide=${isWide}>
    ${(ties) => html`<input class="input" value=${value ?? ""} autocomplete="off" spellcheck=${false}
      onInput=${(event) => onChange(event.currentTarget.value)} ...${attributes} ...${ties} />`}
  <//>`;
}

/** A choice. `options` is a list of values or of [value, words]. */
export function SelectField({ label, hint, error, isWide, value, onChange, options, ...attributes }) {
  const pairs = options.map((option) => (Array.isArray(option) ? option : [option, option]));
  return html`<${Field} label=${label} hint=${hint} error=${error} isWide=${isWide}>
    ${(ties) => html`<select class="input" value=${value ?? ""} ...${attributes} ...${ties}
      onChange=${(event) => onChange(event.currentTarget.value)}>
      ${pairs.map(([key, words]) => html`<option key=${key} value=${key} selected=${key === (value ?? "")}>${words}</option>`)}
    </select>`}
  <//>`;
}

/** Yes or no. */
export function CheckField({ label, isChecked, onChange, ...attributes }) {
  return html`<label class="check">
    <input type="checkbox" checked=${isChecked} ...${attributes}
      onChange=${(event) => onChange(event.currentTarget.checked)} />${label}
  </label>`;
}

/** The text that a note's field writes and the request of a question reads. */
export function keptNote() {
  return { text: "" };
}

/** Return the body of a request with a `keptNote`; an empty one is left out. */
export function noteBody(note) {
  return note.text.trim() === "" ? {} : { note: note.text.trim() };
}

/** The field that writes into a `keptNote`. */
export function NoteField({ note, hint = "The reason, for others who read it later" }) {
  const [text, setText] = useState(note.text);
  const change = (changed) => {
    note.text = changed;
    setText(changed);
  };
  return html`<${TextField} label="Note" hint=${hint} value=${text} onChange=${change} maxlength=${MAX_NOTE_CHARACTERS} />`;
}
