// Cancel, redrive or discard many jobs: the dialog counts them first, asks, and shows the progress.
import { html, useEffect, useRef, useState } from "../lib/html.js";
import { bulk, countBulk, each, MOST_COUNTED, post } from "../lib/api.js";
import { Dialog, ErrorState, JobId, keptNote, noteBody, NoteField, TextField } from "../lib/components.js";
import { ProductionNote } from "../lib/environment.js";
import { count, counted, visible } from "../lib/format.js";
import { useReachable } from "../lib/live.js";
import { bodyOf, changesWhich, inWords } from "./jobs_query.js";

const FAILURES_SHOWN = 50;
const COUNT_CHANGED = "urn:hourhand:count_changed";

export const VERBS = {
  cancel: { ask: "Cancel", done: "cancelled or asked to stop", doing: "Cancelling" },
  redrive: { ask: "Redrive", done: "redriven", doing: "Redriving" },
  discard: { ask: "Discard", done: "discarded", doing: "Discarding" },
};

/**
 * Confirm and run. Either `jobs` (a list of two or more: see `askAbout` for one) or `filters` selects;
 * `scope` names the jobs in place of the filters. `onClose` gets whether it changed anything.
 *
 * The count that the user confirms goes with the first request. If many more jobs match by then, the
 * API changes nothing, and the dialog counts and asks again.
 */
export function BulkDialog({ verb, jobs, filters, scope, onClose }) {
  const which = jobs ? counted(jobs.length, "job") : visible(scope ?? inWords(filters));
  const [step, setStep] = useState(jobs ? "ask" : "count");
  const [found, setFound] = useState({ matched: jobs?.length ?? 0, isMore: false });
  const [total, setTotal] = useState({ changed: 0, failed: [] });
  const [before, setBefore] = useState(null);
  const [error, setError] = useState(null);
  const [note] = useState(keptNote);
  const ending = useRef(null);
  const begin = (next) => {
    ending.current = new AbortController();
    setError(null);
    setStep(next);
    return ending.current.signal;
  };
  const fail = (failure) => {
    if (ending.current.signal.aborted) return;
    setError(failure);
    setStep("failed");
  };
  const countFirst = async () => {
    const signal = begin("count");
    try {
      setFound(await countBulk(verb, bodyOf(filters), { onProgress: setFound, signal }));
      setStep("ask");
    } catch (failure) {
      fail(failure);
    }
  };
  const run = async () => {
    const signal = begin("run");
    const fields = verb === "discard" ? noteBody(note) : {};
    const operate = (job) => post(["jobs", job.id, verb], fields);
    const options = { onProgress: setTotal, signal };
    // "1,000 or more" is no count: the user agreed to all that match.
    const expectedCount = found.isMore ? undefined : found.matched;
    try {
      setTotal(jobs
        ? await each(jobs, (job) => job.id, operate, options)
        : await bulk(verb, bodyOf(filters), { ...options, expectedCount, fields }));
      setStep("done");
    } catch (failure) {
      if (failure.type !== COUNT_CHANGED) return fail(failure);
      setBefore(found);
      countFirst();
    }
  };
  useEffect(() => {
    if (!jobs) countFirst();
    return () => ending.current?.abort();
  }, []);
  const title = step === "run" ? `${VERBS[verb].doing} …` : `${VERBS[verb].ask} ${which}`;
  const close = () => onClose(step === "done" || total.changed > 0);
  return html`<${Dialog} title=${title} step=${step} isBusy=${step === "run"} onClose=${close}>
    ${step === "count" && html`<p role="status">Counting: ${count(found.matched)} so far …</p>`}
    ${step === "ask" && html`<${Question} key=${found.matched} verb=${verb} found=${found} before=${before} note=${note}
      explanation=${changesWhich(verb, jobs ? { status: "chosen" } : filters)} onRun=${run} onBack=${close} />`}
    ${step === "run" && html`<${Progress} total=${total} expected=${found} verb=${verb} onStop=${() => ending.current.abort()} />`}
    ${step === "done" && html`<${Outcome} total=${total} verb=${verb} onClose=${close} />`}
    ${step === "failed" && html`<${Failed} total=${total} error=${error} verb=${verb} onClose=${close} />`}
  <//>`;
}

