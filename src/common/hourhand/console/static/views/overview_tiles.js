// The main figures of the overview.
import { html } from "../lib/html.js";
import { count, duration, percent } from "../lib/format.js";
import { sumOf } from "./overview_sample.js";

/** A row of figures: of the queues now, and of the attempts in the window, of which `minutes` are known. */
export function Tiles({ stats: { queues }, figures, minutes }) {
  const sum = (name) => sumOf(queues, name);
  const { started, lateP50, lateP99, ended, failed } = figures;
  const oldest = Math.max(...queues.map(({ oldest_due_seconds: age }) => age ?? 0));
  const sample = started > 0 ? `p50 ${duration(lateP50)}, ${count(started)} started` : "no job started";
  return html`<dl class="tiles">
    <${Tile} term="Waiting" value=${count(sum("waiting"))} note=${`${count(sum("delayed"))} sent ahead of time`} />
    <${Tile} term="Running" value=${count(sum("running"))} note="at the last refresh" />
    <${Tile} term="Oldest due" value=${oldest > 0 ? duration(oldest * 1000) : "none"} note="at the last tick" />
    <${Tile} term="Attempts a minute" value=${rate(ended, minutes)} note=${`${count(ended)} in the window`} />
    <${Tile} term="Failed attempts" value=${ended > 0 ? percent(failed / ended) : "none"}
      note=${`${count(failed)} of ${count(ended)}, all handlers`} isBad=${failed > 0} />
    <${Tile} term="Lateness p99" value=${started > 0 ? duration(lateP99) : "none"} note=${sample} />
  </dl>`;
}

function Tile({ term, value, note, isBad }) {
  return html`<div class="tile">
    <dt>${term}</dt><dd class=${isBad ? "text-bad" : ""}>${value}</dd><dd class="tile-note">${note}</dd>
  </div>`;
}

function rate(number, minutes) {
  const each = number / minutes;
  return each >= 10 || each === 0 ? count(each) : each.toFixed(1);
}
