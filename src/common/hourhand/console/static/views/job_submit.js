// Submit a job: a new one, or one like another ("edit and resubmit", `?from=ID`).
import { html, useEffect, useState } from "../lib/html.js";
import { get, request } from "../lib/api.js";
import {
  ErrorState, Field, Loading, Page, SelectField, TextField, toast,
} from "../lib/components.js";
import { visible } from "../lib/format.js";
import { useHandler, useHandlers } from "../lib/handlers.js";
import { useReachable } from "../lib/live.js";
import { HandlerPauseNotice } from "../lib/pauses.js";
import { jsonFault } from "../lib/json_fault.js";
import { address, navigate } from "../lib/router.js";
import { bodyText, EMPTY_PAYLOAD, emptyForm, formOf } from "./job_form.js";
import { firstPayload, PayloadFields } from "./payload_fields.js";

export const routes = [{ pattern: "/submit", view: SubmitPage, section: "jobs" }];

const PRIORITIES = [["", "handler's default"], "high", "medium", "low"];
const ON_LOST = [["", "handler's default"], ["retry", "it is retried"], ["dead", "it ends dead"]];

function SubmitPage({ query }) {
  const from = query.get("from");
  const handler = query.get("handler") ?? "";
  const [form, setForm] = useState(from ? null : emptyForm(handler));
  const [error, setError] = useState(null);
  useEffect(() => {
    if (!from) return undefined;
    const ending = new AbortController();
    get(["jobs", from], { signal: ending.signal, exactFields: ["payload"] })
      .then((job) => setForm(formOf(job)))
      .catch((failure) => ending.signal.aborted || setError(failure));
    return () => ending.abort();
  }, [from]);
  const title = from ? "Edit and resubmit" : "Submit a job";
  return html`<${Page} title=${title} className="page-narrow">
    ${from && html`<p class="muted">A new job with the fields of job
      <a class="mono" href=${address(["jobs", from])}>${visible(from)}</a>. That job is not changed.</p>`}
    ${form && html`<${SubmitForm} form=${form} setForm=${setForm} isCopy=${Boolean(from)} />`}
    ${!form && (error ? html`<${ErrorState} error=${error} />` : html`<${Loading} />`)}
  <//>`;
}

