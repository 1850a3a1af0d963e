// The pause of a handler: its state, and the actions that change it. Each one asks for confirmation.
import { html, useState } from "../lib/html.js";
import { post } from "../lib/api.js";
import { Badge, confirmAction, TextField, Time } from "../lib/components.js";
import { instantOf, visible } from "../lib/format.js";

/** Ask whether to pause a handler, with a note and an end. Resolves to undefined if refused. */
export function askToPause(handler) {
  const wanted = { note: "", until: "" };
  return confirmAction({
    title: `Pause ${visible(handler.name)}?`,
    body: html`<p>No job of this handler starts until it is resumed. Jobs are accepted, schedules go on, and their jobs wait. Jobs
        that run end as ever, and no attempt is used. Workers may start jobs for 30 seconds more.</p>
      <${PauseFields} wanted=${wanted} />`,
    label: "Pause",
    run: () => post(["handlers", handler.name, "pause"], bodyOf(wanted)),
    messageOf: () => `Paused ${visible(handler.name)}.`,
  });
}

/** Ask whether to resume a paused handler. */
export function askToResume(handler) {
  const wanted = { note: "" };
  return confirmAction({
    title: `Resume ${visible(handler.name)}?`,
    body: html`<p>The jobs that wait are sent: up to 1,000 at once, the others by the next ticks.</p>
      <${PauseFields} wanted=${wanted} />`,
    label: "Resume",
    run: () => post(["handlers", handler.name, "resume"], bodyOf(wanted)),
    messageOf: () => `Resumed ${visible(handler.name)}.`,
  });
}

/** Say since when a handler is paused, until when, and why. */
export function PauseNotice({ paused }) {
  return html`<p class="notice">
    <${Badge} tone="warning" shape="pause">Paused<//> since <${Time} at=${paused.since} form="both" />${paused.until
      ? html` until <${Time} at=${paused.until} form="both" />` : ", until it is resumed"}.
    ${paused.note && html` <bdi>${visible(paused.note)}</bdi>`}
  </p>`;
}

/** The fields that a request is made of; `wanted` keeps what they hold. */
function PauseFields({ wanted }) {
  const [texts, setTexts] = useState({ ...wanted });
  const change = (name) => (text) => {
    wanted[name] = text;
    setTexts({ ...wanted });
  };
  return html`<${TextField} label="Note" hint="The reason, for others who read it later" value=${texts.note} onChange=${change("note")} maxlength="1000" />
    ${"until" in wanted && html`<${TextField} label="Until" type="datetime-local" hint="Without a time, until it is resumed"
      value=${texts.until} onChange=${change("until")} />`}`;
}

function bodyOf({ note, until }) {
  return { ...(note.trim() && { note: note.trim() }), ...(until && { until: instantOf(until) }) };
}
