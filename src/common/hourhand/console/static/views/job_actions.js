// The actions that a job's state allows. Each one asks for confirmation and reports the API's answer.
import { html, useState } from "../lib/html.js";
import { post, request } from "../lib/api.js";
import {
  Changes, confirmAction, Dialog, ErrorState, Icon, JsonEditor, SelectField, TextField, toast,
} from "../lib/components.js";
import { pretty } from "../lib/exact_json.js";
import { inputTime, instantOf } from "../lib/format.js";
import { jsonFault } from "../lib/json_fault.js";
import { useKey } from "../lib/keys.js";
import { address, navigate } from "../lib/router.js";
import { BulkDialog } from "./jobs_bulk_dialog.js";
import { REDRIVABLE, WAITING } from "./jobs_query.js";

/** Show the buttons that the job's state allows. */
export function JobActions({ job, onChanged }) {
  const [isChanging, setChanging] = useState(false);
  const [isDiscarding, setDiscarding] = useState(false);
  const isWaiting = WAITING.includes(job.status);
  const isRunning = job.status === "RUNNING";
  const mayCancel = isWaiting || (isRunning && !job.cancel_requested_at);
  const mayRedrive = REDRIVABLE.includes(job.status);
  const mayDiscard = job.status === "DEAD" && !job.discarded_at;
  const resubmit = address(["submit"], { from: job.id });
  const act = async (asked) => (await confirmAction(asked)) && onChanged();
  const cancel = () => act(cancelling(job));
  const redrive = () => act(redriving(job));
  useKey("c", "cancel this job", () => mayCancel && cancel());
  useKey("d", "redrive this job", () => mayRedrive && redrive());
  useKey("e", "edit and resubmit this job", () => navigate(resubmit));
  const button = (icon, words, run, tone = "") => html`<button type="button" class=${`button ${tone}`} onClick=${run}>
    <${Icon} name=${icon} />${words}
  </button>`;
  const closing = (set) => (isDone) => {
    set(false);
    if (isDone) onChanged();
  };
  return html`<${Changes} label="Actions" className="job-actions">
    ${mayRedrive && button("refresh", "Redrive", redrive, "button-primary")}
    ${mayDiscard && button("trash", "Discard …", () => setDiscarding(true))}
    ${isWaiting && button("play", "Run now", () => act(runningNow(job)), "button-primary")}
    ${isWaiting && button("clock", "Change …", () => setChanging(true))}
    <a class="button" href=${resubmit}><${Icon} name="edit" />Edit and resubmit</a>
    ${mayCancel && button("close", "Cancel job", cancel)}
  <//>
    ${isChanging && html`<${ChangeDialog} job=${job} onClose=${closing(setChanging)} />`}
    ${isDiscarding && html`<${BulkDialog} verb="discard" jobs=${[job]} onClose=${closing(setDiscarding)} />`}`;
}

function cancelling(job) {
  const isRunning = job.status === "RUNNING";
  return {
    title: "Cancel this job?",
    body: isRunning
      ? "The job is running, so its handler is asked to stop at the next heartbeat. If the handler returns anyway, the job succeeds."
      : "The job will not run. You can redrive it later.",
    label: "Cancel job",
    isDangerous: true,
    run: () => post(["jobs", job.id, "cancel"]),
    messageOf: ({ status }) => (status === "RUNNING" ? "Cancellation requested." : "Job cancelled."),
  };
}

function redriving(job) {
  return {
    title: "Redrive this job?",
    body: `The job runs again, with all its ${job.retry.max_attempts} attempts. Its history is kept.`,
    label: "Redrive",
    run: () => post(["jobs", job.id, "redrive"]),
    messageOf: () => "Job redriven.",
  };
}

function runningNow(job) {
  return {
    title: "Run this job now?",
    body: "The job becomes due now instead of at its scheduled time.",
    label: "Run now",
    run: () => post(["jobs", job.id, "run-now"]),
    messageOf: () => "The job is due now.",
  };
}

/** Change time, priority, payload and expiry; only what was changed is sent. */
function ChangeDialog({ job, onClose }) {
  // As it was when the dialog opened: the page behind it keeps refreshing.
  const [before] = useState(() => fieldsOf(job));
  const [fields, setFields] = useState(before);
  const [error, setError] = useState(null);
  const [isBusy, setBusy] = useState(false);
  const set = (name) => (value) => setFields((old) => ({ ...old, [name]: value }));
  const changed = Object.keys(fields).filter((name) => fields[name] !== before[name]);
  const save = async (event) => {
    event.preventDefault();
    setBusy(true);
    setError(null);
    try {
      await request("PATCH", ["jobs", job.id], { bodyText: changeText(fields, changed) });
      toast("Job changed.");
      onClose(true);
    } catch (failure) {
      setError(failure);
      setBusy(false);
    }
  };
  const isOmitted = job.omitted?.includes("payload");
  const isReady = changed.length > 0 && !(changed.includes("payload") && jsonFault(fields.payload));
  return html`<${Dialog} title="Change this job" isWide isBusy=${isBusy} onClose=${() => onClose(false)}>
    <form onSubmit=${save}>
      <div class="fields">
        <${TextField} label="Run at" type="datetime-local" step="1" hint="In your time zone" value=${fields.runAt}
          onChange=${set("runAt")} error=${error?.of?.("run_at")} />
        <${SelectField} label="Priority" options=${["high", "medium", "low"]} value=${fields.priority}
          onChange=${set("priority")} error=${error?.of?.("priority")} />
        <${TextField} label="Expires at" type="datetime-local" step="1" hint="Leave empty for never" value=${fields.expiresAt}
          onChange=${set("expiresAt")} error=${error?.of?.("expires_at")} />
        ${!isOmitted && html`<${JsonEditor} label="Payload" text=${fields.payload} onChange=${set("payload")}
          error=${error?.of?.("payload")} />`}
      </div>
      <${ErrorState} error=${error} isInline />
      <div class="dialog-actions">
        <button type="button" class="button" disabled=${isBusy} onClick=${() => onClose(false)}>Back</button>
        <button type="submit" class="button button-primary" disabled=${isBusy || !isReady}>Save changes</button>
      </div>
    </form>
  <//>`;
}

function fieldsOf(job) {
  return {
    runAt: inputTime(job.run_at),
    priority: job.priority,
    expiresAt: inputTime(job.expires_at),
    payload: pretty(job.payload),
  };
}

/** Return the change as JSON; the payload stays as it was typed, so that no number is rewritten. */
function changeText(fields, changed) {
  const parts = {
    runAt: () => `"run_at": ${JSON.stringify(instantOf(fields.runAt))}`,
    priority: () => `"priority": ${JSON.stringify(fields.priority)}`,
    expiresAt: () => `"expires_at": ${JSON.stringify(instantOf(fields.expiresAt) || null)}`,
    payload: () => `"payload": ${fields.payload}`,
  };
  return `{${changed.map((name) => parts[name]()).join(", ")}}`;
}
