// Badges of states. Each has a shape, a word and a colour, so that no state depends on its colour alone.
import { html } from "./html.js";

const TONES = {
  PENDING: "neutral",
  ENQUEUED: "neutral",
  RUNNING: "active",
  RETRYING: "warning",
  SUCCEEDED: "good",
  DEAD: "bad",
  CANCELLED: "quiet",
  EXPIRED: "quiet",
  FAILED: "bad",
  TIMED_OUT: "bad",
  LOST: "bad",
  SNOOZED: "neutral",
  SUSPENDED: "neutral",
  RESTARTED: "neutral",
  // Nodes of a graph that have no job.
  WAITING: "neutral",
  SKIPPED: "quiet",
};

const SHAPES = {
  clock: "M8 1.8a6.2 6.2 0 1 0 0 12.4A6.2 6.2 0 0 0 8 1.8zM8 4.8V8l2.2 1.4",
  queue: "M2 4h12M2 8h12M2 12h7",
  play: "M5 3.2l7.6 4.8L5 12.8z",
  again: "M13.4 7.4a5.5 5.5 0 1 0-1.5 4.4M13.7 3.2v4.2H9.5",
  check: "M2.5 8.5l3.8 3.8 7.2-8",
  cross: "M3.2 3.2l9.6 9.6M12.8 3.2l-9.6 9.6",
  slash: "M8 1.8a6.2 6.2 0 1 0 0 12.4A6.2 6.2 0 0 0 8 1.8zM3.7 12.3l8.6-8.6",
  sand: "M4 2h8M4 14h8M5 2c0 3.5 6 8.5 6 12M11 2c0 3.5-6 8.5-6 12",
  question: "M5.5 6a2.5 2.5 0 1 1 3.6 2.2c-.8.4-1.1.8-1.1 1.6M8 12.7h.01",
  pause: "M5.5 3v10M10.5 3v10",
  dots: "M3.5 8h.01M8 8h.01M12.5 8h.01",
  skip: "M3.5 3.5L9 8l-5.5 4.5M12.2 3.5v9",
};

const SHAPE_OF = {
  PENDING: "clock", ENQUEUED: "queue", RUNNING: "play", RETRYING: "again", SUCCEEDED: "check",
  DEAD: "cross", CANCELLED: "slash", EXPIRED: "sand", FAILED: "cross", TIMED_OUT: "sand",
  LOST: "question", SNOOZED: "clock", SUSPENDED: "pause", RESTARTED: "again", WAITING: "dots", SKIPPED: "skip",
};

/** The shape of a state alone, for cells of a grid: what holds it says the state in words. */
export function StatusMark({ status }) {
  return html`<svg class="status-mark" viewBox="0 0 16 16" aria-hidden="true" focusable="false"><path d=${SHAPES[SHAPE_OF[status] ?? "clock"]} /></svg>`;
}

/** A badge of any kind. `tone`: good, bad, warning, active, neutral, quiet; `shape`: of SHAPES. */
export function Badge({ tone = "neutral", shape, children, title }) {
  const picture = shape && html`<svg viewBox="0 0 16 16" aria-hidden="true"><path d=${SHAPES[shape]} /></svg>`;
  return html`<span class=${`badge badge-${tone}`} title=${title}>${picture}${children}</span>`;
}

/** The state of a job, or the outcome of an attempt; `null` is an attempt under way. */
export function StatusBadge({ status }) {
  const name = status ?? "RUNNING";
  const tone = TONES[name] ?? "neutral";
  return html`<${Badge} tone=${tone} shape=${SHAPE_OF[name] ?? "clock"}>${statusWord(name)}<//>`;
}

/** Return a state's name as words: "Timed out". */
export function statusWord(status) {
  const words = status.toLowerCase().replaceAll("_", " ");
  return words.charAt(0).toUpperCase() + words.slice(1);
}

/** Return a state's colour as the name of a CSS variable, for plots and bars. */
export function statusTone(status) {
  return TONES[status ?? "RUNNING"] ?? "neutral";
}

/** The priority of a job: bars, as of a signal, and the word. */
export function PriorityBadge({ priority }) {
  const level = { low: 1, medium: 2, high: 3 }[priority] ?? 0;
  return html`<span class=${`priority priority-${priority}`}>
    <svg viewBox="0 0 12 12" aria-hidden="true">
      <rect x="0" y="8" width="3" height="4" rx="1" class=${level >= 1 ? "lit" : ""} />
      <rect x="4.5" y="4.5" width="3" height="7.5" rx="1" class=${level >= 2 ? "lit" : ""} />
      <rect x="9" y="1" width="3" height="11" rx="1" class=${level >= 3 ? "lit" : ""} />
    </svg>${priority}</span>`;
}
