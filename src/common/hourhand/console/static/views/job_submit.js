// Submit a job: a new one, or one like another ("edit and resubmit", `?from=ID`).
import { html, useEffect, useState } from "../lib/html.js";
import { exchange, get } from "../lib/api.js";
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
  // New fields begin with what was filled in. The editor of JSON stays: someone may be typing in it.
  const fieldsKey = handler?.payload_schema && `${handler.name} ${filledIn}`;
  const set = (name) => (value) => setForm((old) => ({ ...old, [name]: value }));
  const wrong = (field, isExact) => error?.of?.(field, isExact);
  const isReady = form.handler && !jsonFault(form.payload);
  const submit = async (event) => {
    event.preventDefault();
    setBusy(true);
    setError(null);
    try {
      const { status, body: job } = await exchange("POST", ["jobs"], { bodyText: bodyText(form) });
      toast(status === 201 ? "Job submitted." : "No new job was created: this one has the key already.");
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
      <${PayloadFields} key=${fieldsKey} schema=${handler?.payload_schema} text=${form.payload}
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

const BEHIND_MORE = ["tenant", "concurrencyKey", "limits", "sameKey", "tags", "timeout", "attempts", "expiresAt", "onLost", "retention"];
const SAME_KEY = [["", "handler's default"], ["unique", "unique: one at a time"], ["debounce", "debounce: several are one"]];
const UNTIL = [["", "it ends"], ["start", "it starts"], ["success", "it succeeds"], ["seconds", "some seconds are over"]];
const ON_CONFLICT = [["", "return that job"], ["reject", "refuse this submission"], ["replace", "give it this payload and time"]];
const MODES = [["", "the last submission"], ["first", "the first submission"]];

function More({ form, set, wrong }) {
  const line = (name, field, label, more) => html`<${TextField} label=${label} value=${form[name]}
    onChange=${set(name)} error=${wrong(field)} ...${more} />`;
  const choice = (name, field, label, options) => html`<${SelectField} label=${label} options=${options} value=${form[name]}
    onChange=${set(name)} error=${field && wrong(field)} />`;
  // A job that lacks the key is an error of the whole; another option has its own field.
  const keyLine = (name, field, label) => html`<${TextField} label=${label} value=${form[name]} onChange=${set(name)} required
    maxlength="256" hint="payload.day, tags.x, tenant, or a word" error=${wrong(`${field}.key`) ?? wrong(field, true)} />`;
  const lines = (name, field, label, hint) => html`<${Field} label=${label} hint=${hint} error=${wrong(field)} isWide>
    ${(ties) => html`<textarea class="input" rows="3" spellcheck=${false} autocapitalize="off" value=${form[name]}
      onInput=${(event) => set(name)(event.currentTarget.value)} ...${ties}></textarea>`}
  <//>`;
  const number = { type: "number", min: "1" };
  const seconds = { ...number, step: "any" };
  const time = { type: "datetime-local", step: "1", hint: "If the job has not started by then, it ends expired. In your time zone." };
  return html`<details class="fold" open=${BEHIND_MORE.some((name) => form[name])}>
    <summary>More</summary>
    <div class="fields">
      ${line("tenant", "tenant", "Tenant")}
      ${line("concurrencyKey", "concurrency_key", "Concurrency key", { maxlength: "256", hint: "Replaces the key of the handler's first limit with keys" })}
      ${line("timeout", "timeout_seconds", "Time limit in seconds", { ...number, max: "840" })}
      ${line("attempts", "retry", "Maximum attempts", { ...number, max: "100" })}
      ${choice("onLost", "on_lost", "If its worker is lost", ON_LOST)}
      ${line("expiresAt", "expires_at", "Expires at", time)}
      ${line("retention", "retention_seconds", "Retention after its end, in seconds", { ...number, min: "0" })}
      ${lines("tags", "tags", "Tags", "One per line, as key: value")}
      ${lines("limits", "limits", "Shared limits", "In place of the handler's own. One per line, at most three: name, or name = key")}
      ${choice("sameKey", null, "Jobs with the same key", SAME_KEY)}
      ${form.sameKey === "unique" && html`
        ${keyLine("uniqueKey", "unique", "Unique key")}
        ${choice("until", "unique.until", "The job has the key until", UNTIL)}
        ${form.until === "seconds" && line("untilSeconds", "unique.until", "Seconds after its submission", { ...number, required: true })}
        ${choice("onConflict", "unique.on_conflict", "If another job has the key", ON_CONFLICT)}`}
      ${form.sameKey === "debounce" && html`
        ${keyLine("debounceKey", "debounce", "Debounce key")}
        ${line("debounceWait", "debounce.wait_seconds", "Quiet time before it runs, in s", { ...seconds, required: true })}
        ${line("debounceMaxWait", "debounce.max_wait_seconds", "At the latest after the first, in s", seconds)}
        ${choice("debounceMode", "debounce.mode", "It runs with the payload of", MODES)}`}
    </div>
  </details>`;
}
