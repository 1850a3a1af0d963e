// A job's attempts on a time axis: when each ran, for how long, and the waits between them.
import { html } from "../lib/html.js";
import { statusTone, statusWord } from "../lib/components.js";
import { duration, local, localClock, localMinute, offset } from "../lib/format.js";
import { useNow } from "../lib/live.js";

const TICKS = 4;
const DAY_MILLISECONDS = 86_400_000;
const LEAST_PERCENT = 0.4;
const MOST_ROWS = 40;

/** Show the timeline; nothing before the first attempt. */
export function Timeline({ job, events }) {
  const now = useNow();
  const attempts = job.attempts.filter((attempt) => attempt.started_at ?? attempt.finished_at);
  if (attempts.length === 0) return null;
  const span = spanOf(job, attempts, events, now);
  const shown = attempts.slice(-MOST_ROWS);
  return html`<section class="card" aria-label="Timeline">
    <div class="card-header"><h2>Timeline</h2>
      <span class="muted small">${duration(span.end - span.start)} ${attempts.at(-1).finished_at ? "from its due time to the end of the last attempt" : "since it was due"}</span></div>
    <div class="card-body timeline">
      <${Axis} span=${span} />
      <ol>${shown.map((attempt, index) => html`<${Row} key=${index} attempt=${attempt} span=${span} now=${now} />`)}</ol>
      ${shown.length < attempts.length && html`<p class="muted small">The newest ${MOST_ROWS} attempts are shown.</p>`}
    </div>
  </section>`;
}

/**
 * Return what the axis spans: from when the job was due (or created, if later) to its end,
 * or to now. A delay of days before it was due would hide the rest.
 */
function spanOf(job, attempts, events, now) {
  const begins = attempts.map(({ started_at: begun, finished_at: ended }) => Date.parse(begun ?? ended));
  const first = Math.min(...begins);
  const created = Date.parse(events[0]?.at ?? job.created_at);
  const start = Math.min(first, Math.max(created, Date.parse(job.run_at)));
  const ends = attempts.map(({ finished_at: ended }) => (ended ? Date.parse(ended) : now));
  return { start, end: Math.max(...ends, start + 1) };
}

/** A bar from `start` to `end`, in milliseconds; one that is too short to be seen is made visible. */
export function Bar({ span, start, end, tone, title }) {
  const left = Math.min(percentAt(start, span), 100 - LEAST_PERCENT);
  const width = Math.max(percentAt(end, span) - left, LEAST_PERCENT);
  return html`<span class=${`timeline-bar bar-${tone}`} style=${{ left: `${left}%`, width: `${width}%` }} title=${title}></span>`;
}

function percentAt(instant, { start, end }) {
  return (100 * (Math.min(Math.max(instant, start), end) - start)) / (end - start);
}

/** The axis of a timeline, with its times. */
export function Axis({ span }) {
  const length = span.end - span.start;
  const name = length > DAY_MILLISECONDS ? localMinute : localClock;
  const at = (index) => span.start + (length * index) / TICKS;
  return html`<div class="timeline-axis" aria-hidden="true">
    ${Array.from({ length: TICKS + 1 }, (_, index) => html`<span key=${index} title=${local(at(index))}
      style=${{ left: `${(100 * index) / TICKS}%` }}>${length < 5000 ? offset(at(index) - span.start, length) : name(at(index))}</span>`)}
  </div>`;
}

function Row({ attempt, span, now }) {
  const { number, outcome, started_at: begun, finished_at: ended } = attempt;
  const start = Date.parse(begun ?? ended);
  const end = ended ? Date.parse(ended) : now;
  const words = `${statusWord(outcome ?? "RUNNING")}, ${begun ? duration(end - start) : "start unknown"}`;
  return html`<li>
    <span class="timeline-name">#${number} <span class="muted">${words}</span></span>
    <span class="timeline-track">
      <${Bar} span=${span} start=${start} end=${end} tone=${statusTone(outcome)} title=${`${local(begun ?? ended)}: ${words}`} />
    </span>
  </li>`;
}
