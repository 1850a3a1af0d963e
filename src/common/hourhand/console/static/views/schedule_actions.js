// The actions on a schedule. Each one asks for confirmation.
import { html } from "../lib/html.js";
import { post, remove } from "../lib/api.js";
import { confirmAction, keptNote, noteBody, NoteField } from "../lib/components.js";
import { visible } from "../lib/format.js";
import { address } from "../lib/router.js";

/** Ask whether to pause a schedule, with a note for others. Resolves to undefined if refused. */
export function askToPause(schedule) {
  const note = keptNote();
  return confirmAction({
    title: `Pause ${visible(schedule.id)}?`,
    body: html`<p>The schedule creates no more jobs until it is resumed. Its waiting jobs are cancelled. Its running jobs continue.</p>
      <${NoteField} note=${note} />`,
    label: "Pause",
    run: () => post(["schedules", schedule.id, "pause"], noteBody(note)),
    messageOf: () => `Paused ${visible(schedule.id)}.`,
  });
}

/** Ask whether to resume a paused schedule. */
export function askToResume(schedule) {
  const note = keptNote();
  return confirmAction({
    title: `Resume ${visible(schedule.id)}?`,
    body: html`<p>The schedule continues from now. Of the times that it missed while it was paused, ${missedWords(schedule.misfire.policy)}</p>
      <${NoteField} note=${note} hint="A new note for the schedule. Without one, it has its own note from before the pause again" />`,
    label: "Resume",
    run: () => post(["schedules", schedule.id, "resume"], noteBody(note)),
    messageOf: () => `Resumed ${visible(schedule.id)}.`,
  });
}

/** Ask whether to run a schedule's job once, now. */
export function askToTrigger(schedule) {
  const note = keptNote();
  return confirmAction({
    title: `Run ${visible(schedule.id)} now?`,
    body: html`<p>The schedule creates one extra job now${schedule.paused ? ", although it is paused" : ""}.
        Its overlap policy (${schedule.overlap}) applies to this job, too.</p>
      <${NoteField} note=${note} />`,
    label: "Run now",
    run: () => post(["schedules", schedule.id, "trigger"], noteBody(note)),
    messageOf: (job) => `Created a job for ${visible(job.handler)}.`,
    linkOf: (job) => ({ to: address(["jobs", job.id]), label: "View job" }),
  });
}

/** Ask whether to delete a schedule. */
export function askToDelete(schedule) {
  return confirmAction({
    title: `Delete ${visible(schedule.id)}?`,
    body: html`<p>The schedule creates no more jobs, and its history can no longer be read. Its waiting jobs are cancelled. Its running
      jobs continue. To stop the schedule for a while, pause it instead.</p>`,
    label: "Delete schedule",
    isDangerous: true,
    run: () => remove(["schedules", schedule.id]),
    messageOf: () => `Deleted ${visible(schedule.id)}.`,
  });
}

function missedWords(policy) {
  return {
    latest: "the newest one runs (misfire policy latest).",
    all: "each one runs, in order (misfire policy all).",
    earliest: "the oldest one runs (misfire policy earliest).",
    skip: "none runs (misfire policy skip).",
  }[policy] ?? `misfire policy ${policy} applies.`;
}
