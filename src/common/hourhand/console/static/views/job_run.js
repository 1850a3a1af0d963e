// A durable run: its invocations and the calls of its handler on one time axis, and the signals that it waits for.
import { html, useState } from "../lib/html.js";
import { get, post, request } from "../lib/api.js";
import {
  Badge, Changes, Dialog, ErrorState, JobId, JsonEditor, JsonView, Loading, StatusBadge, statusTone, Time, toast,
} from "../lib/components.js";
import { count, counted, duration, visible } from "../lib/format.js";
import { CheckField } from "../lib/forms.js";
import { isBuiltIn, useHandler } from "../lib/handlers.js";
import { jsonFault } from "../lib/json_fault.js";
import { useNow, usePolled, useReachable } from "../lib/live.js";
import { Graph } from "./graph.js";
import { Batch } from "./job_batch.js";
import { childWords } from "./graph_words.js";
import { Children, CountsBar } from "./job_children.js";
import { Axis, Bar } from "./job_timeline.js";
import { RerunDialog } from "./rerun_dialog.js";

const STEPS_A_PAGE = 100;
const OPEN_MILLISECONDS = 2000;
const MOST_ATTEMPTS = 200;
const OF_RUNS = ["time", "signal", "callback", "children"];
/** The call in which a graph records its definition. */
const DEFINITION = "graph:definition";

/** Return whether a job is a durable run: what it waits for says so, or its handler. */
export function useIsRun(job) {
  const handler = useHandler(job.handler);
  return isBuiltIn(job.handler) || OF_RUNS.includes(job.waits_for?.kind) || (handler?.run_timeout_seconds ?? null) !== null;
}

/**
 * Show the calls of a run, below the graph or the batch that it is, and the facts, which are `children`. `isOpen`: it has not ended,
 * so that its calls are read again.
 */
export function Run({ job, isOpen, query, onChanged, children }) {
  const [pages, setPages] = useState(1);
  const [signal, setSignal] = useState(null);
  const [from, setFrom] = useState(null);
  const isReachable = useReachable();
  const { data, error, isLoading, refresh } = usePolled(
    (ending) => readSteps(job.id, pages, ending, data?.oldest), `steps of ${job.id}`,
    { everyMilliseconds: isOpen ? OPEN_MILLISECONDS : 0, version: `${job.status} ${pages}` },
  );
  const close = (isSent) => {
    setSignal(null);
    if (isSent) refresh();
  };
  const isBatch = job.handler === "hourhand.batch";
  const isGraph = job.handler === "hourhand.graph" || data?.oldest.concat(data.steps).some(({ path }) => path === DEFINITION);
  const redriven = (isDone) => {
    setFrom(null);
    if (isDone) onChanged();
  };
  return html`${isGraph && html`<${Graph} job=${job} isOpen=${isOpen} query=${query} onChanged=${onChanged} />`}
    ${isBatch && html`<${Batch} job=${job} isOpen=${isOpen} />`}
    ${children}
    ${data && !isGraph && !isBatch && html`<${Children} job=${job} steps=${data.steps} isOpen=${isOpen} />`}
  <section class="card run" aria-label="Steps">
    <div class="card-header"><h2>Steps</h2>
      <span class="muted small">${data && summaryWords(data.summary)}</span></div>
    <div class="card-body timeline">
      <${ErrorState} error=${error} isInline onRetry=${refresh} />
      ${isLoading && !data && html`<${Loading} rows=${3} />`}
      ${data && data.steps.length === 0 && html`<p class="muted">The run has recorded no call yet.</p>`}
      ${data?.next_cursor && html`<p class="log-more"><button type="button" class="button button-small"
        onClick=${() => setPages(pages + 1)}>Show ${count(STEPS_A_PAGE)} earlier steps</button></p>`}
      ${data && data.steps.length > 0 && html`<${Calls} job=${job} steps=${data.steps}
        onSignal=${isOpen && isReachable ? setSignal : null} onRedrive=${isOpen || isGraph || isBatch ? null : setFrom} />`}
      ${data?.compensations.map(({ job_id: id, segment, status }) => html`<p key=${id} class="small">
        The steps of segment ${count(segment)} are reversed by <${JobId} id=${id} /> <${StatusBadge} status=${status} /></p>`)}
    </div>
  </section>
    ${signal && html`<${SignalDialog} job=${job} name=${signal} onClose=${close} />`}
    ${from && html`<${StepRedrive} job=${job} steps=${data.steps} path=${from} onClose=${redriven} />`}`;
}