function Question({ verb, found, before, note, explanation, onRun, onBack }) {
  const isReachable = useReachable();
  const [typed, setTyped] = useState("");
  const isMany = found.isMore || found.matched >= MOST_COUNTED;
  const number = found.isMore ? `${count(found.matched)} or more jobs` : counted(found.matched, "job");
  const isSure = !isMany || typed.trim().toLowerCase() === verb;
  const submit = (event) => {
    event.preventDefault();
    if (isSure && isReachable) onRun();
  };
  if (found.matched === 0) {
    return html`<div class="dialog-words"><${Changed} before=${before} number=${number} /><p>This action applies to none of these jobs.</p>
      <p class="muted">${explanation}</p></div>
      <${Buttons}><button type="button" class="button" data-first-focus onClick=${onBack}>Back</button><//>`;
  }
  return html`<form onSubmit=${submit}>
    <div class="dialog-words">
      <${Changed} before=${before} number=${number} />
      <p><strong>${number}</strong> will be ${VERBS[verb].done}.</p>
      <p class="muted">${explanation}</p>
      <${ProductionNote} />
      ${verb === "discard" && html`<${NoteField} note=${note} hint="Optional. Why no further work is needed" />`}
      ${isMany && html`<div class="many" role="group" aria-label="Confirmation">
        <p>Counting stops at ${count(MOST_COUNTED)}. A narrower filter is safer: add a handler, a tag or a time.</p>
        <${TextField} label=${`To go on with all of them, type ${verb}`} value=${typed} onChange=${setTyped} />
      </div>`}
    </div>
    <${Buttons}>
      <button type="button" class="button" data-first-focus onClick=${onBack}>Back</button>
      <button type="submit" class=${`button ${verb === "cancel" ? "button-danger" : "button-primary"}`}
        disabled=${!isSure || !isReachable}>${VERBS[verb].ask} ${number}</button>
    <//>
  </form>`;
}

/** Why the dialog asks once more. */
function Changed({ before, number }) {
  if (!before) return null;
  const was = before.isMore ? `${count(before.matched)} or more jobs` : counted(before.matched, "job");
  return html`<p class="notice" role="alert">Nothing was changed yet. You confirmed ${was}, but now ${number} match. Check the number, and confirm again.</p>`;
}

function Progress({ total, expected, verb, onStop }) {
  const done = total.changed + total.failed.length;
  const most = Math.max(expected.matched, done, 1);
  return html`<div class="progress">
    <progress max=${most} value=${done} aria-label=${VERBS[verb].doing}></progress>
    <span role="status">${count(done)} of ${count(most)}${expected.isMore ? " or more" : ""}</span>
  </div>
  <${Buttons}><button type="button" class="button" onClick=${onStop}>Stop</button><//>`;
}

function Outcome({ total, verb, onClose }) {
  return html`<div class="dialog-words">
    <p role="status"><strong>${counted(total.changed, "job")}</strong> ${VERBS[verb].done}.
      ${total.isWhole ? "" : " The operation was stopped before it was complete."}</p>
    ${total.failed.length > 0 && html`<${Failures} failed=${total.failed} />`}
  </div>
  <${Buttons}>
    <button type="button" class="button button-primary" data-first-focus onClick=${onClose}>Close</button>
  <//>`;
}

function Failed({ total, error, verb, onClose }) {
  return html`<${ErrorState} error=${error} isInline />
    <p>${total.changed > 0 ? `${counted(total.changed, "job")} ${VERBS[verb].done} before it failed.` : "Nothing was changed."}</p>
    <${Buttons}><button type="button" class="button" data-first-focus onClick=${onClose}>Close</button><//>`;
}

function Failures({ failed }) {
  const more = failed.length - FAILURES_SHOWN;
  return html`<p class="text-bad">${counted(failed.length, "job")} could not be changed:</p>
    <ul class="failures">
      ${failed.slice(0, FAILURES_SHOWN).map(({ id, error }) => html`<li key=${id}>
        <${JobId} id=${id} /> ${visible(error.detail ?? error.message)}
      </li>`)}
    </ul>
    ${more > 0 && html`<p class="muted">and ${count(more)} more</p>`}`;
}

function Buttons({ children }) {
  return html`<div class="dialog-actions">${children}</div>`;
}
