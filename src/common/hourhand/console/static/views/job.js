// One job: its fields, its history, and the actions on it.
import { html, useState } from "../lib/html.js";
import { get } from "../lib/api.js";
import {
  CopyButton, EmptyState, ErrorState, JsonView, LiveSwitch, Loading, Page, StatusBadge, statusWord, Time,
} from "../lib/components.js";
import { count, counted, visible } from "../lib/format.js";
import { useKey } from "../lib/keys.js";
import { usePolled } from "../lib/live.js";
import { address } from "../lib/router.js";
import { JobActions } from "./job_actions.js";
import { Attempts } from "./job_attempts.js";
import { JobFacts } from "./job_facts.js";
import { History } from "./job_history.js";
import { Logs } from "./job_logs.js";
import { Run, useIsRun } from "./job_run.js";
import { Timeline } from "./job_timeline.js";
import { KeptSlots, WaitBadge, WaitNotice } from "./job_wait.js";

/** A graph and a batch are jobs, too. */
export const routes = ["/jobs/:id", "/graphs/:id", "/batches/:id"].map((pattern) => ({ pattern, view: JobPage, section: "jobs" }));

const OPEN_MILLISECONDS = 1500;
const ENDED_MILLISECONDS = 10_000;
const ENDED = ["SUCCEEDED", "DEAD", "CANCELLED", "EXPIRED"];

function JobPage({ id, query }) {
  const [isOpen, setOpen] = useState(true);
  const load = async (signal) => {
    const [job, history] = await Promise.all([
      get(["jobs", id], { signal, exactFields: ["payload", "result"] }),
      get(["jobs", id, "events"], { signal }),
    ]);
    setOpen(!ENDED.includes(job.status));
    return { job, history };
  };
  const everyMilliseconds = isOpen ? OPEN_MILLISECONDS : ENDED_MILLISECONDS;
  const { data, error, isLoading, refresh } = usePolled(load, id, { everyMilliseconds });
  useKey("r", "refresh", refresh);
  if (error?.status === 404) return html`<${NoSuchJob} id=${id} />`;
  const title = data ? `${data.job.handler} ${id}` : `Job ${id}`;
  const subtitle = html`<span class="mono">${visible(id)}</span><${CopyButton} text=${id} label="the ID" isQuiet />`;
  const actions = html`<${LiveSwitch} onRefresh=${refresh} />${data && html`<${JobActions} job=${data.job} onChanged=${refresh} />`}`;
  return html`<${Page} title=${visible(title)} heading=${html`<${Heading} job=${data?.job} />`} subtitle=${subtitle} actions=${actions}>
    <${ErrorState} error=${error} isInline onRetry=${refresh} />
    ${isLoading && !data && html`<${Loading} rows=${7} />`}
    ${data && html`<${Whole} ...${data} query=${query} onChanged=${refresh} />`}
  <//>`;
}

function Heading({ job }) {
  if (!job) return "Job";
  return html`<bdi>${visible(job.handler)}</bdi>
    <${StatusBadge} status=${job.status} />
    ${job.discarded_at && html`<span class="badge badge-quiet">Discarded</span>`}
    <${WaitBadge} job=${job} />
    ${job.cancel_requested_at && job.status === "RUNNING" && html`<span class="badge badge-warning">Cancel requested</span>`}`;
}

function NoSuchJob({ id }) {
  return html`<${Page} title="No such job">
    <${EmptyState} title="This job does not exist" icon="search">
      <p>No job has the ID <code>${visible(id)}</code>. It may have been deleted, because jobs are kept for a limited time after
      their end. <a href=${address(["jobs"])}>Show all jobs</a>.</p>
    <//>
  <//>`;
}