/** Ask before a step, and what lies below it, runs again; the run then continues from the top, with the results of the others. */
function StepRedrive({ job, steps, path, onClose }) {
  const [newKeys, setNewKeys] = useState(false);
  const failed = steps.filter(({ status }) => status === "failed").map((step) => step.path);
  const send = (fields) => post(["jobs", job.id, "redrive"], { from: [path], ...(newKeys && { new_keys: true }), ...fields });
  return html`<${RerunDialog} title=${`Redrive the run from ${visible(path)}?`} noun="call" verb="Redrive" send=${send}
    hasResult=${(name) => !failed.includes(name)} onClose=${onClose}>
    <${CheckField} label="New step keys: steps have their effect again" isChecked=${newKeys} onChange=${setNewKeys} />
  <//>`;
}

/** Read the newest `pages` pages of steps. `known`: the oldest step, which says whether the run is a graph, if it was read before. */
async function readSteps(jobId, pages, signal, known) {
  const steps = [];
  let page = { next_cursor: null, summary: {} };
  let compensations = [];
  for (let read = 0; read < pages; read += 1) {
    const query = { order: "newest", limit: STEPS_A_PAGE, ...(page.next_cursor && { cursor: page.next_cursor }) };
    page = await get(["jobs", jobId, "steps"], { query, signal, exactFields: ["result"] });
    steps.push(...page.steps);
    // With the first page.
    if (read === 0) compensations = page.compensations ?? [];
    if (!page.next_cursor) break;
  }
  steps.reverse();
  const isRead = !page.next_cursor || known?.length;
  const oldest = isRead ? known ?? [] : (await get(["jobs", jobId, "steps"], { query: { limit: 1 }, signal })).steps;
  return { steps, oldest, summary: page.summary, next_cursor: page.next_cursor, compensations };
}

function Calls({ job, steps, onSignal, onRedrive }) {
  const clock = useNow();
  // What a run waited for when it ended takes no further time.
  const now = job.finished_at ? Date.parse(job.finished_at) : clock;
  const invocations = job.attempts.filter(({ started_at: begun }) => begun).slice(-MOST_ATTEMPTS);
  const span = spanOf(invocations, steps, now);
  return html`<${Axis} span=${span} />
    <ol>
      <li class="run-invocations">
        <span class="timeline-name">${counted(job.attempts.length, "invocation")}</span>
        <span class="timeline-track">${invocations.map(({ started_at: begun, finished_at: ended, outcome }) => html`<${Bar} key=${begun}
          span=${span} start=${Date.parse(begun)} end=${ended ? Date.parse(ended) : now} tone=${statusTone(outcome)} />`)}</span>
      </li>
      ${steps.map((step) => html`<${Call} key=${`${step.kind} ${step.path}`} step=${step} span=${span} now=${now} onSignal=${onSignal} onRedrive=${onRedrive} />`)}
    </ol>`;
}

function Call({ step, span, now, onSignal, onRedrive }) {
  const { path, status, started_at: begun, finished_at: ended, until, signal } = step;
  // Of a wait for several children only the end is recorded.
  const from = begun ?? ended;
  const start = from && Date.parse(from);
  const end = endOf(step, now);
  const isWaiting = status === "waiting" && signal;
  return html`<li class="run-call">
    <details class="fold">
      <summary>
        <span class="timeline-name"><bdi>${visible(path)}</bdi> <span class="muted">${kindWord(step)}${step.of && !step.job_id ? ` ${count(step.of.succeeded)} of ${count(step.of.total)}` : ""}</span></span>
        <span class="timeline-track">${start && html`<${Bar} span=${span} start=${start} end=${end} tone=${toneOf(status)} />`}</span>
        <span class="run-status"><${CallBadge} status=${status} />
          <span class="muted small">${end > start ? duration(end - start) : ""}</span></span>
      </summary>
      <${Details} step=${step} />
      ${onRedrive && html`<${Changes} label=${`Actions on ${visible(path)}`} className="run-redrive"><button type="button" class="button button-small"
        onClick=${() => onRedrive(path)}>Redrive from here …</button><//>`}
    </details>
    ${isWaiting && onSignal && html`<button type="button" class="button button-small button-primary" onClick=${() => onSignal(signal)}>
      Send ${visible(signal)} …</button>`}
    ${status === "waiting" && until && !ended && html`<span class="muted small">until <${Time} at=${until} /></span>`}
  </li>`;
}

function CallBadge({ status }) {
  if (status === "waiting") return html`<${Badge} tone="warning" shape="queue">Waiting<//>`;
  return html`<${StatusBadge} status=${status.toUpperCase()} />`;
}

