// Cancel or redrive many jobs: those selected, or all that match. It counts first and shows its progress.
import { html, useEffect, useRef, useState } from "../lib/html.js";
import { bulk, each, post } from "../lib/api.js";
import { CheckField, Dialog, ErrorState } from "../lib/components.js";
import { count, counted, visible } from "../lib/format.js";
import { address } from "../lib/router.js";
import { changesWhich, inWords, REDRIVABLE, WAITING } from "./jobs_query.js";

const FAILURES_SHOWN = 50;
const VERBS = {
  cancel: { ask: "Cancel", done: "cancelled or asked to stop", doing: "Cancelling" },
  redrive: { ask: "Redrive", done: "redriven", doing: "Redriving" },
};

/**
 * The bulk actions on the selected jobs, else on all that match. If none matches there is no bar, but
 * the dialog stays: its action may have emptied the list.
 */
export function BulkBar({ filters, jobs, selection, isNone, onSelect, onDone }) {
  const [asked, setAsked] = useState(null);
  const chosen = jobs.filter((job) => selection.has(job.id));
  const open = chosen.filter((job) => WAITING.includes(job.status) || job.status === "RUNNING");
  const ended = chosen.filter((job) => REDRIVABLE.includes(job.status));
  const close = (isDone) => {
    setAsked(null);
    if (isDone) onSelect(new Set());
    if (isDone) onDone();
  };
  return html`${!isNone && html`<div class="bulk-bar changes">
    ${chosen.length > 0
      ? html`<strong aria-live="polite">${count(chosen.length)} selected</strong>
          <button type="button" class="button button-small" disabled=${open.length === 0}
            onClick=${() => setAsked({ verb: "cancel", jobs: open })}>Cancel ${open.length || ""}</button>
          <button type="button" class="button button-small" disabled=${ended.length === 0}
            onClick=${() => setAsked({ verb: "redrive", jobs: ended })}>Redrive ${ended.length || ""}</button>
          <button type="button" class="button button-small" onClick=${() => onSelect(new Set())}>Clear selection</button>`
      : html`<span class="muted small">All matching jobs:</span>
          ${Object.keys(VERBS).map((verb) => html`<button key=${verb} type="button" class="button button-small"
            onClick=${() => setAsked({ verb, filters })}>${VERBS[verb].ask} …</button>`)}`}
  </div>`}
  ${asked && html`<${BulkDialog} ...${asked} onClose=${close} />`}`;
}

/** Confirm and run. Either `jobs` (a list) or `filters` selects; `onClose` gets whether it ran. */
export function BulkDialog({ verb, jobs, filters, onClose }) {
  const [step, setStep] = useState(jobs ? "ask" : "count");
  const [total, setTotal] = useState({ matched: jobs?.length ?? 0, changed: 0, failed: [] });
  const [error, setError] = useState(null);
  const ending = useRef(null);
  const scope = jobs ? null : Object.keys(filters).length > 0 ? filters : { all: true };

  const work = async (next, doing) => {
    ending.current = new AbortController();
    setError(null);
    try {
      const done = await doing({ onProgress: setTotal, signal: ending.current.signal });
      setTotal(done);
      setStep(next);
    } catch (failure) {
      setError(failure);
      setStep("failed");
    }
  };
  useEffect(() => {
    if (!jobs) work("ask", (options) => bulk(verb, scope, { ...options, isDryRun: true }));
    return () => ending.current?.abort();
  }, []);
  const run = () => {
    const most = total.matched;
    setStep("run");
    setTotal({ matched: jobs ? most : 0, changed: 0, failed: [], most });
    const operate = (job) => post(["jobs", job.id, verb]);
    work("done", (options) => {
      const onProgress = (now) => options.onProgress({ ...now, most });
      return jobs ? each(jobs, (job) => job.id, operate, { ...options, onProgress }) : bulk(verb, scope, { ...options, onProgress });
    });
  };
  const isBusy = step === "run";
  return html`<${Dialog} title=${titleOf(step, verb, jobs, filters)} isBusy=${isBusy}
    onClose=${() => onClose(step === "done" || total.changed > 0)}>
    <${Body} step=${step} verb=${verb} total=${total} jobs=${jobs} filters=${filters} error=${error}
      onRun=${run} onStop=${() => ending.current.abort()} onClose=${onClose} />
  <//>`;
}