/** The form of a job; it opens the page of the job that it submits. `isCopy`: it begins as another job. */
export function SubmitForm({ form, setForm, isCopy = false }) {
  const [error, setError] = useState(null);
  const [isBusy, setBusy] = useState(false);
  const isReachable = useReachable();
  const handler = useHandler(form.handler);
  // What the form filled in by itself; another handler replaces it, and never what was typed.
  const [filledIn, setFilledIn] = useState(isCopy ? null : EMPTY_PAYLOAD);
  useEffect(() => {
    if (!handler || form.payload !== filledIn) return;
    const payload = firstPayload(handler);
    setFilledIn(payload);
    // Asked again: something may have been typed since this was drawn.
    setForm((old) => (old.payload === filledIn ? { ...old, payload } : old));
  }, [handler]);
  const set = (name) => (value) => setForm((old) => ({ ...old, [name]: value }));
  const wrong = (field) => error?.of?.(field);
  const isReady = form.handler && !jsonFault(form.payload);
  const submit = async (event) => {
    event.preventDefault();
    setBusy(true);
    setError(null);
    try {
      const job = await request("POST", ["jobs"], { bodyText: bodyText(form) });
      toast("Job submitted.");
      navigate(address(["jobs", job.id]));
    } catch (failure) {
      setError(failure);
      setBusy(false);
    }
  };
  return html`<form class="card" onSubmit=${submit}><div class="card-body form">
    <div class="fields">
      <${HandlerField} value=${form.handler} onChange=${set("handler")} error=${wrong("handler")} />
      ${form.handler && html`<div class="field-wide"><${HandlerPauseNotice} name=${form.handler}>The job is accepted, and waits.<//></div>`}
      <${PayloadFields} key=${`${handler?.name} ${filledIn}`} schema=${handler?.payload_schema} text=${form.payload}
        onChange=${set("payload")} hint=${form.note} wrong=${wrong} />
    </div>
    <${When} form=${form} set=${set} wrong=${wrong} />
    <div class="fields">
      <${SelectField} label="Priority" options=${PRIORITIES} value=${form.priority}
        onChange=${set("priority")} error=${wrong("priority")} />
      <${TextField} label="Idempotency key" hint="Jobs with the same key are created once" maxlength="256" value=${form.key}
        onChange=${set("key")} error=${wrong("idempotency_key")} />
    </div>
    <${More} form=${form} set=${set} wrong=${wrong} />
    <${ErrorState} error=${error} isInline />
    <div class="dialog-actions">
      <button type="submit" class="button button-primary" disabled=${isBusy || !isReady || !isReachable}>
        ${isBusy ? "Submitting …" : "Submit job"}
      </button>
    </div>
  </div></form>`;
}

function HandlerField({ value, onChange, error }) {
  const handlers = useHandlers();
  const chosen = handlers.find(({ name }) => name === value);
  const names = handlers.map(({ name }) => name);
  if (value && !names.includes(value)) names.unshift(value);
  const options = [["", "Choose a handler"], ...names];
  return html`<${SelectField} label="Handler" options=${options} value=${value} onChange=${onChange} required isWide
    error=${error} hint=${visible(chosen?.description || "")} />`;
}

function When({ form, set, wrong }) {
  const choice = (value, words) => html`<label class="check">
    <input type="radio" name="when" value=${value} checked=${form.when === value} onChange=${() => set("when")(value)} />${words}
  </label>`;
  return html`<fieldset class="when">
    <legend>When</legend>
    ${choice("now", "now")}${choice("delay", "after a delay")}${choice("time", "at a time")}
    ${form.when === "delay" && html`<${TextField} label="Delay in seconds" type="number" min="0" step="any" required
      value=${form.delay} onChange=${set("delay")} error=${wrong("delay_seconds")} />`}
    ${form.when === "time" && html`<${TextField} label="Time, in your time zone" type="datetime-local" step="1" required
      value=${form.runAt} onChange=${set("runAt")} error=${wrong("run_at")} />`}
  </fieldset>`;
}

const BEHIND_MORE = ["tenant", "concurrencyKey", "tags", "timeout", "attempts", "expiresAt", "onLost", "retention"];

function More({ form, set, wrong }) {
  const line = (name, field, label, more) => html`<${TextField} label=${label} value=${form[name]}
    onChange=${set(name)} error=${wrong(field)} ...${more} />`;
  const number = { type: "number", min: "1" };
  const time = { type: "datetime-local", step: "1", hint: "If the job has not started by then, it ends expired. In your time zone." };
  return html`<details class="fold" open=${BEHIND_MORE.some((name) => form[name])}>
    <summary>More</summary>
    <div class="fields">
      ${line("tenant", "tenant", "Tenant")}
      ${line("concurrencyKey", "concurrency_key", "Concurrency key", { maxlength: "256", hint: "Replaces the key of the handler's first limit with keys" })}
      ${line("timeout", "timeout_seconds", "Time limit in seconds", { ...number, max: "840" })}
      ${line("attempts", "retry", "Maximum attempts", { ...number, max: "100" })}
      <${SelectField} label="If its worker is lost" options=${ON_LOST} value=${form.onLost}
        onChange=${set("onLost")} error=${wrong("on_lost")} />
      ${line("expiresAt", "expires_at", "Expires at", time)}
      ${line("retention", "retention_seconds", "Retention after its end, in seconds", { ...number, min: "0" })}
      <${Field} label="Tags" hint="One per line, as key: value" error=${wrong("tags")} isWide>
        ${(ties) => html`<textarea class="input" rows="3" spellcheck=${false} value=${form.tags}
          onInput=${(event) => set("tags")(event.currentTarget.value)} ...${ties}></textarea>`}
      <//>
    </div>
  </details>`;
}
