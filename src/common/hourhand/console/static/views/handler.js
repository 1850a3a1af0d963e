// The page of one handler: its payload, its policies, how its newest jobs went, and its schedules.
import { html } from "../lib/html.js";
import { aboutStore } from "../lib/about.js";
import { collectPage, get } from "../lib/api.js";
import {
  Badge, Changes, EmptyState, ErrorState, Icon, JobId, JsonView, LiveSwitch, Loading, Page, Table, Time,
} from "../lib/components.js";
import { count, counted, duration, percent, shorten, visible } from "../lib/format.js";
import { useKey } from "../lib/keys.js";
import { useNow, usePolled } from "../lib/live.js";
import { PauseNotice } from "../lib/pauses.js";
import { address } from "../lib/router.js";
import { rowsOf } from "../lib/schema.js";
import { askToChangePause, askToPause, askToResume } from "./handler_actions.js";
import { statsOf } from "./handler_stats.js";
import { JobBadge } from "./jobs.js";
import { dueOf, splitByTime } from "./jobs_query.js";
import { eachWords, numberWords } from "./limit_words.js";
import { ScheduleUsers } from "./schedule_users.js";

export const routes = [{ pattern: "/handlers/:name", view: HandlerView, section: "handlers" }];

const JOBS_IN_SAMPLE = 200;
const JOBS_SHOWN = 20;
const REFRESH_MILLISECONDS = 5000;
const DEPLOYED_MILLISECONDS = 30_000;
const ERROR_CHARACTERS = 120;

function HandlerView({ name }) {
  const everyMilliseconds = aboutStore.get().endpoint ? DEPLOYED_MILLISECONDS : REFRESH_MILLISECONDS;
  const { data: handler, error, isLoading, refresh: readAgain } = usePolled(
    (signal) => get(["handlers", name], { signal }), `handler ${name}`, { everyMilliseconds },
  );
  const { data: sample, error: jobsError, refresh: readJobs } = usePolled(
    (signal) => collectPage(["jobs"], "jobs", { query: { handler: name }, limit: JOBS_IN_SAMPLE, signal }),
    `jobs of handler ${name}`,
    { everyMilliseconds },
  );
  const refresh = () => {
    readAgain();
    readJobs();
  };
  useKey("r", "refresh", refresh);
  const ask = (question) => async () => {
    if (await question(handler)) refresh();
  };
  const actions = handler && html`<${LiveSwitch} onRefresh=${refresh} />
    <${Changes} label="Actions">${handler.paused
      ? html`<button type="button" class="button" onClick=${ask(askToResume)}><${Icon} name="play" />Resume …</button>
        <button type="button" class="button" onClick=${ask(askToChangePause)}><${Icon} name="edit" />Change pause …</button>`
      : html`<button type="button" class="button" onClick=${ask(askToPause)}><${Icon} name="pause" />Pause …</button>`}<//>
    <a class="button changes" href=${address(["new-schedule"], { handler: name })}>New schedule</a>
    <a class="button button-primary changes" href=${address(["submit"], { handler: name })}><${Icon} name="plus" />Submit job</a>`;
  const heading = html`<bdi>${visible(name)}</bdi>${handler?.paused && html` <${Badge} tone="warning" shape="pause">Paused<//>`}`;
  return html`<${Page} title=${`Handler ${visible(name)}`} heading=${heading} actions=${actions}>
    ${error?.status === 404 ? html`<${Missing} name=${name} />` : html`<${ErrorState} error=${error} isInline onRetry=${readAgain} />`}
    ${isLoading && html`<${Loading} />`}
    ${handler && html`
      ${handler.paused && html`<${PauseNotice} paused=${handler.paused}>Its jobs are accepted, and wait.<//>`}
      ${handler.description && html`<p class="muted"><bdi>${visible(handler.description)}</bdi></p>`}
      <${ErrorState} error=${jobsError} isInline onRetry=${readJobs} />
      ${sample && html`<${Figures} name=${name} sample=${sample} />`}
      <div class="handler-columns">
        <${Payload} handler=${handler} />
        <div class="handler-side">
          <${Policies} handler=${handler} />
          ${handler.limits?.length > 0 && html`<${Limits} limits=${handler.limits} />`}
          <${ScheduleUsers} title="Schedules" noun="handler" name=${name} uses=${(schedule) => schedule.handler === name} />
        </div>
      </div>
      ${sample && html`<${RecentJobs} name=${name} jobs=${sample.items} />`}`}
  <//>`;
}

