// A view of JSON: nested values open and close, and long text is cut with a "show all" button.
import { html, useState } from "./html.js";
import { CopyButton } from "./copy.js";
import { isRawNumber, pretty } from "./exact_json.js";
import { bytes, count, counted, visible } from "./format.js";

const OPEN_DEPTH = 2;
const OPEN_CHILDREN = 40;
const CHILDREN_AT_ONCE = 100;
const TEXT_AT_ONCE = 400;
const RAW_AT_ONCE = 20_000;

/** Show any JSON value, as a tree or as text; `label` names it for the copy button. */
export function JsonView({ value, label }) {
  const [isRaw, setRaw] = useState(false);
  const isNested = value !== null && typeof value === "object" && !isRawNumber(value);
  return html`<div class="json">
    <div class="json-bar">
      <span class="muted">${bytes(new TextEncoder().encode(JSON.stringify(value)).length)}</span>
      ${isNested && html`<button type="button" class="button button-small" aria-pressed=${isRaw}
        onClick=${() => setRaw(!isRaw)}>Text</button>`}
      <${CopyButton} text=${() => pretty(value)} label=${label} />
    </div>
    <div class="json-body">
      ${isRaw ? html`<${LongText} text=${pretty(value)} most=${RAW_AT_ONCE} />` : html`<${Node} value=${value} depth=${0} />`}
    </div>
  </div>`;
}

/** Text that is shown in part where it is long, until all of it is asked for. */
export function LongText({ text, most = TEXT_AT_ONCE, quote = "" }) {
  const [isWhole, setWhole] = useState(false);
  const isCut = !isWhole && text.length > most;
  const shown = visible(isCut ? text.slice(0, most) : text);
  return html`<bdi class="json-text">${quote}${shown}${isCut ? "…" : quote}</bdi>
    ${isCut && html`<button type="button" class="json-more" onClick=${() => setWhole(true)}>
      show all (${count(text.length)} characters)
    </button>`}`;
}

function Node({ name, value, depth, isLast = true }) {
  const isNested = value !== null && typeof value === "object" && !isRawNumber(value);
  if (isNested && Object.keys(value).length > 0) {
    return html`<${Container} name=${name} value=${value} depth=${depth} isLast=${isLast} />`;
  }
  return html`<div class="json-line">
    <${Name} name=${name} /><${Leaf} value=${value} />${isLast ? "" : ","}
  </div>`;
}

function Container({ name, value, depth, isLast }) {
  const isArray = Array.isArray(value);
  const keys = Object.keys(value);
  const [isOpen, setOpen] = useState(depth < OPEN_DEPTH && (depth === 0 || keys.length <= OPEN_CHILDREN));
  const [shownCount, setShownCount] = useState(CHILDREN_AT_ONCE);
  const [opening, closing] = isArray ? "[]" : "{}";
  const end = `${closing}${isLast ? "" : ","}`;
  const shown = keys.slice(0, shownCount);
  return html`<div>
    <div class="json-line">
      <button type="button" class="json-toggle" aria-expanded=${isOpen} onClick=${() => setOpen(!isOpen)}
        aria-label=${`${name === undefined ? "value" : visible(name)}, ${counted(keys.length, "entry", "entries")}`}>
        ${isOpen ? "▾" : "▸"}
      </button>
      <${Name} name=${name} />${opening}
      ${!isOpen && html`<span class="muted">${count(keys.length)} ${isArray ? "items" : "fields"}</span>${end}`}
    </div>
    ${isOpen && html`<div class="json-children">
      ${shown.map((key, index) => html`<${Node} key=${key} name=${isArray ? undefined : key}
        value=${value[key]} depth=${depth + 1} isLast=${index === keys.length - 1} />`)}
      ${keys.length > shownCount && html`<button type="button" class="json-more"
        onClick=${() => setShownCount(shownCount + 10 * CHILDREN_AT_ONCE)}>
        show more (${count(keys.length - shownCount)} left)
      </button>`}
    </div>
    <div class="json-line json-end">${end}</div>`}
  </div>`;
}

function Name({ name }) {
  if (name === undefined) return null;
  return html`<bdi class="json-name">${visible(JSON.stringify(name))}</bdi>: `;
}

function Leaf({ value }) {
  if (typeof value === "string") {
    const inner = JSON.stringify(value).slice(1, -1);
    return html`<span class="json-string"><${LongText} text=${inner} quote=${'"'} /></span>`;
  }
  if (value === null || typeof value === "boolean") return html`<span class="json-word">${String(value)}</span>`;
  if (typeof value === "number" || isRawNumber(value)) {
    return html`<span class="json-number">${JSON.stringify(value)}</span>`;
  }
  return Array.isArray(value) ? "[]" : "{}";
}