function titleOf(step, verb, jobs, filters) {
  const which = jobs ? counted(jobs.length, "job") : visible(inWords(filters));
  return step === "run" ? `${VERBS[verb].doing} …` : `${VERBS[verb].ask} ${which}`;
}

function Body({ step, verb, total, jobs, filters, error, onRun, onStop, onClose }) {
  if (step === "failed") {
    return html`<${ErrorState} error=${error} isInline />
      <p>${total.changed > 0 ? `${counted(total.changed, "job")} ${VERBS[verb].done} before it failed.` : "Nothing was changed."}</p>
      <${Buttons}><button type="button" class="button" onClick=${() => onClose(total.changed > 0)}>Close</button><//>`;
  }
  if (step === "count") return html`<p role="status">Counting: ${count(total.matched)} so far …</p>`;
  if (step === "run") {
    return html`<${Progress} total=${total} verb=${verb} />
      <${Buttons}><button type="button" class="button" onClick=${onStop}>Stop</button><//>`;
  }
  if (step === "done") return html`<${Outcome} total=${total} verb=${verb} onClose=${onClose} />`;
  return html`<${Question} verb=${verb} total=${total} jobs=${jobs} filters=${filters} onRun=${onRun} onClose=${onClose} />`;
}

function Question({ verb, total, jobs, filters, onRun, onClose }) {
  const isEverything = !jobs && Object.keys(filters).length === 0;
  const [isSure, setSure] = useState(!isEverything);
  const none = total.matched === 0;
  const number = counted(total.matched, "job");
  return html`<div class="dialog-words">
    ${none ? html`<p>This action applies to none of these jobs.</p>` : html`<p><strong>${number}</strong> will be ${VERBS[verb].done}.</p>`}
    <p class="muted">${changesWhich(verb, jobs ? { status: "chosen" } : filters)}</p>
    ${isEverything && !none && html`<${CheckField} label="Apply this to every job, without a filter"
      isChecked=${isSure} onChange=${setSure} />`}
  </div>
  <${Buttons}>
    <button type="button" class="button" onClick=${() => onClose(false)}>Back</button>
    ${!none && html`<button type="button" class=${`button ${verb === "cancel" ? "button-danger" : "button-primary"}`}
      disabled=${!isSure} autofocus onClick=${onRun}>${VERBS[verb].ask} ${number}</button>`}
  <//>`;
}

function Progress({ total, verb }) {
  const done = total.changed + total.failed.length;
  return html`<div class="progress">
    <progress max=${Math.max(total.most ?? 1, done)} value=${done} aria-label=${VERBS[verb].doing}></progress>
    <span role="status">${count(done)} of ${count(Math.max(total.most ?? 0, done))}</span>
  </div>`;
}

function Outcome({ total, verb, onClose }) {
  return html`<div class="dialog-words">
    <p role="status"><strong>${counted(total.changed, "job")}</strong> ${VERBS[verb].done}.
      ${total.isWhole ? "" : " The operation was stopped before it was complete."}</p>
    ${total.failed.length > 0 && html`<${Failures} failed=${total.failed} />`}
  </div>
  <${Buttons}>
    <button type="button" class="button button-primary" autofocus onClick=${() => onClose(true)}>Close</button>
  <//>`;
}

function Failures({ failed }) {
  const more = failed.length - FAILURES_SHOWN;
  return html`<p class="text-bad">${counted(failed.length, "job")} could not be changed:</p>
    <ul class="failures">
      ${failed.slice(0, FAILURES_SHOWN).map(({ id, error }) => html`<li key=${id}>
        <a class="mono" href=${address(["jobs", id])}>${id}</a> ${visible(error.detail ?? error.message)}
      </li>`)}
    </ul>
    ${more > 0 && html`<p class="muted">and ${count(more)} more</p>`}`;
}

function Buttons({ children }) {
  return html`<div class="dialog-actions">${children}</div>`;
}