function Missing({ name }) {
  return html`<${EmptyState} title="This handler is not registered" icon="search">
    <p>No handler has the name ${visible(name)}. Its module may not be packed. <a href=${address(["handlers"])}>Show all handlers</a>.</p>
  <//>`;
}

/** Figures of the newest jobs, with the sample that they come from. */
function Figures({ name, sample: { items, nextCursor } }) {
  const stats = statsOf(items);
  const rate = stats.ended > 0 ? percent(stats.failed / stats.ended) : "–";
  return html`<section aria-label="Figures">
    <dl class="tiles">
      <${Tile} term="Took p50" value=${duration(stats.p50)} note="of ended attempts" />
      <${Tile} term="Took p95" value=${duration(stats.p95)} note="of ended attempts" />
      <${Tile} term="Failed attempts" value=${rate} note=${`${count(stats.failed)} of ${count(stats.ended)}`} isBad=${stats.failed > 0} />
      <${Tile} term="Dead" value=${stats.dead > 0
        ? html`<a class="text-bad" href=${address(["jobs"], { handler: name, status: "DEAD" })}>${count(stats.dead)}</a>` : "0"} note="of these jobs" />
    </dl>
    <p class="muted small figures-sample">${stats.jobs === 0
      ? nextCursor ? "None of the newest jobs that were searched is of this handler." : "This handler has no jobs."
      : html`From the newest ${counted(stats.jobs, "job")} of this handler, created since <${Time} at=${stats.since} form="local" />.`}</p>
  </section>`;
}

function Tile({ term, value, note, isBad }) {
  return html`<div class="tile">
    <dt>${term}</dt><dd class=${isBad ? "text-bad" : ""}>${value}</dd><dd class="tile-note">${note}</dd>
  </div>`;
}

function Payload({ handler: { payload_schema: schema, payload_validated: isValidated, payload_examples: examples } }) {
  const rows = schema ? rowsOf(schema) : null;
  return html`<section class="card" aria-label="Payload">
    <div class="card-header"><h2>Payload</h2><span class="muted small">${isValidated
      ? "A submission with another payload is refused" : "Checked only when the handler runs"}</span></div>
    <div class="card-body">
      ${!schema && html`<p class="muted">This handler takes any JSON, or its schema is too large to be published.</p>`}
      ${rows?.length > 0 && html`<${Fields} rows=${rows} />`}
      ${schema && html`<details class="fold" open=${!rows}><summary>JSON Schema</summary><${JsonView} value=${schema} label="the schema" /></details>`}
      ${examples?.length > 0 && html`<details class="fold"><summary>An example</summary><${JsonView} value=${examples[0]} label="the example" /></details>`}
    </div>
  </section>`;
}

function Fields({ rows }) {
  return html`<table class="table plain schema-fields">
    <thead><tr><th scope="col">Field</th><th scope="col">Type</th><th scope="col">Default</th></tr></thead>
    <tbody>${rows.map((row) => html`<tr key=${row.name}>
      <td><bdi class="mono">${visible(row.name)}</bdi>${row.isRequired && html` <span class="required">required</span>`}
        ${row.description && html`<div class="muted small">${visible(row.description)}</div>`}</td>
      <td>${visible(row.type)}${row.bounds.length > 0 && html`<div class="muted small">${visible(row.bounds.join(", "))}</div>`}</td>
      <td>${row.hasDefault ? html`<bdi class="mono small">${visible(shorten(JSON.stringify(row.standard), 60))}</bdi>` : html`<span class="muted">–</span>`}</td>
    </tr>`)}</tbody>
  </table>`;
}

/** What `@job` states; the defaults of Hourhand hold for the others. */
function Policies({ handler: { name, policies, schedule, unique, debounce } }) {
  const { timeout_seconds: timeout, priority, retry, on_lost: onLost, retention_seconds: retention } = policies;
  const standard = html`<span class="muted">default</span>`;
  const facts = [
    ["Time limit", timeout == null ? standard : duration(timeout * 1000)],
    ["Priority", priority ?? standard],
    ["Attempts", retry ? `at most ${count(retry.max_attempts)}` : standard],
    ["Backoff", retry ? `${retry.backoff} from ${duration(retry.base_seconds * 1000)}` : standard],
    ["If its worker is lost", onLost ? (onLost === "dead" ? "it ends dead" : "it is retried") : standard],
    ["Kept after its end", retention == null ? standard : duration(retention * 1000)],
    ...(unique ? [["Unique", visible(uniqueWords(unique))]] : []),
    ...(debounce ? [["Debounced", visible(debounceWords(debounce))]] : []),
    ...(schedule ? [["Declared schedule", html`<${DeclaredSchedule} name=${name} schedule=${schedule} />`]] : []),
  ];
  return html`<section class="card" aria-label="Policies">
    <div class="card-header"><h2>Policies</h2></div>
    <div class="card-body"><dl class="facts">${facts.map(([term, value]) => html`<div key=${term}><dt>${term}</dt><dd>${value}</dd></div>`)}</dl></div>
  </section>`;
}

