// The main figures of the overview.
import { html } from "../lib/html.js";
import { count, duration, percent } from "../lib/format.js";
import { coveredMilliseconds, endsSeries, sumOf } from "./overview_sample.js";

/** A row of figures: of the queues now, and of the sample's attempts in the window of `bins`. */
export function Tiles({ stats: { queues, lateness }, jobs, bins }) {
  const sum = (name) => sumOf(queues, name);
  const ends = endsSeries(jobs, bins);
  const [good, bad] = [total(ends.good), total(ends.bad)];
  const all = good + bad;
  const minutes = coveredMilliseconds(bins) / 60_000;
  const oldest = Math.max(...queues.map(({ oldest_due_seconds: age }) => age ?? 0));
  const sample = `p50 ${duration(lateness.p50_ms)}, of the newest ${count(lateness.sample)}`;
  return html`<dl class="tiles">
    <${Tile} term="Waiting" value=${count(sum("waiting"))} note=${`${count(sum("delayed"))} sent ahead of time`} />
    <${Tile} term="Running" value=${count(sum("running"))} note="at the last refresh" />
    <${Tile} term="Oldest due" value=${oldest > 0 ? duration(oldest * 1000) : "none"} note="at the last tick" />
    <${Tile} term="Attempts a minute" value=${rate(all, minutes)} note=${`${count(all)} in the window`} />
    <${Tile} term="Failed attempts" value=${all > 0 ? percent(bad / all) : "none"}
      note=${`${count(bad)} in the window`} isBad=${bad > 0} />
    <${Tile} term="Lateness p99" value=${duration(lateness.p99_ms)} note=${sample} />
  </dl>`;
}

function Tile({ term, value, note, isBad }) {
  return html`<div class="tile">
    <dt>${term}</dt><dd class=${isBad ? "text-bad" : ""}>${value}</dd><dd class="tile-note">${note}</dd>
  </div>`;
}

function total(values) {
  return values.reduce((sum, value) => sum + (value ?? 0), 0);
}

function rate(number, minutes) {
  const each = number / minutes;
  return each >= 10 || each === 0 ? count(each) : each.toFixed(1);
}
