// A schedule's past occurrences, newest first, and its next scheduled times.
import { html, useEffect } from "../lib/html.js";
import { collectPage, get } from "../lib/api.js";
import { Badge, EmptyState, ErrorState, JobId, Loading, Pager, StatusBadge, Table, Time } from "../lib/components.js";
import { counted, duration, visible } from "../lib/format.js";
import { usePolled } from "../lib/live.js";
import { address } from "../lib/router.js";
import { Details } from "./schedule_details.js";
import { reasonWords, shortTimeInZone, timeInZone } from "./schedule_words.js";

const OCCURRENCES_A_PAGE = 50;
const REFRESH_MILLISECONDS = 5000;
const KINDS = { trigger: "by hand", backfill: "backfill" };

/**
 * The page of a schedule's history that `cursor` names, and the next ten times. They are read
 * again whenever `asked` changes, too.
 */
export function Occurrences({ schedule, cursor, asked }) {
  const path = ["schedules", schedule.id, "occurrences"];
  const { data, error, isLoading, refresh } = usePolled(
    async (signal) => {
      const [past, { upcoming }] = await Promise.all([
        collectPage(path, "occurrences", { cursor, limit: OCCURRENCES_A_PAGE, signal }),
        get(path, { query: { limit: 1 }, signal }),
      ]);
      return { ...past, upcoming };
    },
    `occurrences of ${schedule.id} ${cursor ?? ""}`,
    { everyMilliseconds: REFRESH_MILLISECONDS },
  );
  useEffect(() => {
    if (asked > 0) refresh();
  }, [asked]);
  return html`<${ErrorState} error=${error} isInline onRetry=${refresh} />
    ${isLoading && html`<${Loading} />`}
    ${data && html`<div class="occurrences">
      <section class="occurrences-past" aria-label="Past occurrences">
        <${Past} schedule=${schedule} data=${data} cursor=${cursor} />
        <${Pager} cursor=${cursor} nextCursor=${data.nextCursor} segments=${["schedules", schedule.id]} query=${{}} />
      </section>
      <div class="occurrences-side"><${Upcoming} schedule=${schedule} fires=${data.upcoming} /><${Details} schedule=${schedule} /></div>
    </div>`}`;
}

function Past({ schedule, data, cursor }) {
  if (data.items.length > 0) {
    return html`<${Table} caption="Past occurrences, newest first" columns=${columnsOf(schedule)} rows=${data.items}
      rowKey=${keyOf} rowHref=${(row) => hrefOf(row) ?? address(["jobs"], { schedule_id: schedule.id })} />`;
  }
  if (data.nextCursor) return html`<${EmptyState} title="Nothing on this page"><p>The next page has older occurrences.</p><//>`;
  if (cursor) return html`<${EmptyState} title="No older occurrences"><p>This was the last page.</p><//>`;
  return html`<${EmptyState} title="No occurrences yet" icon="clock">
    <p>Each occurrence appears here with its job, or with the reason why it was skipped.</p>
  <//>`;
}

function Upcoming({ schedule, fires }) {
  return html`<section class="card upcoming">
    <div class="card-header"><h2>Next scheduled times</h2> <span class="muted small">${visible(schedule.timezone)}</span></div>
    <div class="card-body">
      ${fires.length === 0
        ? html`<p class="muted">${schedule.paused ? "None while the schedule is paused." : "None. The schedule has no further times."}</p>`
        : html`<ol class="fires fires-stacked">${fires.map(({ at }) => html`<li key=${at}>
            <span>${shortTimeInZone(at, schedule.timezone)}</span><span class="muted small"><${Time} at=${at} /></span></li>`)}</ol>`}
    </div>
  </section>`;
}

function columnsOf({ timezone }) {
  return [
    { title: "Time", cell: (row) => html`<${When} row=${row} timezone=${timezone} />` },
    { title: "Outcome", cell: (row) => html`<${Outcome} row=${row} />` },
    { title: "Job", cell: (row) => html`<${JobOf} row=${row} />` },
    { title: "Lateness", isNumber: true, isHiddenOnPhone: true, cell: ({ job }) => lengthOf(job?.lateness_ms) },
    { title: "Took", isNumber: true, cell: ({ job }) => lengthOf(tookMilliseconds(job)) },
  ];
}

function When({ row, timezone }) {
  return html`<span class="occurrence-time">
    <span title=${timeInZone(row.at, timezone)}>${shortTimeInZone(row.at, timezone)}</span>
    <span class="muted small">${row.until
      ? html`to ${shortTimeInZone(row.until, timezone)}`
      : html`<${Time} at=${row.at} />`}
      ${KINDS[row.kind] ? ` · ${KINDS[row.kind]}` : ""}</span>
  </span>`;
}

function Outcome({ row }) {
  if (row.reason) {
    const many = row.count > 1 ? `${row.is_least ? "at least " : ""}${counted(row.count, "time")} ` : "";
    return html`<span class="occurrence-outcome">
      <${Badge} tone="quiet" shape="slash">${many}skipped: ${visible(row.reason)}<//>
      <span class="muted small">${visible(reasonWords(row.reason))}</span></span>`;
  }
  if (row.job) {
    return html`<span class="occurrence-outcome"><${StatusBadge} status=${row.job.status} />
      ${row.skipped_first && html`<span class="muted small">skipped first: ${visible(row.skipped_first)}</span>`}</span>`;
  }
  return html`<span class="muted">its job is no longer kept</span>`;
}

function JobOf({ row }) {
  if (!row.job) return html`<span class="muted">–</span>`;
  const { error } = row.job;
  return html`<span class="occurrence-job"><${JobId} id=${row.job_id} />
    ${error && row.job.status !== "SUCCEEDED" && html`<bdi class="text-bad small">${visible(error.type)}</bdi>`}</span>`;
}

function keyOf(row) {
  return `${row.at} ${row.kind} ${row.job_id ?? row.reason}`;
}

function hrefOf(row) {
  return row.job ? address(["jobs", row.job_id]) : null;
}

function tookMilliseconds(job) {
  return job?.started_at && job.finished_at ? Date.parse(job.finished_at) - Date.parse(job.started_at) : null;
}

function lengthOf(milliseconds) {
  return milliseconds == null ? html`<span class="muted">–</span>` : duration(milliseconds);
}
