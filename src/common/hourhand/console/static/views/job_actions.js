// The actions that a job's state allows. Each one asks for confirmation and reports the API's answer.
import { html, useState } from "../lib/html.js";
import { request } from "../lib/api.js";
import { Changes, Dialog, ErrorState, Icon, JsonEditor, SelectField, TextField, toast } from "../lib/components.js";
import { pretty } from "../lib/exact_json.js";
import { inputTime, instantOf } from "../lib/format.js";
import { isBuiltIn } from "../lib/handlers.js";
import { jsonFault } from "../lib/json_fault.js";
import { useKey } from "../lib/keys.js";
import { address, navigate } from "../lib/router.js";
import { askAbout } from "./job_questions.js";
import { REDRIVABLE, WAITING } from "./jobs_query.js";

/** Show the buttons that the job's state allows. */
export function JobActions({ job, onChanged }) {
  const [isChanging, setChanging] = useState(false);
  const isWaiting = WAITING.includes(job.status);
  const isRunning = job.status === "RUNNING";
  const mayCancel = isWaiting || (isRunning && !job.cancel_requested_at);
  const mayRedrive = REDRIVABLE.includes(job.status);
  const mayDiscard = job.status === "DEAD" && !job.discarded_at;
  const mayResubmit = !isBuiltIn(job.handler);
  const resubmit = address(["submit"], { from: job.id });
  const ask = (verb) => async () => (await askAbout(verb, job)) && onChanged();
  useKey("c", "cancel this job", () => mayCancel && ask("cancel")());
  useKey("d", "redrive this job", () => mayRedrive && ask("redrive")());
  useKey("e", "edit and resubmit this job", () => mayResubmit && navigate(resubmit));
  const button = (icon, words, run, tone = "") => html`<button type="button" class=${`button ${tone}`} onClick=${run}>
    <${Icon} name=${icon} />${words}
  </button>`;
  const close = (isDone) => {
    setChanging(false);
    if (isDone) onChanged();
  };
  return html`<${Changes} label="Actions">
    ${mayRedrive && button("refresh", "Redrive …", ask("redrive"), "button-primary")}
    ${mayDiscard && button("trash", "Discard …", ask("discard"))}
    ${isWaiting && button("play", "Run now …", ask("run-now"), "button-primary")}
    ${isWaiting && button("clock", "Change …", () => setChanging(true))}
    ${mayResubmit && html`<a class="button" href=${resubmit}><${Icon} name="edit" />Edit and resubmit</a>`}
    ${mayCancel && button("close", "Cancel job …", ask("cancel"))}
  <//>
    ${isChanging && html`<${ChangeDialog} job=${job} onClose=${close} />`}`;
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
