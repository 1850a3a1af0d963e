// The times and policies of a job, as a list of terms.
import { html } from "../lib/html.js";
import { CopyButton, PriorityBadge, Time } from "../lib/components.js";
import { environmentStore } from "../lib/environment.js";
import { count, duration, visible } from "../lib/format.js";
import { address } from "../lib/router.js";
import { useStore } from "../lib/store.js";
import { Lateness } from "./jobs.js";

/** Show the facts that there are; what does not apply is left out. */
export function JobFacts({ job }) {
  const facts = [...timesOf(job), ...policiesOf(job)].filter(([, value]) => value);
  return html`<section class="card" aria-label="Facts">
    <dl class="facts card-body">
      ${facts.map(([term, value]) => html`<div key=${term}><dt>${term}</dt><dd>${value}</dd></div>`)}
    </dl>
  </section>`;
}

function timesOf(job) {
  const time = (at) => at && html`<${Time} at=${at} form="both" />`;
  const isDueElsewhen = job.due_at && job.due_at !== job.run_at;
  const took = job.started_at && job.finished_at ? Date.parse(job.finished_at) - Date.parse(job.started_at) : null;
  return [
    ["Run at", time(job.run_at)],
    ["Next due", isDueElsewhen && time(job.due_at)],
    ["Created", time(job.created_at)],
    ["Enqueued", time(job.enqueued_at)],
    ["Last started", time(job.started_at)],
    ["Finished", time(job.finished_at)],
    ["Took", took !== null && took >= 0 && duration(took)],
    ["Lateness", job.lateness_ms != null && html`<${Lateness} milliseconds=${job.lateness_ms} />`],
    ["Expires", time(job.expires_at)],
    ["Cancel requested", time(job.cancel_requested_at)],
    ["Discarded", time(job.discarded_at)],
    ["Held by", job.lease && html`<span class="mono">${visible(job.lease.owner)}</span>`],
    ["Lease until", time(job.lease?.expires_at)],
  ];
}

function policiesOf(job) {
  return [
    ["Attempt", `${job.attempt} of ${job.retry.max_attempts}`],
    ["Priority", html`<${PriorityBadge} priority=${job.priority} />`],
    ["Schedule", job.schedule_id && html`<a href=${address(["schedules", job.schedule_id])}>${visible(job.schedule_id)}</a>`],
    ["Occurrence", job.occurrence && html`<${Time} at=${job.occurrence} form="both" />`],
    ["Tenant", job.tenant && html`<a href=${address(["jobs"], { tenant: job.tenant })}><bdi>${visible(job.tenant)}</bdi></a>`],
    ["Tags", Object.keys(job.tags).length > 0 && html`<${Tags} tags=${job.tags} />`],
    ["Idempotency key", job.idempotency_key && html`<bdi class="mono">${visible(job.idempotency_key)}</bdi>`],
    ["Retries", retriesOf(job.retry)],
    ["Time limit", duration(job.timeout_seconds * 1000)],
    ["If its worker is lost", job.on_lost === "dead" ? "end DEAD" : "retry"],
    ["Kept after its end", duration(job.retention_seconds * 1000)],
    ["Pool", job.pool !== "default" && visible(job.pool)],
    ["Trace", job.trace_id && html`<${Trace} id=${job.trace_id} />`],
  ];
}

/** The id of the job's trace. A deployment's traces are in X-Ray, which writes the id in three parts. */
function Trace({ id }) {
  const { region } = useStore(environmentStore);
  const parts = `1-${id.slice(0, 8)}-${id.slice(8)}`;
  const place = region && `https://${region}.console.aws.amazon.com/cloudwatch/home?region=${region}#xray:traces/${parts}`;
  return html`<span class="trace-id"><span class="mono">${visible(id)}</span><${CopyButton} text=${id} label="the trace id" isQuiet />
    ${place && html`<a href=${place} target="_blank" rel="noreferrer">Open in X-Ray</a>`}</span>`;
}

function Tags({ tags }) {
  return html`<span class="tags">
    ${Object.entries(tags).map(([key, value]) => html`<a key=${key} class="tag" href=${address(["jobs"], { tag: `${key}:${value}` })}>
      <bdi>${visible(key)}: ${visible(value)}</bdi></a>`)}
  </span>`;
}

function retriesOf({ max_attempts: most, backoff, base_seconds: base, max_delay_seconds: cap, jitter }) {
  if (most === 1) return "none";
  const growth = backoff === "sidekiq" ? "sidekiq" : `${backoff} from ${duration(base * 1000)}`;
  const spread = jitter === "none" ? "no jitter" : `${jitter} jitter`;
  return `${count(most - 1)}, ${growth}, at most ${duration(cap * 1000)} apart, ${spread}`;
}
