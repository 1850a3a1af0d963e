// Keyboard shortcuts: single keys, and pairs such as "g j". They do not work while a field has the focus.
import { html, useLayoutEffect } from "./html.js";
import { Dialog } from "./dialog.js";
import { createStore, useStore } from "./store.js";

const PAIR_MILLISECONDS = 1200;

const bindings = new Map();
const helpStore = createStore(false);
let waitingFor = null;

/** Bind `keys` ("n", "g j") while the view is shown. `words` describe it in the help (`?`). */
export function useKey(keys, words, run) {
  useLayoutEffect(() => {
    const binding = { words, run };
    bindings.set(keys, [...(bindings.get(keys) ?? []), binding]);
    return () => bindings.set(keys, bindings.get(keys).filter((other) => other !== binding));
  });
}

/** Listen for keys. A view's own binding takes precedence over one of the shell with the same keys. */
export function startKeys() {
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const isTyping = event.target.closest?.("input:not([type=checkbox]), select, textarea");
    if (isTyping) {
      if (event.key === "Escape") event.target.blur();
      return;
    }
    if (document.querySelector("dialog[open]")) return;
    if (event.key === "?") helpStore.set(true);
    else if (!press(event)) return;
    event.preventDefault();
  });
}

/** Show the list of keys. */
export function showHelp() {
  helpStore.set(true);
}

/** The list of all keys that work here and now. */
export function KeyHelp() {
  if (!useStore(helpStore)) return null;
  const rows = [...bindings].filter(([, bound]) => bound.length > 0).map(([keys, bound]) => [keys, bound.at(-1).words]);
  rows.push(["?", "show this help"], ["Esc", "close a dialog, or leave a field"]);
  return html`<${Dialog} title="Keyboard shortcuts" onClose=${() => helpStore.set(false)}>
    <dl class="keys">
      ${rows.map(([keys, words]) => html`<div key=${keys}>
        <dt>${keys.split(" ").map((key) => html`<kbd key=${key}>${key}</kbd> `)}</dt><dd>${words}</dd>
      </div>`)}
    </dl>
  <//>`;
}

function press(event) {
  const pair = waitingFor ? `${waitingFor} ${event.key}` : null;
  waitingFor = null;
  const bound = bindings.get(pair)?.at(-1) ?? bindings.get(event.key)?.at(-1);
  if (bound) {
    // Enter on a button or a link is that one's own.
    if (event.key === "Enter" && event.target.closest?.("button, a, summary")) return false;
    bound.run(event);
    return true;
  }
  const startsPair = [...bindings.keys()].some((keys) => keys.startsWith(`${event.key} `));
  if (!startsPair) return false;
  waitingFor = event.key;
  setTimeout(() => { waitingFor = null; }, PAIR_MILLISECONDS);
  return true;
}