function Whole({ job, history, query, onChanged }) {
  const isRun = useIsRun(job);
  const facts = html`<${JobFacts} job=${job} />`;
  const hasProgress = job.progress && job.status !== "SUCCEEDED";
  return html`<p class="sr-only" role="status">${stateWords(job)}</p>
    <${WaitNotice} job=${job} events=${history.events} />
    <${KeptSlots} job=${job} />
    ${hasProgress && html`<${ProgressBar} progress=${job.progress} isRunning=${job.status === "RUNNING"} />`}
    ${job.error && html`<${Failure} error=${job.error} status=${job.status} />`}
    ${job.discarded_at && html`<${Discarded} job=${job} />`}
    ${isRun ? html`<${Run} key=${job.id} job=${job} isOpen=${!ENDED.includes(job.status)} query=${query} onChanged=${onChanged}>${facts}<//>`
      : html`${facts}<${Timeline} job=${job} events=${history.events} />`}
    <div class="job-columns">
      <${Content} title="Payload" value=${job.payload} isOmitted=${job.omitted?.includes("payload")} />
      <${Content} title="Result" value=${job.result} isOmitted=${job.omitted?.includes("result")}
        absence=${absenceIn(job.status)} />
    </div>
    <${Attempts} attempts=${job.attempts} most=${job.retry.max_attempts} />
    <${Logs} key=${job.id} jobId=${job.id} isOpen=${!ENDED.includes(job.status)} />
    <${History} job=${job} events=${history.events} dropped=${history.dropped} />`;
}

/** Return the state as a sentence for screen readers: "This job is dead. It started 2 of at most 2 attempts." */
function stateWords({ status, attempt, retry: { max_attempts: most } }) {
  const started = attempt === 0 ? "It has not started yet" : `It started ${count(attempt)} of at most ${counted(most, "attempt")}`;
  return `This job is ${statusWord(status).toLowerCase()}. ${started}.`;
}

function ProgressBar({ progress, isRunning }) {
  const { done, total, message } = progress;
  return html`<section class="card"><div class="card-body">
    <div class="progress">
      <strong>${isRunning ? "Progress" : "Last progress"}</strong>
      ${total > 0 && html`<progress max=${total} value=${Math.min(done, total)}
        aria-label="Progress of the handler"></progress>`}
      <span>${count(done)}${total == null ? "" : ` of ${count(total)}`}</span>
      ${message && html`<bdi class="muted">${visible(message)}</bdi>`}
    </div>
  </div></section>`;
}

/** The error of the last failed attempt, at the top of the page. */
function Failure({ error, status }) {
  const words = status === "DEAD" ? "Failed permanently" : "Last failure";
  return html`<section class=${`card failure ${status === "DEAD" ? "failure-dead" : ""}`} aria-label="Error">
    <div class="card-header"><h2>${words}</h2>
      <span class="muted small">${error.retryable ? "" : "not retryable"}</span></div>
    <div class="card-body">
      <p class="failure-text"><code class="text-bad">${visible(error.type)}</code> <bdi>${visible(error.message)}</bdi></p>
      <${Traceback} text=${error.traceback} />
    </div>
  </section>`;
}

/** That no further work is needed, and why. */
function Discarded({ job }) {
  return html`<section class="card" aria-label="Discarded"><div class="card-body">
    <p>This job was discarded <${Time} at=${job.discarded_at} form="both" />. It is no dead letter any more, and can still be redriven until it is deleted.</p>
    ${job.discard_note && html`<p class="discard-note"><span class="muted small">Note</span> <bdi>${visible(job.discard_note)}</bdi></p>`}
  </div></section>`;
}

/** A traceback that can be folded away. */
export function Traceback({ text }) {
  if (!text) return null;
  return html`<details class="fold" open>
    <summary>Traceback</summary>
    <div class="fold-tools"><${CopyButton} text=${text} label="the traceback" /></div>
    <pre class="trace" tabindex="0">${visible(text)}</pre>
  </details>`;
}

/** What to show for a result of null. For a job that succeeded, null is a result; otherwise there is none. */
function absenceIn(status) {
  if (status === "SUCCEEDED") return null;
  return ENDED.includes(status) ? "None." : "None yet.";
}

function Content({ title, value, isOmitted, absence }) {
  const label = title.toLowerCase();
  const isNone = !isOmitted && absence && value === null;
  return html`<section class="card" aria-label=${title}>
    <div class="card-header"><h2>${title}</h2></div>
    <div class="card-body">
      ${isOmitted && html`<p class="muted">This job has a ${label}, but the API left it out: payload and result together
        are too large for one answer, or the ${label} is no longer kept.</p>`}
      ${isNone && html`<p class="muted">${absence}</p>`}
      ${!isOmitted && !isNone && html`<${JsonView} value=${value} label=${`the ${label}`} />`}
    </div>
  </section>`;
}
