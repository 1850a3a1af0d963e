// A batch on the page of its job: how many of its jobs ended and how, the jobs, and the callbacks.
import { html } from "../lib/html.js";
import { get } from "../lib/api.js";
import { Badge, ErrorState, JobId, Loading } from "../lib/components.js";
import { count } from "../lib/format.js";
import { usePolled } from "../lib/live.js";
import { childWords } from "./graph_words.js";
import { CallChildren, CountsBar, Fold } from "./job_children.js";

const OPEN_MILLISECONDS = 2000;
const ENDED_MILLISECONDS = 10_000;
/** The call of a batch that its jobs are the children of. */
const MEMBERS = "jobs";

const STATES = {
  open: { words: "Open", tone: "neutral", shape: "queue", title: "It takes more jobs until it is closed" },
  running: { words: "Running", tone: "active", shape: "play" },
  succeeded: { words: "Succeeded", tone: "good", shape: "check" },
  failed: { words: "Failed", tone: "bad", shape: "cross" },
  cancelled: { words: "Cancelled", tone: "quiet", shape: "slash" },
};

/** By callback: when it runs. */
const CALLBACKS = {
  on_success: "when all jobs succeeded",
  on_complete: "when all jobs ended",
  on_failure: "when the first job failed",
};

/** Show the batch that a job is. */
export function Batch({ job, isOpen }) {
  const { data: batch, error, isLoading, refresh } = usePolled(
    (signal) => get(["batches", job.id], { signal }), `batch ${job.id}`,
    { everyMilliseconds: isOpen ? OPEN_MILLISECONDS : ENDED_MILLISECONDS, version: job.status },
  );
  const state = STATES[batch?.status];
  return html`<section class="card batch" aria-label="Batch">
    <div class="card-header"><h2>Batch</h2>
      ${state && html`<${Badge} tone=${state.tone} shape=${state.shape} title=${state.title}>${state.words}<//>`}</div>
    <div class="card-body batch-body">
      <${ErrorState} error=${error} isInline onRetry=${refresh} />
      ${isLoading && !batch && html`<${Loading} rows=${3} />`}
      ${batch && html`<${Tiles} batch=${batch} />
        <${Fold} head=${html`<span class="child-path">Jobs</span><${CountsBar} of=${batch} />
          <span class="child-counts small">${childWords(batch)}</span>`}>
          <${CallChildren} jobId=${job.id} path=${MEMBERS} failed=${batch.failed} isOpen=${isOpen} /><//>
        <${Callbacks} batch=${batch} declared=${job.payload} />`}
    </div>
  </section>`;
}

function Tiles({ batch }) {
  const { total, succeeded, failed } = batch;
  const figures = [["Jobs", total], ["Succeeded", succeeded], ["Failed", failed], ["Not ended", total - succeeded - failed]];
  return html`<dl class="tiles">${figures.map(([title, number]) => html`<div key=${title} class="tile"><dt>${title}</dt><dd>${count(number)}</dd></div>`)}</dl>`;
}

/** The callbacks, each with its job once that exists. `declared`: the payload of the batch, which names them. */
function Callbacks({ batch, declared }) {
  return html`<dl class="facts" aria-label="Callbacks">
    ${Object.entries(CALLBACKS).map(([name, when]) => html`<div key=${name}><dt><code>${name}</code> <span>${when}</span></dt>
      <dd>${callbackWords(batch.callbacks[name], declared?.[name])}</dd></div>`)}
  </dl>`;
}

function callbackWords(jobId, declared) {
  if (jobId) return html`<${JobId} id=${jobId} />`;
  return html`<span class="muted">${declared ? "not submitted so far" : "none"}</span>`;
}
