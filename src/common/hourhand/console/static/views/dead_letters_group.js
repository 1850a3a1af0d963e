// One group of dead jobs: their error, the jobs themselves, a traceback, and redriving them.
import { html, useEffect, useState } from "../lib/html.js";
import { get } from "../lib/api.js";
import { ErrorState, Icon, Loading, Table, Time } from "../lib/components.js";
import { count, counted, shorten, visible } from "../lib/format.js";
import { usePolled } from "../lib/live.js";
import { address, changeQuery } from "../lib/router.js";
import { diedAt } from "./dead_letters_groups.js";
import { BulkDialog } from "./jobs_bulk.js";

const JOBS_SHOWN = 50;
const MESSAGE_CHARACTERS = 160;
const TRACEBACK_CHARACTERS = 20_000;

/** A group, closed or open (the address says which one is). `onBusy` gets 1, and -1 at its end. */
export function DeadLetterGroup({ group, isOpen, isWhole, onBusy, onDone }) {
  const [asked, setAsked] = useState(null);
  useBusy(asked !== null, onBusy);
  const close = (isDone) => {
    setAsked(null);
    if (isDone) onDone();
  };
  const toggle = () => changeQuery({ group: isOpen ? "" : group.key }, { replace: true });
  const many = count(group.jobs.length);
  return html`<section class="card dead-group" aria-label=${`Dead jobs with error ${visible(group.type ?? "unknown")}`}>
    <div class="dead-group-head">
      <button type="button" class="dead-group-toggle" aria-expanded=${isOpen} onClick=${toggle}>
        <${Icon} name=${isOpen ? "down" : "forward"} />
        <span class="dead-group-words">
          <bdi class="dead-group-type">${visible(shorten(group.type ?? "No error", MESSAGE_CHARACTERS))}</bdi>
          <bdi class="dead-group-message">${visible(group.message)}</bdi>
          <span class="muted small"><bdi>${visible(group.handler)}</bdi> · first <${Time} at=${group.firstAt} />${" "}
            · last <${Time} at=${group.lastAt} /></span>
        </span>
      </button>
      <span class="dead-group-count" title=${isWhole ? "" : "Counts only the jobs that are shown: there are older ones"}>
        ${many}${isWhole ? "" : "+"}</span>
      <button type="button" class="button button-small changes" onClick=${() => setAsked(group.jobs)}>
        ${group.jobs.length === 1 ? "Redrive" : `Redrive all ${many}`}</button>
    </div>
    ${isOpen && html`<${Jobs} group=${group} onBusy=${onBusy} onRedrive=${setAsked} />`}
    ${asked && html`<${BulkDialog} verb="redrive" jobs=${asked} onClose=${close} />`}
  </section>`;
}

function Jobs({ group, onBusy, onRedrive }) {
  const [selection, setSelection] = useState(new Set());
  const [shown, setShown] = useState(JOBS_SHOWN);
  const [inspected, setInspected] = useState(group.jobs[0].id);
  // A redriven job has left the list: it is no longer selected or inspected.
  const chosen = group.jobs.filter((job) => selection.has(job.id));
  const jobId = group.jobs.some((job) => job.id === inspected) ? inspected : group.jobs[0].id;
  useBusy(chosen.length > 0, onBusy);
  return html`<div class="dead-group-body">
    <div class="bulk-bar changes">
      <button type="button" class="button button-small" disabled=${chosen.length === 0} onClick=${() => onRedrive(chosen)}>
        Redrive selected${chosen.length > 0 ? ` (${count(chosen.length)})` : ""}</button>
      <span class="muted small">Each job is redriven, with all its attempts.</span>
    </div>
    <${Table} caption="Dead jobs of this group" columns=${columnsOf(jobId, setInspected, onRedrive)} rows=${group.jobs.slice(0, shown)}
      rowKey=${(job) => job.id} rowHref=${(job) => address(["jobs", job.id])} selection=${selection} onSelect=${setSelection} />
    ${group.jobs.length > shown && html`<p><button type="button" class="button button-small" onClick=${() => setShown(shown + 10 * JOBS_SHOWN)}>
      Show more (${count(group.jobs.length - shown)} left)</button></p>`}
    <${Traceback} key=${jobId} jobId=${jobId} />
  </div>`;
}

/** The list does not refresh while jobs are selected or an action runs. */
function useBusy(isBusy, onBusy) {
  useEffect(() => {
    if (!isBusy) return undefined;
    onBusy(1);
    return () => onBusy(-1);
  }, [isBusy]);
}

function columnsOf(inspected, inspect, onRedrive) {
  return [
    { title: "Job", cell: (job) => html`<a class="mono" href=${address(["jobs", job.id])}>${visible(job.id)}</a>` },
    {
      title: "Message",
      className: "cell-note",
      cell: (job) => html`<bdi class="small">${visible(shorten(job.error?.message ?? "–", MESSAGE_CHARACTERS))}</bdi>`,
    },
    { title: "Died", className: "nowrap", cell: (job) => html`<${Time} at=${diedAt(job)} />` },
    { title: "Attempts", isNumber: true, isHiddenOnPhone: true, cell: (job) => count(job.attempt) },
    {
      title: "Actions",
      className: "cell-actions",
      cell: (job) => html`<span class="quick-actions">
        <button type="button" class="button button-small" aria-label=${`Traceback of ${visible(job.id)}`}
          aria-pressed=${job.id === inspected} onClick=${() => inspect(job.id)}>Traceback</button>
        <button type="button" class="button button-small changes" aria-label=${`Redrive ${visible(job.id)}`}
          onClick=${() => onRedrive([job])}>Redrive</button>
        <a class="button button-small changes" aria-label=${`Change and resubmit ${visible(job.id)}`}
          href=${address(["submit"], { from: job.id })}>Resubmit</a>
      </span>`,
    },
  ];
}

/** The traceback of a job's last error: a listing has none, so the job itself is read. */
function Traceback({ jobId }) {
  const { data: job, error, isLoading, refresh } = usePolled(
    (signal) => get(["jobs", jobId], { signal }),
    `traceback of ${jobId}`,
    { everyMilliseconds: 0 },
  );
  const text = job?.error?.traceback ?? "";
  return html`<section class="traceback" aria-label="Traceback" aria-live="polite">
    <h3>Traceback of <a class="mono" href=${address(["jobs", jobId])}>${visible(jobId)}</a></h3>
    <${ErrorState} error=${error} isInline onRetry=${refresh} />
    ${isLoading && html`<${Loading} rows=${2} />`}
    ${job && (text === ""
      ? html`<p class="muted">No traceback is on record: the job did not end with an error in its handler.</p>`
      : html`<pre class="trace" tabindex="0"><bdi>${visible(text.slice(0, TRACEBACK_CHARACTERS))}</bdi></pre>`)}
    ${text.length > TRACEBACK_CHARACTERS && html`<p class="muted small">The traceback is cut after ${counted(TRACEBACK_CHARACTERS, "character")}.</p>`}
  </section>`;
}
