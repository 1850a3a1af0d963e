// One group of dead jobs: their error, the jobs themselves, a traceback, and redriving or discarding them.
import { html, useEffect, useState } from "../lib/html.js";
import { collectPage, get } from "../lib/api.js";
import { ErrorState, Icon, JobId, Loading, Table, Time } from "../lib/components.js";
import { count, counted, shorten, visible } from "../lib/format.js";
import { usePolled, useReachable } from "../lib/live.js";
import { HandlerPaused } from "../lib/pauses.js";
import { address, changeQuery } from "../lib/router.js";
import { askAbout } from "./job_questions.js";
import { BulkDialog } from "./jobs_bulk_dialog.js";

const JOBS_A_READ = 50;
const JOBS_REFRESH_MILLISECONDS = 10_000;
const MESSAGE_CHARACTERS = 400;
const TRACEBACK_CHARACTERS = 20_000;

/** A group, closed or open (the address says which one is). `onBusy` gets "dialog" or "selection" with 1, and with -1 at its end. */
export function DeadLetterGroup({ group, isOpen, isWhole, onBusy, onDone }) {
  const [asked, setAsked] = useState(null);
  const [done, setDone] = useState(0);
  const isReachable = useReachable();
  useBusy("dialog", asked !== null, onBusy);
  const close = (isDone) => {
    setAsked(null);
    if (!isDone) return;
    setDone(done + 1);
    onDone();
  };
  const askJobs = async ({ verb, jobs }) => {
    if (jobs.length > 1) setAsked({ verb, jobs });
    else close(await askAbout(verb, jobs[0]));
  };
  const { id, handler, error_type: type, pattern, newest } = group;
  const ask = (verb) => () => setAsked({
    verb,
    filters: { status: "DEAD", discarded: "false", error_group: id },
    scope: `dead jobs of ${handler} with ${type ?? "no error"}: ${shorten(pattern, 80)}`,
  });
  const toggle = () => changeQuery({ group: isOpen ? "" : id }, { replace: true });
  const number = isWhole ? counted(group.jobs, "job") : `${count(group.jobs)}+ jobs`;
  return html`<section class="card dead-group" aria-label=${visible(`Dead jobs of ${handler} with ${type ?? "no error"}: ${pattern}`)}>
    <div class="dead-group-head">
      <button type="button" class="dead-group-toggle" aria-expanded=${isOpen} onClick=${toggle}>
        <${Icon} name=${isOpen ? "down" : "forward"} />
        <span class="dead-group-words">
          <span><bdi class="dead-group-type">${visible(shorten(type ?? "No error", MESSAGE_CHARACTERS))}</bdi>${" "}
            <bdi class="dead-group-handler">${visible(handler)}</bdi> <${HandlerPaused} name=${handler} words="Handler paused" /></span>
          <bdi class="dead-group-message">${visible(pattern || "no message")}</bdi>
        </span>
      </button>
      <span class="dead-group-count" title=${isWhole ? "" : "Counts only the jobs that were read: there are older ones"}>
        ${number}</span>
      <span class="dead-group-actions changes">
        <button type="button" class="button button-small" disabled=${!isReachable} onClick=${ask("redrive")}>Redrive …</button>
        <button type="button" class="button button-small" disabled=${!isReachable} onClick=${ask("discard")}>Discard …</button>
      </span>
    </div>
    <p class="dead-group-newest small"><span class="muted">Newest:</span>${" "}
      <${JobId} id=${newest.id} />${" "}
      <span class="muted"><${Time} at=${newest.at} />${group.jobs > 1 && html`, first <${Time} at=${group.first_at} />`}</span>
      ${newest.message && newest.message !== pattern && html`<bdi class="dead-group-example">${visible(shorten(newest.message, MESSAGE_CHARACTERS))}</bdi>`}</p>
    ${isOpen && html`<${Jobs} key=${done} group=${group} isHeld=${asked !== null} onBusy=${onBusy} onAsk=${askJobs} />`}
    ${asked && html`<${BulkDialog} ...${asked} onClose=${close} />`}
  </section>`;
}

