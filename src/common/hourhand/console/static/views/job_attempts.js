// The attempts of a job: the worker, the duration, the outcome and the error of each.
import { html } from "../lib/html.js";
import { StatusBadge, Time } from "../lib/components.js";
import { counted, duration, visible } from "../lib/format.js";

/** Show the attempts, newest first; nothing before the first attempt. */
export function Attempts({ attempts, most }) {
  if (attempts.length === 0) return null;
  return html`<section class="card" aria-label="Attempts">
    <div class="card-header"><h2>Attempts</h2>
      <span class="muted small">${counted(attempts.length, "attempt")} on record, at most ${most} per redrive</span></div>
    <ol class="attempts card-body">
      ${[...attempts].reverse().map((attempt, index) => html`<${Attempt} key=${attempts.length - index} attempt=${attempt} />`)}
    </ol>
  </section>`;
}

function Attempt({ attempt }) {
  const { number, outcome, started_at: begun, finished_at: ended, worker, error } = attempt;
  const took = begun && ended ? duration(Date.parse(ended) - Date.parse(begun)) : null;
  return html`<li>
    <div class="attempt-line">
      <strong>#${number}</strong><${StatusBadge} status=${outcome} />
      <span>${begun ? html`<${Time} at=${begun} form="both" />` : html`<span class="muted">start unknown</span>`}</span>
      ${took && html`<span class="muted">took ${took}</span>`}
      <span class="muted small mono attempt-worker" title="The worker that ran it">${visible(worker)}</span>
    </div>
    ${error && html`<details class="fold">
      <summary><code class="text-bad">${visible(error.type)}</code> <bdi>${visible(error.message)}</bdi></summary>
      ${error.traceback
        ? html`<pre class="trace" tabindex="0">${visible(error.traceback)}</pre>`
        : html`<p class="muted small">No traceback was kept.</p>`}
    </details>`}
  </li>`;
}
