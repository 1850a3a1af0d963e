// What one can do with a schedule, each asked for before it is done.
import { html, useState } from "../lib/html.js";
import { post, remove } from "../lib/api.js";
import { confirmAction, TextField } from "../lib/components.js";
import { visible } from "../lib/format.js";
import { address } from "../lib/router.js";

/** Ask whether to pause a schedule, with a note for others. Resolves to undefined if refused. */
export function askToPause(schedule) {
  const note = keptNote("");
  return confirmAction({
    title: `Pause ${visible(schedule.id)}?`,
    body: html`<p>It makes no further jobs until it is resumed. Jobs of it that wait are cancelled; what runs is left.</p>
      <${NoteField} note=${note} />`,
    label: "Pause",
    run: () => post(["schedules", schedule.id, "pause"], bodyOf(note)),
    told: () => `Paused ${visible(schedule.id)}.`,
  });
}

/** Ask whether to resume a paused schedule. */
export function askToResume(schedule) {
  const note = keptNote(schedule.note ?? "");
  return confirmAction({
    title: `Resume ${visible(schedule.id)}?`,
    body: html`<p>It goes on from now. What it missed while it was paused: ${missedWords(schedule.misfire.policy)}</p>
      <${NoteField} note=${note} />`,
    label: "Resume",
    // An empty note takes the one of the pause away.
    run: () => post(["schedules", schedule.id, "resume"], { note: note.text.trim() }),
    told: () => `Resumed ${visible(schedule.id)}.`,
  });
}

/** Ask whether to run a schedule's job once, now. */
export function askToTrigger(schedule) {
  const note = keptNote("");
  return confirmAction({
    title: `Run ${visible(schedule.id)} now?`,
    body: html`<p>One job is made at once, beside those that its times make${schedule.paused ? ", though it is paused" : ""}.
        Its overlap policy (${schedule.overlap}) holds for this one too.</p>
      <${NoteField} note=${note} />`,
    label: "Run now",
    run: () => post(["schedules", schedule.id, "trigger"], bodyOf(note)),
    told: (job) => `Made a job of ${visible(job.handler)}.`,
    linkOf: (job) => ({ to: address(["jobs", job.id]), label: "Show it" }),
  });
}

/** Ask whether to delete a schedule. */
export function askToDelete(schedule) {
  return confirmAction({
    title: `Delete ${visible(schedule.id)}?`,
    body: html`<p>It makes no further jobs, and its history can be read no more. Jobs of it that wait are cancelled;
      what runs is left. To stop it for a while, pause it.</p>`,
    label: "Delete schedule",
    isDangerous: true,
    run: () => remove(["schedules", schedule.id]),
    told: () => `Deleted ${visible(schedule.id)}.`,
  });
}

/** What a note's field writes into, and the request reads from. */
function keptNote(text) {
  return { text };
}

function bodyOf(note) {
  return note.text.trim() === "" ? {} : { note: note.text.trim() };
}

function NoteField({ note }) {
  const [text, setText] = useState(note.text);
  const change = (changed) => {
    note.text = changed;
    setText(changed);
  };
  return html`<${TextField} label="Note" hint="Why, for whoever looks at it later" value=${text} onChange=${change} maxlength="1000" />`;
}

function missedWords(policy) {
  return {
    latest: "the newest one runs (policy latest).",
    all: "each of them runs, in order (policy all).",
    earliest: "the oldest one runs (policy earliest).",
    skip: "none of it runs (policy skip).",
  }[policy] ?? `policy ${policy}.`;
}
