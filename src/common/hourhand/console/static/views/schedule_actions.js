// The actions on a schedule. Each one asks for confirmation.
import { html, useState } from "../lib/html.js";
import { post, remove } from "../lib/api.js";
import { confirmAction, keptNote, noteBody, NoteField, SelectField, TextField } from "../lib/components.js";
import { parseExact } from "../lib/exact_json.js";
import { visible } from "../lib/format.js";
import { jsonFault } from "../lib/json_fault.js";
import { address } from "../lib/router.js";
import { resumeWords } from "./schedule_words.js";

const PRIORITIES = [["", "the schedule's"], "high", "medium", "low"];

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
    body: html`${schedule.on_resume && html`<p>${resumeWords(schedule.on_resume)}.</p>`}
      <p>The schedule continues from now. Of the times that it missed while it was paused, ${missedWords(schedule.misfire.policy)}</p>
      <${NoteField} note=${note} hint="A new note for the schedule. Without one, it has its own note from before the pause again" />`,
    label: "Resume",
    run: () => post(["schedules", schedule.id, "resume"], noteBody(note)),
    messageOf: () => `Resumed ${visible(schedule.id)}.`,
  });
}

function TriggerFields({ wanted }) {
  const [, setTexts] = useState({ ...wanted });
  const field = (name) => ({ value: wanted[name], onChange: (text) => setTexts({ ...Object.assign(wanted, { [name]: text }) }) });
  return html`<${TextField} label="Payload" hint="JSON. Empty: the schedule's payload" ...${field("payload")} />
    <${SelectField} label="Priority" options=${PRIORITIES} ...${field("priority")} />
    <${TextField} label="Idempotency key" hint="A repeat with the same key creates no second job" maxlength="256" ...${field("idempotency_key")} />`;
}

/** Return the fields that were filled in. Throws for a payload that is not JSON, with what is wrong. */
function triggerBody({ payload, ...texts }) {
  const given = Object.fromEntries(Object.entries(texts).filter(([, text]) => text !== ""));
  if (payload.trim() === "") return given;
  try {
    return { ...given, payload: parseExact(payload) };
  } catch {
    throw new Error(`The payload is not JSON: ${jsonFault(payload)?.message ?? "a number is too large"}`);
  }
}

/** Ask whether to run a schedule's job once, now. */
export function askToTrigger(schedule) {
  const note = keptNote();
  const wanted = { payload: "", priority: "", idempotency_key: "" };
  return confirmAction({
    title: `Run ${visible(schedule.id)} now?`,
    body: html`<p>The schedule creates one extra job now${schedule.paused ? ", although it is paused" : ""}.
        Its overlap policy (${schedule.overlap}) applies to this job, too.</p>
      <${TriggerFields} wanted=${wanted} /><${NoteField} note=${note} />`,
    label: "Run now",
    run: () => post(["schedules", schedule.id, "trigger"], { ...noteBody(note), ...triggerBody(wanted) }),
    messageOf: (job) => `Created a job for ${visible(job.handler)}.`,
    linkOf: (job) => ({ to: address(["jobs", job.id]), label: "View job" }),
  });
}

const BACKFILL_CHANGES = {
  pause: ["Pause", "Paused", "It starts no more jobs until it is resumed. Its waiting jobs are cancelled, and restored then. Its running jobs continue."],
  resume: ["Resume", "Resumed", "It continues where it was, even while its schedule is paused."],
  cancel: ["Cancel", "Cancelled", "It starts no more jobs. Its waiting jobs are cancelled. Its running jobs continue. It cannot be resumed."],
};

/** Ask whether to pause, resume or cancel a backfill. */
export function askToChangeBackfill(schedule, backfill, verb) {
  const note = keptNote();
  const [label, done, words] = BACKFILL_CHANGES[verb];
  const name = `backfill ${backfill.n} of ${visible(schedule.id)}`;
  return confirmAction({
    title: `${label} ${name}?`,
    body: html`<p>${words}</p><${NoteField} note=${note} />`,
    label: `${label} backfill`,
    isDangerous: verb === "cancel",
    run: () => post(["schedules", schedule.id, "backfills", `${backfill.n}`, verb], noteBody(note)),
    messageOf: () => `${done} ${name}.`,
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
