// The times and policies of a job, as a list of terms.
import { html } from "../lib/html.js";
import { CopyButton, JobId, PriorityBadge, Time } from "../lib/components.js";
import { environmentStore } from "../lib/environment.js";
import { count, duration, visible } from "../lib/format.js";
import { address } from "../lib/router.js";
import { useStore } from "../lib/store.js";
import { lastAttemptMilliseconds, Lateness } from "./jobs.js";

/** The log and this page measure different lengths of one attempt. */
const TOOK = "From the start of the last attempt until its handler returned. took_ms in the log also counts storing the outcome.";
const RANDOM = { none: "", additive: ", plus up to 0.5 s at random", full: ", or less at random" };

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
  const took = lastAttemptMilliseconds(job.attempts);
  return [
    ["Run at", time(job.run_at)],
    ["Next due", isDueElsewhen && time(job.due_at)],
    ["Created", time(job.created_at)],
    ["Enqueued", !job.waits_for && time(job.enqueued_at)],
    ["Last started", time(job.started_at)],
    ["Finished", time(job.finished_at)],
    ["Handler took", took !== null && took >= 0 && html`<span title=${TOOK}>${duration(took)}</span>`],
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
    ["Parent", job.parent_id && html`<${JobId} id=${job.parent_id} />`],
    ["Attempts used", `${count(job.attempt)} of ${count(job.retry.max_attempts)}`],
    ["Wait before a retry", waitWords(job.retry)],
    ["Priority", html`<${PriorityBadge} priority=${job.priority} />`],
    ["Schedule", job.schedule_id && html`<a href=${address(["schedules", job.schedule_id])}>${visible(job.schedule_id)}</a>`],
    ["Occurrence", job.occurrence && html`<${Time} at=${job.occurrence} form="both" />`],
    ["Tenant", job.tenant && html`<a href=${address(["jobs"], { tenant: job.tenant })}><bdi>${visible(job.tenant)}</bdi></a>`],
    ["Tags", Object.keys(job.tags).length > 0 && html`<${Tags} tags=${job.tags} />`],
    ["Shared limits", job.limits && html`<${SharedLimits} limits=${job.limits} />`],
    ["Idempotency key", job.idempotency_key && html`<bdi class="mono">${visible(job.idempotency_key)}</bdi>`],
    ["Time limit", duration(job.timeout_seconds * 1000)],
    ["If its worker is lost", job.on_lost === "dead" ? "it ends dead" : "it is retried"],
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
  return html`<span class="trace-id"><span class="mono cut" title=${visible(id)}>${visible(id)}</span><${CopyButton} text=${id} label="the trace id" isQuiet /></span>
    ${place && html`<a class="small" href=${place} target="_blank" rel="noreferrer">Open in X-Ray</a>`}`;
}

function SharedLimits({ limits }) {
  return html`<span class="tags">
    ${limits.map(({ name, key }) => html`<a key=${name} class="tag" href=${address(["limits", name])}>
      <bdi>${visible(key === null ? name : `${name} = ${key}`)}</bdi></a>`)}
  </span>`;
}

function Tags({ tags }) {
  return html`<span class="tags">
    ${Object.entries(tags).map(([key, value]) => html`<a key=${key} class="tag" href=${address(["jobs"], { tag: `${key}:${value}` })}>
      <bdi>${visible(key)}: ${visible(value)}</bdi></a>`)}
  </span>`;
}

/** Return how long a failed attempt waits for the next one: "1 s, then twice as long each time, at most 1 h, plus up to 0.5 s". */
export function waitWords({ max_attempts: most, backoff, base_seconds: base, max_delay_seconds: cap, jitter }) {
  if (most === 1) return "not retried";
  const delays = Array.from({ length: most - 1 }, (_, index) => delayOf(backoff, base, index + 1));
  const first = duration(Math.min(delays[0], cap) * 1000);
  const growth = delays.length > 1 && delays[0] < cap ? `, ${growthWords(backoff, base)}` : "";
  const longest = growth && delays.at(-1) > cap ? `, at most ${duration(cap * 1000)}` : "";
  return `${first}${growth}${longest}${backoff === "sidekiq" ? "" : RANDOM[jitter]}`;
}

function delayOf(backoff, base, retry) {
  return { exponential: base * 2 ** (retry - 1), linear: base * retry, fixed: base, sidekiq: retry ** 4 + 15 }[backoff];
}

function growthWords(backoff, base) {
  return {
    exponential: "then twice as long each time",
    linear: `then ${duration(base * 1000)} longer each time`,
    fixed: "each time",
    sidekiq: "then longer each time, as Sidekiq does",
  }[backoff];
}
