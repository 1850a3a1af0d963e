// The tables of the overview: queues, handlers, and the newest failures.
import { html, useMemo } from "../lib/html.js";
import { PriorityBadge, StatusBadge, Time } from "../lib/components.js";
import { count, counted, duration, percent, shorten, visible } from "../lib/format.js";
import { HandlerPaused } from "../lib/pauses.js";
import { address } from "../lib/router.js";
import { Card } from "./overview_plots.js";
import { byHandler, failuresOf } from "./overview_sample.js";

const HANDLERS_SHOWN = 12;
const FAILURES_SHOWN = 8;
const MESSAGE_CHARACTERS = 140;

/** What waits and runs in each queue. The pool is named where there is more than one. */
export function QueuesTable({ queues }) {
  const hasPools = new Set(queues.map(({ pool }) => pool)).size > 1;
  const titles = ["Waiting", "Running", "Sent ahead", "Oldest due"];
  return html`<${Card} title="Queues" note="approximate counts from SQS">
    <table class="table plain">
      <thead><tr>
        ${hasPools && html`<th scope="col">Pool</th>`}<th scope="col">Priority</th>
        ${titles.map((title) => html`<th key=${title} scope="col" class="number">${title}</th>`)}
      </tr></thead>
      <tbody>${queues.map((queue) => html`<tr key=${queue.pool + queue.priority}>
        ${hasPools && html`<td>${queue.pool}</td>`}
        <td><${PriorityBadge} priority=${queue.priority} /></td>
        <td class="number">${count(queue.waiting)}</td>
        <td class="number">${count(queue.running)}</td>
        <td class="number">${count(queue.delayed)}</td>
        <td class="number">${queue.oldest_due_seconds > 0 ? duration(queue.oldest_due_seconds * 1000) : "–"}</td>
      </tr>`)}</tbody>
    </table>
  <//>`;
}

/** One row a handler, from the sample. */
export function HandlersTable({ jobs }) {
  const rows = useMemo(() => byHandler(jobs), [jobs]);
  return html`<section class="card" aria-label="Handlers">
    <div class="card-header"><h2>Handlers</h2>
      <span class="muted small">${rows.length > HANDLERS_SHOWN ? `the ${HANDLERS_SHOWN} busiest, ` : ""}each share is of the handler's own attempts</span></div>
    <div class="card-body">
      ${rows.length === 0 ? html`<p class="muted">No jobs yet.</p>` : html`<table class="table plain">
        <thead><tr>
          <th scope="col">Handler</th><th scope="col" class="number">Jobs</th>
          <th scope="col" class="number">Failed attempts</th><th scope="col" class="number">Dead</th>
          <th scope="col" class="number not-on-phone">Took p50</th><th scope="col" class="number">Late p99</th>
        </tr></thead>
        <tbody>${rows.slice(0, HANDLERS_SHOWN).map((row) => html`<${HandlerRow} key=${row.handler} row=${row} />`)}</tbody>
      </table>`}
    </div>
  </section>`;
}

function HandlerRow({ row }) {
  const share = row.ended > 0 ? percent(row.failed / row.ended) : "–";
  return html`<tr>
    <td class="cell-wrap"><a href=${address(["jobs"], { handler: row.handler })}>${visible(row.handler)}</a> <${HandlerPaused} name=${row.handler} /></td>
    <td class="number">${count(row.jobs)}</td>
    <td class=${`number ${row.failed > 0 ? "text-bad" : ""}`} title=${`${count(row.failed)} of ${counted(row.ended, "attempt")} of this handler`}>${share}</td>
    <td class="number">${row.dead > 0
      ? html`<a class="text-bad" href=${address(["jobs"], { handler: row.handler, status: "DEAD" })}>${count(row.dead)}</a>`
      : html`<span class="muted">0</span>`}</td>
    <td class="number not-on-phone">${duration(row.tookP50)}</td>
    <td class="number">${duration(row.lateP99)}</td>
  </tr>`;
}

/** The jobs of the sample whose last attempt failed, newest first. */
export function NewestFailures({ jobs }) {
  const failed = useMemo(() => failuresOf(jobs, FAILURES_SHOWN), [jobs]);
  return html`<section class="card" aria-label="Newest failures">
    <div class="card-header"><h2>Newest failures</h2><a class="small" href=${address(["dead-letters"])}>All dead letters</a></div>
    <div class="card-body">
      ${failed.length === 0
        ? html`<p class="muted">None among the newest jobs.</p>`
        : html`<ul class="failure-list">${failed.map((job) => html`<${Failed} key=${job.id} job=${job} />`)}</ul>`}
    </div>
  </section>`;
}

function Failed({ job }) {
  const text = visible(shorten(`${job.error.type}: ${job.error.message}`, MESSAGE_CHARACTERS));
  return html`<li>
    <${StatusBadge} status=${job.status} />
    <a href=${address(["jobs", job.id])}>${visible(job.handler)}</a>
    <span class="muted small"><${Time} at=${job.attempts.at(-1)?.finished_at} /></span>
    <bdi class="failure-message small">${text}</bdi>
  </li>`;
}
