// A text area for JSON: line numbers, the position of an error, two spaces for the Tab key.
import { html, useRef } from "./html.js";
import { parseExact, pretty } from "./exact_json.js";
import { Field } from "./forms.js";
import { jsonFault } from "./json_fault.js";

const FEWEST_LINES = 6;

/** Edit `text`; `onChange` gets it as it is. `error` is the API's, shown where the JSON is right. */
export function JsonEditor({ label, hint, text, onChange, error }) {
  const area = useRef(null);
  const gutter = useRef(null);
  const fault = jsonFault(text);
  const message = fault ? `Line ${fault.line}, column ${fault.column}: ${fault.message}.` : error;
  const lines = Math.max(text.split("\n").length, FEWEST_LINES);
  const goToFault = () => {
    const before = text.split("\n").slice(0, fault.line - 1).join("\n").length;
    const place = before + (fault.line > 1 ? 1 : 0) + fault.column - 1;
    area.current.focus();
    area.current.setSelectionRange(place, Math.min(place + 1, text.length));
  };
  const format = () => onChange(pretty(parseExact(text)));
  return html`<${Field} label=${label} hint=${hint} error=${message} isWide>
    ${(ties) => html`<div class="editor">
      <div class="editor-bar">
        ${fault
          ? html`<button type="button" class="button button-small" onClick=${goToFault}>Go to the error</button>`
          : html`<button type="button" class="button button-small" onClick=${format}>Format</button>`}
      </div>
      <div class="editor-text">
        <div class="editor-gutter" aria-hidden="true" ref=${gutter}>
          ${Array.from({ length: lines }, (_, index) => html`<div key=${index}
            class=${fault?.line === index + 1 ? "editor-fault" : ""}>${index + 1}</div>`)}
        </div>
        <textarea ref=${area} rows=${Math.min(lines, 24)} value=${text} wrap="off" spellcheck=${false}
          autocapitalize="off" ...${ties} onInput=${(event) => onChange(event.currentTarget.value)}
          onScroll=${(event) => { gutter.current.scrollTop = event.currentTarget.scrollTop; }}></textarea>
      </div>
    </div>`}
  <//>`;
}
