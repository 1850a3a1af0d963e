// The heat strip: each minute of the last hour, with what started late and what failed in it.
import { html, useMemo } from "../lib/html.js";
import { count, counted, duration, localClock } from "../lib/format.js";
import { binsOf, heatOf } from "./overview_sample.js";

const HOUR_MILLISECONDS = 3_600_000;
const MINUTES = 60;
const LATE_MILLISECONDS = 1000;
const VERY_LATE_MILLISECONDS = 60_000;
const MANY_FAILURES = 0.25;
/** The busiest minute has the strongest colour; there are as many shades. */
const SHADES = 4;

/** Show the strip for the jobs of the sample. Minutes that the sample does not cover are hatched. */
export function HeatStrip({ jobs, now, coveredSince }) {
  const minutes = useMemo(() => heatOf(jobs, binsOf(now, HOUR_MILLISECONDS, coveredSince, MINUTES)), [jobs, now, coveredSince]);
  const busiest = Math.max(...minutes.map(({ started }) => started), 1);
  return html`<section class="card heat" aria-label="The last hour">
    <div class="card-header"><h2>The last hour</h2><span class="muted small">one cell is a minute</span></div>
    <div class="card-body">
      <div class="heat-lanes" role="img" aria-label=${summaryOf(minutes)}>
        <span class="heat-name">Started</span>
        <span class="heat-lane">${minutes.map((minute) => html`<i key=${minute.at} class=${`heat-cell ${startedClass(minute, busiest)}`} title=${titleOf(minute)}></i>`)}</span>
        <span class="heat-name">Failed</span>
        <span class="heat-lane">${minutes.map((minute) => html`<i key=${minute.at} class=${`heat-cell ${failedClass(minute)}`} title=${titleOf(minute)}></i>`)}</span>
        <span></span>
        <span class="heat-axis small muted"><span>${localClock(minutes[0].at).slice(0, 5)}</span><span>${localClock(minutes[MINUTES / 2].at).slice(0, 5)}</span><span>now</span></span>
      </div>
      <ul class="heat-legend small muted" aria-hidden="true">
        ${LEGEND.map(([name, words]) => html`<li key=${name}><i class=${`heat-cell ${name}`}></i>${words}</li>`)}
      </ul>
    </div>
  </section>`;
}

const LEGEND = [
  ["heat-on-3", "started on time"], ["heat-late", "over 1 s late"], ["heat-very-late", "over 1 min late, or many failed"],
  ["heat-some-failed", "some failed"], ["", "nothing"], ["heat-unknown", "not known"],
];

function startedClass({ isKnown, started, late }, busiest) {
  if (started === 0) return isKnown ? "" : "heat-unknown";
  if (late > VERY_LATE_MILLISECONDS) return "heat-very-late";
  if (late > LATE_MILLISECONDS) return "heat-late";
  return `heat-on-${Math.ceil((SHADES * started) / busiest)}`;
}

function failedClass({ isKnown, ended, failed }) {
  if (!isKnown) return "heat-unknown";
  if (failed === 0) return "";
  return failed >= ended * MANY_FAILURES ? "heat-very-late" : "heat-some-failed";
}

function titleOf({ at, isKnown, started, late, ended, failed }) {
  const time = localClock(at).slice(0, 5);
  if (!isKnown && started === 0) return `${time}: not known, older than the jobs that were read`;
  const begun = started === 0 ? "no job started" : `${counted(started, "job")} started, p99 ${duration(late)} late`;
  return `${time}: ${begun}; ${ended === 0 ? "no attempt ended" : `${count(failed)} of ${counted(ended, "attempt")} failed`}`;
}

function summaryOf(minutes) {
  const late = minutes.filter((minute) => minute.late > LATE_MILLISECONDS).length;
  const failed = minutes.filter((minute) => minute.failed > 0).length;
  const unknown = minutes.filter((minute) => !minute.isKnown).length;
  const started = minutes.reduce((sum, minute) => sum + minute.started, 0);
  const rest = unknown > 0 ? ` ${counted(unknown, "minute")} not known.` : "";
  return `Minutes of the last hour: ${counted(started, "job")} started; ${counted(late, "minute")} with jobs over 1 s late, ${counted(failed, "minute")} with failures.${rest}`;
}
