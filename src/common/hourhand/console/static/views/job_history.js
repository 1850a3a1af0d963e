// Every change of state of a job, oldest first: when, what, by whom and why.
import { html } from "../lib/html.js";
import { StatusBadge, Time } from "../lib/components.js";
import { counted, duration, localClock, localShort, visible } from "../lib/format.js";

const WORDS = {
  SUBMITTED: "submitted",
  ENQUEUED: "sent to its queue",
  SEND_FAILED: "could not be sent",
  DISPATCHED_AGAIN: "sent again",
  AGED: "raised to a higher queue for its age",
  CLAIMED: "started",
  SUCCEEDED: "succeeded",
  FAILED: "failed",
  TIMED_OUT: "timed out",
  LOST: "lost: its worker vanished",
  SNOOZED: "put off by its handler",
  HANDED_BACK: "handed back by a worker that ended",
  CANCEL_REQUESTED: "asked to stop",
  CANCELLED: "cancelled",
  EXPIRED: "expired before a start",
  CHANGED: "changed",
  RUN_NOW: "made due at once",
  REDRIVEN: "sent round again",
  REFILED: "filed anew in the index",
};

/** Show the events; `dropped` ones had to go from the middle. */
export function History({ events, dropped }) {
  return html`<section class="card" aria-label="History">
    <div class="card-header"><h2>History</h2>
      ${dropped > 0 && html`<span class="muted small">${counted(dropped, "event")} from the middle kept no more</span>`}</div>
    <ol class="history card-body">
      ${events.map((event, index) => html`<${Event} key=${index} event=${event} before=${events[index - 1]} />`)}
    </ol>
  </section>`;
}

function Event({ event, before }) {
  const since = before ? Date.parse(event.at) - Date.parse(before.at) : null;
  const attempt = event.attempt > 0 ? `attempt ${event.attempt}` : "";
  return html`<li>
    <span class="history-time"><span title=${localShort(event.at)}>${localClock(event.at)}</span>
      <span class="muted small">${since === null ? "" : `+${duration(since)}`}</span></span>
    <${StatusBadge} status=${event.status} />
    <span class="history-text">
      <span>${WORDS[event.kind] ?? visible(event.kind.toLowerCase())}</span>
      <span class="muted small"> ${[attempt, `by ${visible(event.actor)}`].filter(Boolean).join(", ")}</span>
      ${event.reason && html`<bdi class="history-reason small">${visible(event.reason)}</bdi>`}
    </span>
    <span class="history-ago small muted not-on-phone"><${Time} at=${event.at} /></span>
  </li>`;
}
