// Every change of state of a job, oldest first, with its time, actor and reason.
import { html } from "../lib/html.js";
import { StatusBadge, Time } from "../lib/components.js";
import { counted, duration, local, localClock, localShort, utc, visible } from "../lib/format.js";

/** A job that was submitted with at least this time before its due time waits for that time. */
const AHEAD_MILLISECONDS = 1000;
/** Events that give the job another due time, so that the one on record is not that of its submission. */
const MOVES = ["CHANGED", "RUN_NOW", "REDRIVEN"];

const WORDS = {
  SUBMITTED: "submitted",
  ENQUEUED: "sent to its queue",
  SEND_FAILED: "could not be sent",
  DISPATCHED_AGAIN: "sent again",
  AGED: "moved to a higher queue because of its age",
  CLAIMED: "started",
  SUCCEEDED: "succeeded",
  FAILED: "failed",
  TIMED_OUT: "timed out",
  LOST: "lost",
  SNOOZED: "snoozed by its handler",
  HANDED_BACK: "returned to the queue by a worker that was shutting down",
  CANCEL_REQUESTED: "cancellation requested",
  CANCELLED: "cancelled",
  EXPIRED: "expired before it started",
  CHANGED: "changed",
  RUN_NOW: "made due now",
  REDRIVEN: "redriven",
  DISCARDED: "discarded",
  PARKED: "waits for a slot",
  SUSPENDED: "suspended",
  WOKEN: "woken",
  RESTARTED: "restarted with an empty journal",
  REFILED: "moved to another bucket of the index",
};

/** Show the events; `dropped` of them were removed from the middle. */
export function History({ job, events, dropped }) {
  const due = events.some(({ kind }) => MOVES.includes(kind)) ? null : Date.parse(job.run_at);
  const firstClaim = events.find(({ kind }) => kind === "CLAIMED");
  return html`<section class="card" aria-label="History">
    <div class="card-header"><h2>History</h2>
      ${dropped > 0 && html`<span class="muted small">${counted(dropped, "event")} from the middle no longer kept</span>`}</div>
    <ol class="history card-body">
      ${events.map((event, index) => html`<${Event} key=${index} event=${event} before=${events[index - 1]} detail=${due === null ? "" : detailOf(event, job, due, event === firstClaim)} />`)}
    </ol>
  </section>`;
}

/** Return what else an event says of the due time, in milliseconds: a wait for it is no delay. */
function detailOf({ kind, at, status }, job, due, isFirstClaim) {
  const isAhead = due - Date.parse(at) >= AHEAD_MILLISECONDS;
  const held = isAhead && status === "ENQUEUED" ? "which holds it until it is due" : "";
  if (kind === "SUBMITTED" && isAhead) return `ahead of time: due ${localShort(job.run_at)}${held && `; sent to its queue, ${held}`}`;
  if (kind === "ENQUEUED") return held;
  if (isFirstClaim && job.lateness_ms !== null) return `${duration(job.lateness_ms)} after its due time`;
  return "";
}

function Event({ event, before, detail }) {
  const since = before ? Date.parse(event.at) - Date.parse(before.at) : null;
  const attempt = event.attempt > 0 ? `attempt ${event.attempt}` : "";
  return html`<li>
    <span class="history-time"><span title=${`${local(event.at)}\n${utc(event.at)}`}>${localClock(event.at)}</span>
      <span class="muted small">${since === null ? "" : `${duration(since)} later`}</span></span>
    <${StatusBadge} status=${event.status} />
    <span class="history-text">
      <span>${WORDS[event.kind] ?? visible(event.kind.toLowerCase())}</span>${detail && html`<span>, ${detail}</span>`}
      <span class="muted small"> ${[attempt, `by ${visible(event.actor)}`].filter(Boolean).join(", ")}</span>
      ${event.caller && event.caller !== event.actor && html`<bdi class="history-caller small mono" title="The caller that requested this">${visible(event.caller)}</bdi>`}
      ${event.reason && html`<bdi class="history-reason small">${visible(event.reason)}</bdi>`}
    </span>
    <span class="history-ago small muted not-on-phone"><${Time} at=${event.at} /></span>
  </li>`;
}
