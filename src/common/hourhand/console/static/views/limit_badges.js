// What is seen of a limit at a glance: that it is paused or full, and how many of its slots are held.
import { html } from "../lib/html.js";
import { Badge } from "../lib/components.js";
import { count } from "../lib/format.js";
import { fillOf, pausedKeys, stateOf } from "./limit_words.js";

/** That a limit is paused, or full; that single keys are paused. */
export function LimitBadge({ limit }) {
  const state = stateOf(limit);
  const keys = pausedKeys(limit).length;
  if (state === "paused") return html`<${Badge} tone="warning" shape="pause">Paused<//>`;
  if (state === "full") return html`<${Badge} tone="warning" shape="queue" title="All slots are held, and jobs wait">Full<//>`;
  return keys > 0 && html`<${Badge} tone="warning" shape="pause">${keys === 1 ? "1 key paused" : `${count(keys)} keys paused`}<//>`;
}

/** How many slots are held, as a number and a bar. */
export function Fill({ limit }) {
  const fill = fillOf(limit);
  if (!fill) return html`<span class="muted small">${limit.kind === "rate" ? "by start times" : "for one key at a time"}</span>`;
  const { max, running } = limit;
  const tone = fill.isFull ? "full" : "free";
  return html`<span class="fill-cell"><span>${count(running)} <span class="muted">of ${count(max)}</span></span>
    <span class="fill-track" aria-hidden="true"><span class=${`fill-bar fill-${tone}`} style=${{ width: `${100 * fill.share}%` }}></span></span></span>`;
}
