// The actions that pause and resume a handler. Each one asks for confirmation.
import { html, useState } from "../lib/html.js";
import { post } from "../lib/api.js";
import { confirmAction, TextField } from "../lib/components.js";
import { inputTime, instantOf, visible } from "../lib/format.js";
import { notePause } from "../lib/pauses.js";

/** Ask whether to pause a handler, with a note and an end. Resolves to undefined if refused. */
export function askToPause(handler) {
  const wanted = { note: "", until: "" };
  return confirmAction({
    title: `Pause ${visible(handler.name)}?`,
    body: html`<p>No job of this handler starts until it is resumed. Jobs are accepted, schedules go on, and their jobs wait. Jobs
        that run end as ever, and no attempt is used. Workers may start jobs for 30 seconds more.</p>
      <${PauseFields} wanted=${wanted} />`,
    label: "Pause",
    run: () => send(handler, "pause", wanted),
    messageOf: () => `Paused ${visible(handler.name)}.`,
  });
}

/** Ask for another note and another end of a pause. */
export function askToChangePause(handler) {
  const { note, until } = handler.paused;
  const wanted = { note: note ?? "", until: inputTime(until) };
  return confirmAction({
    title: `Change the pause of ${visible(handler.name)}?`,
    body: html`<p>The note and the end are replaced. The handler stays paused.</p><${PauseFields} wanted=${wanted} />`,
    label: "Change",
    run: () => send(handler, "pause", wanted),
    messageOf: () => `Changed the pause of ${visible(handler.name)}.`,
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
    run: () => send(handler, "resume", wanted),
    messageOf: () => `Resumed ${visible(handler.name)}.`,
  });
}

/** The fields that a request is made of; `wanted` keeps what they hold. */
function PauseFields({ wanted }) {
  const [texts, setTexts] = useState({ ...wanted });
  const change = (name) => (text) => {
    wanted[name] = text;
    setTexts({ ...wanted });
  };
  return html`<${TextField} label="Note" hint="The reason, for others who read it later" value=${texts.note} onChange=${change("note")} maxlength="1000" />
    ${"until" in wanted && html`<${TextField} label="Until" type="datetime-local" step="1" hint="The pause ends by itself then, in your time zone. Without a time, until it is resumed"
      value=${texts.until} onChange=${change("until")} />`}`;
}

async function send(handler, verb, wanted) {
  const changed = await post(["handlers", handler.name, verb], bodyOf(wanted));
  notePause(changed);
  return changed;
}

function bodyOf({ note, until }) {
  return { ...(note.trim() && { note: note.trim() }), ...(until && { until: instantOf(until) }) };
}
