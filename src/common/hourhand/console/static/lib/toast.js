// Toasts: short messages about a finished action. A success disappears by itself; a failure stays until closed.
import { html } from "./html.js";
import { Icon } from "./icons.js";
import { createStore, useStore } from "./store.js";

const SHOWN_MILLISECONDS = 6000;
const MOST_AT_ONCE = 4;

const toasts = createStore([]);
let lastNumber = 0;

/** Show a toast. `tone`: good or bad; `link`: {to, label}, an address to continue at. */
export function toast(message, { tone = "good", link } = {}) {
  lastNumber += 1;
  const number = lastNumber;
  toasts.set([...toasts.get(), { number, message, tone, link }].slice(-MOST_AT_ONCE));
  if (tone !== "bad") setTimeout(() => dismiss(number), SHOWN_MILLISECONDS);
}

function dismiss(number) {
  toasts.set(toasts.get().filter((shown) => shown.number !== number));
}

/** The list of toasts. Screen readers announce each new one. */
export function Toasts() {
  const shown = useStore(toasts);
  return html`<div class="toasts" role="status" aria-live="polite">
    ${shown.map(
      ({ number, message, tone, link }) => html`<div key=${number} class=${`toast toast-${tone}`}>
        <${Icon} name=${tone === "bad" ? "warning" : "check"} />
        <span class="toast-text">${message} ${link && html`<a href=${link.to}>${link.label}</a>`}</span>
        <button type="button" class="button-icon" aria-label="Close" onClick=${() => dismiss(number)}>
          <${Icon} name="close" />
        </button>
      </div>`,
    )}
  </div>`;
}