/** What a call returned or raised, and when. */
function Details({ step }) {
  const { started_at: begun, finished_at: ended, until, attempts, result, error, compensates } = step;
  return html`<div class="run-details">
    <p class="muted small">${begun && html`Began <${Time} at=${begun} form="both" />. `}${ended && html`Ended <${Time} at=${ended} form="both" />. `}
      ${!ended && until && html`Until <${Time} at=${until} form="both" />. `}
      ${attempts > 0 && `${counted(attempts, step.kind === "iterate" ? "save" : "try", step.kind === "iterate" ? "saves" : "tries")}. `}
      ${compensates && "Reversed if the run fails."}</p>
    ${step.of && html`<p class="run-children"><span class="small">${childWords(step.of)}</span><${CountsBar} of=${step.of} />
      ${step.job_id && html`<${JobId} id=${step.job_id} />`}</p>`}
    ${error && html`<p><code class="text-bad">${visible(error.type)}</code> <bdi>${visible(error.message)}</bdi></p>`}
    ${step.private && html`<p class="muted">The result is private.</p>`}
    ${step.omitted && html`<p class="muted">The result is larger than 4 KB, and is not shown.</p>`}
    ${hasResult(step) && html`<${JsonView} value=${result} label="the result" />`}
  </div>`;
}

/** Return whether a call has a result that is shown: one of children is null if it is not known, and only a signal gives one to a wait. */
function hasResult({ kind, signal, status, of, result, error, private: isPrivate, omitted }) {
  if (status !== "succeeded" || error || isPrivate || omitted) return false;
  return of ? result !== null : kind !== "wait" || Boolean(signal);
}

/** Send a signal, with a payload; it has an ID of its own, so that a second click changes nothing. */
function SignalDialog({ job, name, onClose }) {
  const [id] = useState(() => crypto.randomUUID());
  const [payload, setPayload] = useState("null");
  const [error, setError] = useState(null);
  const [isBusy, setBusy] = useState(false);
  const send = async (event) => {
    event.preventDefault();
    setBusy(true);
    setError(null);
    try {
      const bodyText = `{"id": ${JSON.stringify(id)}, "payload": ${payload}}`;
      await request("POST", ["jobs", job.id, "signals", name], { bodyText });
      toast(`Signal ${name} sent.`);
      onClose(true);
    } catch (failure) {
      setError(failure);
      setBusy(false);
    }
  };
  return html`<${Dialog} title=${`Send the signal ${visible(name)}`} isBusy=${isBusy} onClose=${() => onClose(false)}>
    <form onSubmit=${send}>
      <p>The run continues with this payload as the result of its wait.</p>
      <${JsonEditor} label="Payload" text=${payload} onChange=${setPayload} error=${error?.of?.("payload")} />
      <${ErrorState} error=${error} isInline />
      <div class="dialog-actions">
        <button type="button" class="button" disabled=${isBusy} onClick=${() => onClose(false)}>Back</button>
        <button type="submit" class="button button-primary" disabled=${isBusy || jsonFault(payload) !== null}>Send signal</button>
      </div>
    </form>
  <//>`;
}

function spanOf(invocations, steps, now) {
  const starts = [...invocations, ...steps].flatMap(({ started_at: begun }) => (begun ? [Date.parse(begun)] : []));
  const start = starts.length > 0 ? Math.min(...starts) : now;
  const ends = [
    ...invocations.map(({ finished_at: ended }) => (ended ? Date.parse(ended) : now)),
    ...steps.filter(({ started_at: begun, finished_at: ended }) => begun ?? ended).map((step) => endOf(step, now)),
  ];
  return { start, end: Math.max(start + 1, ...ends) };
}

/** Return when a call ended; of one that goes on: now. A sleep that is over ended at its time. When children ended is not recorded. */
function endOf({ started_at: begun, finished_at: ended, until, status, of }, now) {
  if (ended) return Date.parse(ended);
  if (of && status !== "waiting") return Date.parse(begun);
  return status === "succeeded" && until ? Math.min(Date.parse(until), now) : now;
}

function kindWord({ kind, signal, until }) {
  if (kind === "wait") return signal ? "signal" : until ? "sleep" : "children";
  return kind === "step" ? "" : kind;
}

function toneOf(status) {
  return status === "waiting" ? "warning" : statusTone(status.toUpperCase());
}

function summaryWords(summary) {
  const words = Object.entries(summary).map(([status, number]) => `${count(number)} ${status}`);
  return words.join(", ");
}
