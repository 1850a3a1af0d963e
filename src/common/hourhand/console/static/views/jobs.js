// The list of jobs: filtered by the address, newest first, refreshed until it is paused.
import { html, useState } from "../lib/html.js";
import { collectPage } from "../lib/api.js";
import {
  EmptyState, ErrorState, Icon, LiveSwitch, Loading, Page, Pager, PriorityBadge, StatusBadge, Table, Time,
} from "../lib/components.js";
import { count, counted, duration, shorten, visible } from "../lib/format.js";
import { useKey } from "../lib/keys.js";
import { useNow, usePolled } from "../lib/live.js";
import { HandlerPauseNotice } from "../lib/pauses.js";
import { address } from "../lib/router.js";
import { WaitBadge, WaitLine } from "./job_wait.js";
import { BulkBar } from "./jobs_bulk.js";
import { useStatusCounts } from "./jobs_counts.js";
import { JobsFilter } from "./jobs_filter.js";
import { dueOf, filtersOf, inWords, isUpcoming, splitByTime, unclearOf, whyUnclear } from "./jobs_query.js";

export const routes = [{ pattern: "/jobs", view: JobsView, section: "jobs" }];

const JOBS_A_PAGE = 50;
const REFRESH_MILLISECONDS = 3000;
const ERROR_CHARACTERS = 240;
const NOTE_CHARACTERS = 120;
/** Upcoming jobs that are shown above the recent ones until all are asked for. */
const UPCOMING_SHOWN = 5;

function JobsView({ query }) {
  const filters = filtersOf(query);
  const cursor = query.get("cursor");
  const key = query.toString();
  const [draft, setDraft] = useState("");
  const [selected, setSelected] = useState({ key, ids: new Set() });
  const selection = selected.key === key ? selected.ids : new Set();
  const select = (ids) => setSelected({ key, ids });
  const { data, error, isLoading, refresh } = usePolled(
    (signal) => readPage(filters, cursor, signal), key,
    { everyMilliseconds: REFRESH_MILLISECONDS, isHeld: selection.size > 0 },
  );
  const counts = useStatusCounts(filters);
  const refreshAll = () => {
    counts.refresh();
    refresh();
  };
  useKey("r", "refresh", refreshAll);
  useKey("Escape", "clear the selection", () => select(new Set()));
  const held = selection.size > 0 ? "Refreshing is on hold while jobs are selected" : null;
  const actions = html`<${LiveSwitch} onRefresh=${refreshAll} heldBecause=${held} />
    <a class="button button-primary changes" href=${address(["submit"], { handler: filters.handler })}>
      <${Icon} name="plus" />Submit job</a>`;
  return html`<${Page} title="Jobs" actions=${actions}>
    <${JobsFilter} query=${query} draft=${draft} onDraft=${setDraft} counts=${counts.data} />
    <${ErrorState} error=${error} isInline onRetry=${refresh} />
    ${filters.handler && html`<${HandlerPauseNotice} name=${filters.handler}>Its jobs are accepted, and wait.<//>`}
    <${BulkBar} filters=${filters} jobs=${data?.items ?? []} selection=${selection}
      isNone=${!data || (data.items.length === 0 && !data.nextCursor && !cursor)}
      unclear=${unclearBecause(error, unclearOf(query), draft)} onSelect=${select} onDone=${refreshAll} />
    <${Found} data=${data} isLoading=${isLoading} error=${error} filters=${filters} cursor=${cursor}
      selection=${selection} onSelect=${select} />
    ${data && html`<${Pager} cursor=${cursor} nextCursor=${data.nextCursor} segments=${["jobs"]} query=${filters} />`}
  <//>`;
}

/** Read a page. Jobs that wait for their time come on top of it, so that they do not displace the others. */
function readPage(filters, cursor, signal) {
  const now = Date.now();
  const isExtra = filters.status ? () => false : (job) => isUpcoming(job, now);
  return collectPage(["jobs"], "jobs", { query: filters, cursor, limit: JOBS_A_PAGE, signal, isExtra });
}

/** Return why it is not certain which jobs the filters mean, or null. Bulk actions are then disabled. */
function unclearBecause(error, unclear, draft) {
  if (error) return "The list could not be read, so bulk actions are disabled.";
  if (unclear.length > 0) return whyUnclear(unclear);
  if (draft.trim()) return "The search box contains text that is not applied. Press Enter in it, or clear it.";
  return null;
}

function Found({ data, isLoading, error, filters, cursor, selection, onSelect }) {
  if (isLoading) return html`<${Loading} rows=${8} />`;
  if (!data) return null;
  if (data.items.length > 0) {
    return html`<${JobsTable} jobs=${data.items} filters=${filters} selection=${selection} onSelect=${onSelect} />`;
  }
  if (error) return null;
  return html`<${NothingFound} filters=${filters} cursor=${cursor} isMore=${Boolean(data.nextCursor)} />`;
}

