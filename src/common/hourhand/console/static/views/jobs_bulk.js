// The bulk actions on a list of jobs: on those that are selected, or on all that match a filter.
import { html, useId, useState } from "../lib/html.js";
import { count, visible } from "../lib/format.js";
import { useReachable } from "../lib/live.js";
import { askAbout } from "./job_questions.js";
import { BulkDialog, VERBS } from "./jobs_bulk_dialog.js";
import { inWords, isEveryJob, REDRIVABLE, verbsFor, WAITING } from "./jobs_query.js";

/** Whether a verb can change a job that is selected. */
const APPLIES = {
  cancel: (job) => WAITING.includes(job.status) || job.status === "RUNNING",
  redrive: (job) => REDRIVABLE.includes(job.status),
  discard: (job) => job.status === "DEAD" && !job.discarded_at,
};

/**
 * The bar of bulk actions. `unclear` says why it is not certain which jobs are meant; it disables all that
 * go by the filter. If no job matches there is no bar, but the dialog stays: its action may have emptied the list.
 */
export function BulkBar({ filters, jobs, selection, isNone, unclear, onSelect, onDone }) {
  const [asked, setAsked] = useState(null);
  const isReachable = useReachable();
  const chosen = jobs.filter((job) => selection.has(job.id));
  const close = (isDone) => {
    setAsked(null);
    if (!isDone) return;
    onSelect(new Set());
    onDone();
  };
  const ask = async (question) => {
    if (question.jobs?.length !== 1) setAsked(question);
    else close(await askAbout(question.verb, question.jobs[0]));
  };
  const offline = isReachable ? null : "The API cannot be reached, so nothing can be changed.";
  return html`${!isNone && html`<div class="bulk-bar changes">
    ${chosen.length > 0
      ? html`<${SelectedActions} chosen=${chosen} disabledBecause=${offline} onAsk=${ask} onClear=${() => onSelect(new Set())} />`
      : html`<${FilterActions} filters=${filters} disabledBecause=${offline ?? unclear} onAsk=${ask} />`}
  </div>`}
  ${asked && html`<${BulkDialog} ...${asked} onClose=${close} />`}`;
}

function SelectedActions({ chosen, disabledBecause, onAsk, onClear }) {
  return html`<strong aria-live="polite">${count(chosen.length)} selected</strong>
    ${Object.keys(VERBS).map((verb) => {
      const jobs = chosen.filter(APPLIES[verb]);
      return html`<button key=${verb} type="button" class="button button-small" disabled=${jobs.length === 0 || Boolean(disabledBecause)}
        onClick=${() => onAsk({ verb, jobs })}>${VERBS[verb].ask}${jobs.length > 0 ? ` ${count(jobs.length)} …` : ""}</button>`;
    })}
    <button type="button" class="button button-small" onClick=${onClear}>Clear selection</button>
    ${disabledBecause && html`<span class="small text-warning">${disabledBecause}</span>`}`;
}

function FilterActions({ filters, disabledBecause, onAsk }) {
  const noteId = useId();
  const verbs = verbsFor(filters);
  if (isEveryJob(filters) && !disabledBecause) {
    return html`<span class="muted small">To change many jobs at once, filter the list or select jobs.</span>`;
  }
  return html`
    ${verbs.length > 0 && html`<span class="muted small bulk-scope">All ${visible(inWords(filters))}:</span>`}
    ${verbs.map((verb) => html`<button key=${verb} type="button" class="button button-small" disabled=${Boolean(disabledBecause)}
      aria-describedby=${disabledBecause ? noteId : undefined} onClick=${() => onAsk({ verb, filters })}>${VERBS[verb].ask} …</button>`)}
    ${disabledBecause && html`<span id=${noteId} class="small text-warning">${visible(disabledBecause)}</span>`}`;
}