/** The jobs of an open group, newest first. */
function Jobs({ group, isHeld, onBusy, onAsk }) {
  const [selection, setSelection] = useState(new Set());
  const [limit, setLimit] = useState(JOBS_A_READ);
  const [inspected, setInspected] = useState(group.newest.id);
  const isReachable = useReachable();
  const query = { status: "DEAD", discarded: false, error_group: group.id };
  const load = (signal) => collectPage(["jobs"], "jobs", { query, limit, signal });
  const { data, error, isLoading, refresh } = usePolled(load, `jobs of ${group.id}, ${limit}`, {
    everyMilliseconds: JOBS_REFRESH_MILLISECONDS, isHeld: isHeld || selection.size > 0 || limit > JOBS_A_READ,
  });
  const [shown, setShown] = useState({ items: [], nextCursor: null });
  useEffect(() => { if (data) setShown({ ...data, items: newestDeathFirst(data.items) }); }, [data]);
  // A job that was redriven or discarded has left the list: it is no longer selected or inspected.
  const chosen = shown.items.filter((job) => selection.has(job.id));
  const jobId = shown.items.some((job) => job.id === inspected) ? inspected : shown.items[0]?.id ?? group.newest.id;
  useBusy("selection", chosen.length > 0, onBusy);
  const selected = (verb, words) => html`<button type="button" class="button button-small" disabled=${chosen.length === 0 || !isReachable}
    onClick=${() => onAsk({ verb, jobs: chosen })}>${words} selected${chosen.length > 0 ? ` (${count(chosen.length)})` : ""} …</button>`;
  return html`<div class="dead-group-body">
    <${ErrorState} error=${error} isInline onRetry=${refresh} />
    ${isLoading && shown.items.length === 0 && html`<${Loading} rows=${3} />`}
    ${shown.items.length > 0 && html`
      <div class="bulk-bar changes">${selected("redrive", "Redrive")}${selected("discard", "Discard")}
        <span class="muted small">A redriven job runs again, with all its attempts. A discarded job leaves this list.</span></div>
      <${Table} caption="Dead jobs of this group" columns=${columnsOf(shown.items, jobId, setInspected, onAsk, isReachable)} rows=${shown.items}
        rowKey=${(job) => job.id} rowHref=${(job) => address(["jobs", job.id])} selection=${selection} onSelect=${setSelection} />`}
    ${shown.nextCursor && html`<p><button type="button" class="button button-small" disabled=${isLoading} onClick=${() => setLimit(limit + 4 * JOBS_A_READ)}>
      ${isLoading ? "Reading …" : "Show more jobs"}</button></p>`}
    <${Traceback} key=${jobId} jobId=${jobId} />
  </div>`;
}

/** The list does not refresh while jobs are selected or a dialog asks about many. */
function useBusy(part, isBusy, onBusy) {
  useEffect(() => {
    if (!isBusy) return undefined;
    onBusy(part, 1);
    return () => onBusy(part, -1);
  }, [isBusy]);
}

/** The API lists jobs by when they were created, which is not the order in which they died. */
function newestDeathFirst(jobs) {
  return [...jobs].sort((one, other) => diedAt(other).localeCompare(diedAt(one)));
}

function diedAt(job) {
  return job.finished_at ?? job.created_at;
}

function columnsOf(jobs, inspected, inspect, onAsk, isReachable) {
  // The group's head has the message that all of them share.
  const areAlike = new Set(jobs.map(({ error }) => error?.message)).size === 1;
  const action = (job, verb, words) => html`<button type="button" class="button button-small changes" disabled=${!isReachable}
    aria-label=${`${words} ${visible(job.id)}`} onClick=${() => onAsk({ verb, jobs: [job] })}>${words} …</button>`;
  const message = {
    title: "Message",
    className: "cell-note",
    cell: (job) => html`<bdi>${visible(shorten(job.error?.message ?? "–", MESSAGE_CHARACTERS))}</bdi>`,
  };
  return [
    { title: "Job", cell: ({ id }) => html`<${JobId} id=${id} />` },
    ...(areAlike ? [] : [message]),
    { title: "Died", className: "nowrap", cell: (job) => html`<${Time} at=${diedAt(job)} />` },
    { title: "Attempts", isNumber: true, isHiddenOnPhone: true, cell: (job) => count(job.attempt) },
    {
      title: "Actions",
      className: "cell-actions",
      cell: (job) => html`<span class="quick-actions">
        <button type="button" class="button button-small" aria-label=${`Traceback of ${visible(job.id)}`}
          aria-pressed=${job.id === inspected} onClick=${() => inspect(job.id)}>Traceback</button>
        ${action(job, "redrive", "Redrive")}${action(job, "discard", "Discard")}
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
    <h2>Traceback of <${JobId} id=${jobId} /></h2>
    <${ErrorState} error=${error} isInline onRetry=${refresh} />
    ${isLoading && html`<${Loading} rows=${2} />`}
    ${job && (text === ""
      ? html`<p class="muted">No traceback is on record: the job did not end with an error in its handler.</p>`
      : html`<pre class="trace" tabindex="0"><bdi>${visible(text.slice(0, TRACEBACK_CHARACTERS))}</bdi></pre>`)}
    ${text.length > TRACEBACK_CHARACTERS && html`<p class="muted small">The traceback is cut after ${counted(TRACEBACK_CHARACTERS, "character")}.</p>`}
  </section>`;
}
