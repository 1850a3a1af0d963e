// Questions in front of the page. The browser's own dialog keeps the focus and closes on Esc.
import { html, useId, useLayoutEffect, useRef, useState } from "./html.js";
import { aboutStore } from "./about.js";
import { connectionStore } from "./api.js";
import { ProductionNote } from "./environment.js";
import { Icon } from "./icons.js";
import { ErrorState } from "./states.js";
import { createStore, useStore } from "./store.js";
import { toast } from "./toast.js";

/**
 * A dialog around its children; `footer` is the row of buttons. It is open while it is rendered.
 * At the beginning, and with each new `step`, the focus is where nothing is confirmed by mistake.
 */
export function Dialog({ title, onClose, children, footer, step, isWide = false, isBusy = false }) {
  const element = useRef(null);
  const titleId = useId();
  useLayoutEffect(() => {
    const before = document.activeElement;
    // The page behind does not scroll; the room of its scroll bar is kept, so that nothing moves.
    const root = document.documentElement;
    root.style.setProperty("--scroll-bar", `${window.innerWidth - root.clientWidth}px`);
    element.current.showModal();
    // Only once the dialog is gone: until then, the page behind it takes no focus.
    return () => queueMicrotask(() => before?.isConnected && before.focus());
  }, []);
  useLayoutEffect(() => focusFirst(element.current), [step]);
  const cancel = (event) => {
    event.preventDefault();
    if (!isBusy) onClose();
  };
  // Browsers close it on a second Esc whatever was said to the first.
  const closed = () => (isBusy ? element.current?.showModal() : onClose());
  return html`<dialog ref=${element} class=${isWide ? "dialog dialog-wide" : "dialog"}
    aria-labelledby=${titleId} onCancel=${cancel} onClose=${closed}>
    <header class="dialog-header">
      <h2 id=${titleId} tabindex="-1">${title}</h2>
      <button type="button" class="button-icon" aria-label="Close" disabled=${isBusy} onClick=${onClose}>
        <${Icon} name="close" />
      </button>
    </header>
    <div class="dialog-body">${children}</div>
    ${footer && html`<footer class="dialog-footer">${footer}</footer>`}
  </dialog>`;
}

/**
 * Focus the first field; without one, the button that changes nothing; else the title. Never a button
 * that confirms: who types a note without a look, or presses Enter twice, must not confirm by it.
 */
function focusFirst(dialog) {
  const places = [".dialog-body :is(input, select, textarea):not(:disabled)", "[data-first-focus]", "h2"];
  places.map((place) => dialog.querySelector(place)).find(Boolean).focus();
}

const question = createStore(null);

/**
 * Ask before something is done. `run()` does it, while the dialog waits; a failure is shown in it,
 * a success closes it and shows a toast. Resolves to what `run` returned, or undefined.
 *
 *   title: "Cancel this job?"      body: text or markup; says what will happen
 *   label: "Cancel job"            the button's words; isDangerous makes it red
 *   run: async () => ...           messageOf(result): the text of the toast, or null for none
 *   linkOf(result): {to, label}    a link in the toast
 */
export function confirmAction(asked) {
  if (aboutStore.get().read_only) {
    toast("This console is read-only, so it cannot change anything.", { tone: "bad" });
    return Promise.resolve(undefined);
  }
  if (!connectionStore.get().isReachable) {
    toast("The API cannot be reached, so the console cannot change anything now.", { tone: "bad" });
    return Promise.resolve(undefined);
  }
  return new Promise((resolve) => question.set({ ...asked, resolve }));
}

/** Where `confirmAction` asks. */
export function DialogHost() {
  const asked = useStore(question);
  return asked && html`<${Confirmation} key=${asked} ...${asked} />`;
}

function Confirmation({ title, body, label, isDangerous, run, messageOf, linkOf, resolve }) {
  const [isBusy, setBusy] = useState(false);
  const [error, setError] = useState(null);
  const { isReachable } = useStore(connectionStore);
  const end = (result) => {
    question.set(null);
    resolve(result);
  };
  const submit = async (event) => {
    event.preventDefault();
    setBusy(true);
    setError(null);
    try {
      const result = await run();
      const message = messageOf?.(result);
      if (message) toast(message, { link: linkOf?.(result) });
      end(result ?? true);
    } catch (failure) {
      setError(failure);
      setBusy(false);
    }
  };
  const tone = isDangerous ? "button-danger" : "button-primary";
  return html`<${Dialog} title=${title} isBusy=${isBusy} onClose=${() => end(undefined)}>
    <form onSubmit=${submit}>
      <div class="dialog-words">${body}<${ProductionNote} /></div>
      <${ErrorState} error=${error} isInline />
      <div class="dialog-actions">
        <button type="button" class="button" data-first-focus disabled=${isBusy} onClick=${() => end(undefined)}>Back</button>
        <button type="submit" class=${`button ${tone}`} disabled=${isBusy || !isReachable}>
          ${isBusy ? "Working …" : label}
        </button>
      </div>
    </form>
  <//>`;
}