const ON_CONFLICT = { return: "returns it", reject: "is refused", replace: "replaces its payload and time" };

function uniqueWords({ key, until, on_conflict: onConflict }) {
  const end = typeof until === "number" ? `${duration(until * 1000)} after its submission` : `its ${until}`;
  return `one job of ${key} until ${end}; another submission ${ON_CONFLICT[onConflict] ?? onConflict}`;
}

function debounceWords({ key, wait_seconds: wait, max_wait_seconds: longest, mode }) {
  const latest = longest === null ? "" : `, at most ${duration(longest * 1000)} after the first`;
  return `one job of ${key}, ${duration(wait * 1000)} after the last submission${latest}${mode === "first" ? "; it has the first payload" : ""}`;
}

/** The limits that `@job` declares; the numbers are those in the code. */
function Limits({ limits }) {
  return html`<section class="card" aria-label="Limits">
    <div class="card-header"><h2>Limits</h2><span class="muted small">as in the code</span></div>
    <div class="card-body"><dl class="facts">${limits.map((limit) => html`<div key=${limit.name}>
      <dt><a href=${address(["limits", limit.name])}><bdi>${visible(limit.name)}</bdi></a></dt>
      <dd>${visible([numberWords(limit, limit.max), eachWords(limit)].filter(Boolean).join(", "))}</dd></div>`)}</dl></div>
  </section>`;
}

/** The rule that `@job` declares; the schedule itself has the name of the handler. */
function DeclaredSchedule({ name, schedule: { expression, timezone } }) {
  const rules = [expression].flat();
  return html`<a href=${address(["schedules", name])}>${rules.map((rule) => html`<bdi class="mono small" key=${rule}>${visible(rule)}</bdi> `)}</a>
    <span class="muted small">${visible(timezone)}</span>`;
}

/** The jobs that were due last come first: a schedule creates its jobs ahead, and these would hide how the runs went. */
function RecentJobs({ name, jobs }) {
  const { upcoming, recent } = splitByTime(jobs, useNow());
  recent.sort((one, other) => dueOf(other).localeCompare(dueOf(one)));
  const shown = [...recent, ...upcoming].slice(0, JOBS_SHOWN);
  return html`<section class="handler-jobs" aria-label="Newest jobs">
    <div class="section-header"><h2>Newest jobs</h2><a class="small" href=${address(["jobs"], { handler: name })}>All jobs of this handler</a></div>
    ${shown.length === 0
      ? html`<p class="muted">None.</p>`
      : html`<${Table} caption="The newest jobs of this handler" columns=${JOB_COLUMNS} rows=${shown}
          rowKey=${({ id }) => id} rowHref=${({ id }) => address(["jobs", id])} />`}
  </section>`;
}

const JOB_COLUMNS = [
  { title: "Status", cell: (job) => html`<${JobBadge} job=${job} />` },
  { title: "Job", cell: ({ id }) => html`<${JobId} id=${id} />` },
  { title: "Due", className: "nowrap", cell: (job) => html`<${Time} at=${dueOf(job)} />` },
  { title: "Attempt", isNumber: true, cell: ({ attempt, retry }) => `${count(attempt)} of ${count(retry.max_attempts)}` },
  { title: "Took", isNumber: true, cell: (job) => tookWords(job) },
  { title: "Error", className: "cell-note", cell: (job) => html`<${JobError} job=${job} />` },
];

function tookWords({ started_at: begun, finished_at: ended }) {
  return begun && ended ? duration(Date.parse(ended) - Date.parse(begun)) : html`<span class="muted none">–</span>`;
}

function JobError({ job: { error, status } }) {
  if (!error || status === "SUCCEEDED") return html`<span class="muted none">–</span>`;
  return html`<bdi class="small"><span class="text-bad">${visible(error.type)}</span> ${visible(shorten(error.message, ERROR_CHARACTERS))}</bdi>`;
}