/** The jobs of a page: those that wait for their time, the next one first; then the others, newest first. */
function JobsTable({ jobs, filters, selection, onSelect }) {
  const now = useNow();
  const [isWhole, setWhole] = useState(false);
  const { upcoming, recent } = splitByTime(jobs, now);
  const isCut = !isWhole && recent.length > 0 && upcoming.length > UPCOMING_SHOWN;
  const shown = isCut ? upcoming.slice(0, UPCOMING_SHOWN) : upcoming;
  const all = html`<button type="button" class="button button-small" onClick=${() => setWhole(true)}>
    Show all ${count(upcoming.length)}</button>`;
  const sections = [
    { title: "Upcoming", rows: shown, note: html`<span class="muted small">${counted(upcoming.length, "job")} on this page, the next one first</span> ${isCut && all}` },
    { title: "Recent", rows: recent, note: html`<span class="muted small">newest first</span>` },
  ];
  return html`<${Table} caption=${`Jobs: ${inWords(filters)}`} columns=${COLUMNS}
    sections=${sections.filter(({ rows }) => rows.length > 0)}
    rowKey=${(job) => job.id} rowHref=${(job) => address(["jobs", job.id])}
    selection=${selection} onSelect=${onSelect} className="table-jobs" />`;
}

function NothingFound({ filters, cursor, isMore }) {
  if (isMore) {
    return html`<${EmptyState} title="No match among the newest jobs" icon="search">
      <p>None of the jobs searched so far matches. Older jobs may match: continue the search below.</p>
    <//>`;
  }
  if (cursor) return html`<${EmptyState} title="No older jobs"><p>This was the last page.</p><//>`;
  if (Object.keys(filters).length > 0) {
    return html`<${EmptyState} title="No job matches" icon="search">
      <p>There are no ${visible(inWords(filters))}. <a href=${address(["jobs"])}>Show all jobs</a>.</p>
    <//>`;
  }
  return html`<${EmptyState} title="No jobs yet" icon="jobs">
    <p>Jobs appear here when they are submitted through the API, a schedule or the command line.</p>
    <p class="changes"><a class="button button-primary" href=${address(["submit"])}>Submit a job</a></p>
  <//>`;
}

const COLUMNS = [
  { title: "Status", cell: (job) => html`<${State} job=${job} />` },
  { title: "Job", className: "cell-job", cell: (job) => html`<${Name} job=${job} />` },
  { title: "Due", className: "nowrap", cell: (job) => html`<${Time} at=${dueOf(job)} />` },
  { title: "Lateness", isNumber: true, cell: (job) => html`<${Lateness} milliseconds=${job.lateness_ms} />` },
  { title: "Took", isNumber: true, cell: took },
  { title: "Attempt", isNumber: true, cell: (job) => `${job.attempt} of ${job.retry.max_attempts}` },
  { title: "Priority", isHiddenOnPhone: true, cell: (job) => html`<${PriorityBadge} priority=${job.priority} />` },
  { title: "Error", className: "cell-note", cell: (job) => html`<${Failure} job=${job} />` },
];

/** The state of a job, whether it was discarded, and whether it waits for more than its time. */
export function JobBadge({ job }) {
  return html`<span class="job-badges"><${StatusBadge} status=${job.status} />
    ${job.discarded_at && html`<span class="badge badge-quiet">Discarded</span>`}
    <${WaitBadge} job=${job} /></span>`;
}

/** The badges of a job; below them what it waits for, the note of its discard, or how far a running job is. */
function State({ job }) {
  const note = shorten(job.discard_note ?? "", NOTE_CHARACTERS);
  return html`<span class="job-state">
    <${JobBadge} job=${job} />
    <${WaitLine} job=${job} />
    ${note && html`<bdi class="small muted" title=${visible(job.discard_note)}>${visible(note)}</bdi>`}
    ${job.status === "RUNNING" && html`<${Progress} job=${job} />`}
  </span>`;
}

function Progress({ job: { progress, cancel_requested_at: asked } }) {
  if (asked) return html`<span class="small muted">cancel requested</span>`;
  if (!progress) return null;
  const { done, total, message } = progress;
  const share = total == null ? count(done) : `${count(done)} of ${count(total)}`;
  return html`<span class="small muted">${share} <bdi>${visible(shorten(message ?? "", 80))}</bdi></span>`;
}

/** The handler, the id, and the schedule that created the job. */
function Name({ job }) {
  return html`<span class="job-name">
    <a href=${address(["jobs", job.id])} class="job-link" title=${visible(job.id)}>
      <span class="job-handler">${visible(job.handler)}</span><span class="job-id id">${visible(job.id)}</span></a>
    ${job.schedule_id && html`<span class="small muted">schedule <a href=${address(["schedules", job.schedule_id])}>${visible(job.schedule_id)}</a></span>`}
  </span>`;
}

/** How late a job started, coloured above one second. */
export function Lateness({ milliseconds }) {
  if (milliseconds == null) return html`<span class="muted none">–</span>`;
  const tone = milliseconds > 60_000 ? "text-bad" : milliseconds > 1000 ? "text-warning" : "";
  return html`<span class=${tone}>${duration(milliseconds)}</span>`;
}

function took({ attempts }) {
  const length = lastAttemptMilliseconds(attempts);
  return length === null ? html`<span class="muted none">–</span>` : duration(length);
}

/** Return how long the last attempt ran until its handler returned; null if it runs, or if that is not known. */
export function lastAttemptMilliseconds(attempts) {
  const { started_at: begun, finished_at: ended } = attempts.at(-1) ?? {};
  return begun && ended ? Date.parse(ended) - Date.parse(begun) : null;
}

/** Why the last attempt failed. A running job tries again, so its last error is left to its page. */
function Failure({ job: { error, status } }) {
  if (!error || status === "RUNNING") return html`<span class="muted none">–</span>`;
  const text = visible(`${error.type}: ${error.message}`);
  return html`<bdi class="text-bad small job-error" title=${shorten(text, 1000)}>${shorten(text, ERROR_CHARACTERS)}</bdi>`;
}
