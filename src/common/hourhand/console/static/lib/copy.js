// The copy button, which shows when it has copied.
import { html, useState } from "./html.js";
import { Icon } from "./icons.js";
import { toast } from "./toast.js";

/** A button that copies `text` (or what the function returns); `label` says what it is. */
export function CopyButton({ text, label, isQuiet = false }) {
  const [isDone, setDone] = useState(false);
  const copy = async () => {
    try {
      await navigator.clipboard.writeText(typeof text === "function" ? text() : text);
      setDone(true);
      setTimeout(() => setDone(false), 1500);
    } catch {
      toast("The browser does not allow this page to copy.", { tone: "bad" });
    }
  };
  const name = isDone ? "Copied" : `Copy ${label}`;
  return html`<button type="button" class=${isQuiet ? "button-icon" : "button button-small"}
    onClick=${copy} aria-label=${name} title=${name}>
    <${Icon} name=${isDone ? "check" : "copy"} />${isQuiet ? "" : isDone ? "Copied" : "Copy"}
  </button>`;
}
