// The handlers that are paused: read at an interval by the shell, and shown wherever a handler or its jobs are.
import { html, useEffect } from "./html.js";
import { aboutStore } from "./about.js";
import { get } from "./api.js";
import { Badge } from "./badges.js";
import { local, visible } from "./format.js";
import { usePolled } from "./live.js";
import { createStore, useStore } from "./store.js";
import { Time } from "./time.js";
import { address } from "./router.js";

const MILLISECONDS = 5000;
/** Against a deployed API, what is read costs money. */
const DEPLOYED_MILLISECONDS = 60_000;

/** By handler: {since, until, note}. Empty until it is read, and where the caller may not read handlers. */
const pausesStore = createStore({});

/** Return the pauses by handler, updated whenever one begins or ends. */
export function usePauses() {
  return useStore(pausesStore);
}

/** Return the pause of a handler, or null. */
export function usePause(name) {
  const pauses = usePauses();
  return Object.hasOwn(pauses, name) ? pauses[name] : null;
}

/** Note the state of a handler that the API just answered, before the next read. */
export function notePause({ name, paused }) {
  const { [name]: _, ...others } = pausesStore.get();
  keep(paused ? { ...others, [name]: paused } : others);
}

/** Reads the pauses while it is shown: the number of paused handlers, for the navigation. */
export function PauseCount() {
  const everyMilliseconds = useStore(aboutStore).endpoint ? DEPLOYED_MILLISECONDS : MILLISECONDS;
  const { data } = usePolled((signal) => get(["handlers"], { signal }), "pauses", { everyMilliseconds });
  useEffect(() => {
    const paused = data?.handlers.filter((handler) => handler.paused) ?? [];
    if (data) keep(Object.fromEntries(paused.map((handler) => [handler.name, handler.paused])));
  }, [data]);
  const number = Object.keys(usePauses()).length;
  if (number === 0) return null;
  return html`<span class="nav-count nav-count-warning" title=${`${number} paused`}>${number}<span class="sr-only"> paused</span></span>`;
}

/** A badge beside the name of a handler, if it is paused. Where something else may be paused, too, `words` say what is. */
export function HandlerPaused({ name, words = "Paused" }) {
  const pause = usePause(name);
  return pause && html`<${Badge} tone="warning" shape="pause" title=${pauseTitle(pause)}>${words}<//>`;
}

/** Say since when a handler is paused, until when, and why; with `name`, also which handler. */
export function PauseNotice({ name, paused, children }) {
  const subject = name && html`${" "}<span>The handler <a href=${address(["handlers", name])}><bdi>${visible(name)}</bdi></a> is paused</span>`;
  return html`<p class="notice pause-notice">
    <${Badge} tone="warning" shape="pause">Paused<//>${subject} since <${Time} at=${paused.since} form="both" />${paused.until
      ? html` until <${Time} at=${paused.until} form="both" />` : ", until it is resumed"}.
    ${children && html` ${children}`}
    ${paused.note && html`<span class="notice-note"><span class="small">Note:</span> <bdi>${visible(paused.note)}</bdi></span>`}
  </p>`;
}

/** As `PauseNotice` with a name; nothing if the handler is not paused. `children` say what that means here. */
export function HandlerPauseNotice({ name, children }) {
  const pause = usePause(name);
  return pause && html`<${PauseNotice} name=${name} paused=${pause}>${children}<//>`;
}

function pauseTitle({ since, until, note }) {
  const end = until ? `until ${local(until)}` : "until it is resumed";
  return `The handler is paused since ${local(since)}, ${end}${note ? `: ${visible(note)}` : ""}`;
}

/** Views are drawn again only if something changed. */
function keep(pauses) {
  if (JSON.stringify(pauses) !== JSON.stringify(pausesStore.get())) pausesStore.set(pauses);
}
