// The newest runs of a schedule: small bars, and the outcome of the last one.
import { html } from "../lib/html.js";
import { Badge, StatusBadge, statusTone, statusWord, Time } from "../lib/components.js";
import { count, duration, visible } from "../lib/format.js";
import { reasonWords, shortTimeInZone } from "./schedule_words.js";

export const RUNS_SHOWN = 20;

const [BAR_WIDTH, GAP, HEIGHT] = [5, 2, 26];
const STUB_HEIGHT = 4;
/** A run that did not succeed has a bar of the whole height, so that it is seen without its colour, too. */
const HIGHEST_SHARE = 0.75;
const LEAST_SHARE = 0.3;

/**
 * One bar for each of the newest runs, the newest at the right: its colour is the outcome, its height how
 * long it took in comparison with the others. A skipped time has a stub.
 */
export function RunBars({ runs, timezone }) {
  const bars = runs.slice(0, RUNS_SHOWN).reverse();
  const longest = Math.max(...bars.map((run) => run.duration_ms ?? 0), 1);
  const width = RUNS_SHOWN * (BAR_WIDTH + GAP) - GAP;
  const free = RUNS_SHOWN - bars.length;
  return html`<svg class="runs" width=${width} height=${HEIGHT} viewBox=${`0 0 ${width} ${HEIGHT}`} role="img" aria-label=${runsWords(runs)}>
    ${Array.from({ length: free }, (_, index) => html`<rect key=${`free ${index}`} class="run-none" x=${placeOf(index)} y=${HEIGHT - 2}
      width=${BAR_WIDTH} height="2" rx="1" />`)}
    ${bars.map((run, index) => {
      const height = Math.round(heightOf(run, longest));
      return html`<rect key=${`${run.at} ${run.job_id ?? run.reason}`} class=${`run-${toneOf(run)}`} x=${placeOf(free + index)} y=${HEIGHT - height}
        width=${BAR_WIDTH} height=${height} rx="1.5"><title>${titleOf(run, timezone)}</title></rect>`;
    })}
  </svg>`;
}

/** The outcome of the newest run, and when that was. */
export function LastOutcome({ runs }) {
  const [run] = runs;
  if (!run) return html`<span class="muted none">not run yet</span>`;
  return html`<span class="last-outcome">${outcomeOf(run)}<span class="muted small"><${Time} at=${run.at} /></span></span>`;
}

function outcomeOf(run) {
  if (run.reason) return html`<${Badge} tone="quiet" shape="slash" title=${reasonWords(run.reason)}>Skipped: ${visible(run.reason)}<//>`;
  return run.status ? html`<${StatusBadge} status=${run.status} />` : html`<span class="muted small">its job is no longer kept</span>`;
}

/** Return the outcomes of runs as a sentence: "The newest 20 runs: 18 succeeded, 2 dead". */
export function runsWords(runs) {
  if (runs.length === 0) return "No runs yet";
  const numbers = new Map();
  for (const run of runs.slice(0, RUNS_SHOWN)) {
    const word = run.reason ? "skipped" : run.status ? statusWord(run.status).toLowerCase() : "no longer kept";
    numbers.set(word, (numbers.get(word) ?? 0) + 1);
  }
  const parts = [...numbers].map(([word, number]) => `${count(number)} ${word}`);
  return `The newest ${count(Math.min(runs.length, RUNS_SHOWN))} runs: ${parts.join(", ")}`;
}

function titleOf(run, timezone) {
  const many = run.count > 1 ? `, ${count(run.count)} times` : "";
  const outcome = run.reason ? `skipped: ${run.reason}` : run.status ? statusWord(run.status) : "its job is no longer kept";
  const took = run.duration_ms == null ? "" : `, took ${duration(run.duration_ms)}`;
  return visible(`${shortTimeInZone(run.at, timezone)}: ${outcome}${many}${took}`);
}

function toneOf(run) {
  if (run.reason || !run.status) return "none";
  return statusTone(run.status);
}

function heightOf(run, longest) {
  if (run.reason || !run.status) return STUB_HEIGHT;
  if (run.status !== "SUCCEEDED") return HEIGHT;
  // By the root: a run that is a hundred times as long must not hide the others.
  const share = Math.sqrt((run.duration_ms ?? 0) / longest);
  return HEIGHT * (LEAST_SHARE + (HIGHEST_SHARE - LEAST_SHARE) * share);
}

function placeOf(index) {
  return index * (BAR_WIDTH + GAP);
}
