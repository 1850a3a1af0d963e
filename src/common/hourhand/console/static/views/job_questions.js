// The questions before something is done to one job. Each names the job, and reports the API's answer.
import { html } from "../lib/html.js";
import { post } from "../lib/api.js";
import { confirmAction, keptNote, noteBody, NoteField } from "../lib/components.js";
import { count, visible } from "../lib/format.js";
import { address } from "../lib/router.js";

/** By verb, as the API names it: the words of the question, of its button and of the toast. */
const QUESTIONS = {
  cancel: ({ status }) => ({
    title: "Cancel this job?",
    words: status === "RUNNING"
      ? "The job is running, so its handler is asked to stop at the next heartbeat. If the handler returns anyway, the job succeeds."
      : "The job will not run. You can redrive it later.",
    label: "Cancel job",
    isDangerous: true,
    messageOf: (job) => (job.status === "RUNNING" ? "Cancellation requested." : "Job cancelled."),
  }),
  redrive: ({ retry: { max_attempts: most } }) => ({
    title: "Redrive this job?",
    words: `It runs again, with ${most === 1 ? "its one attempt" : `all its ${count(most)} attempts`}. Its history is kept.`,
    label: "Redrive",
    messageOf: () => "Job redriven.",
  }),
  discard: () => ({
    title: "Discard this job?",
    words: "It leaves the dead letters and the alarm. Its history is kept, and it can still be redriven until it is deleted.",
    label: "Discard",
    hint: "Optional. Why no further work is needed",
    messageOf: () => "Job discarded.",
  }),
  "run-now": ({ waits_for: waits }) => ({
    title: "Run this job now?",
    words: `The job becomes due now instead of at its scheduled time.${waits
      ? " It is not let past its limits, or the pause of its handler: if they still hold it back, it waits again." : ""}`,
    label: "Run now",
    messageOf: () => "The job is due now.",
  }),
};

/** Ask whether to do `verb` to `job`, and do it. Resolves to whether it was done. */
export async function askAbout(verb, job) {
  const { words, hint, ...question } = QUESTIONS[verb](job);
  const note = keptNote();
  const page = address(["jobs", job.id]);
  const done = await confirmAction({
    ...question,
    body: html`<p class="job-named"><strong><bdi>${visible(job.handler)}</bdi></strong> <bdi class="mono small">${visible(job.id)}</bdi></p>
      <p>${words}</p>${hint && html`<${NoteField} note=${note} hint=${hint} />`}`,
    run: () => post(["jobs", job.id, verb], hint ? noteBody(note) : {}),
    linkOf: () => (location.pathname === page ? undefined : { to: page, label: "View job" }),
  });
  return done !== undefined;
}
