// The form of a job as text fields, and the body of `POST /jobs` that it builds. Pure.
import { pretty } from "../lib/exact_json.js";
import { instantOf } from "../lib/format.js";

/** The payload of a form in which nothing was typed yet. */
export const EMPTY_PAYLOAD = "{}";

/** Return an empty form for a handler. */
export function emptyForm(handler) {
  return {
    handler, payload: EMPTY_PAYLOAD, when: "now", delay: "", runAt: "", priority: "", key: "",
    tenant: "", concurrencyKey: "", tags: "", timeout: "", attempts: "", retry: null, onLost: "", expiresAt: "", retention: "", note: "",
  };
}

/** Return the form of a job like `job`. Its time, id and key are its own and are not taken over. */
export function formOf(job) {
  const isOmitted = job.omitted?.includes("payload");
  return {
    ...emptyForm(job.handler),
    payload: isOmitted ? "null" : pretty(job.payload),
    note: isOmitted ? "The payload of the other job cannot be copied: it is too large, or no longer kept." : "",
    priority: job.priority,
    tenant: job.tenant ?? "",
    tags: Object.entries(job.tags).map(([key, value]) => `${key}: ${value}`).join("\n"),
    timeout: String(job.timeout_seconds),
    attempts: String(job.retry.max_attempts),
    retry: job.retry,
    onLost: job.on_lost,
    retention: String(job.retention_seconds),
  };
}

/**
 * Return the body to send. The payload stays as it was typed, so that no number is rewritten;
 * what is empty is left to the handler's policy.
 */
export function bodyText(form) {
  const body = {
    handler: form.handler,
    ...whenOf(form),
    ...optional("priority", form.priority),
    ...optional("idempotency_key", form.key),
    ...optional("tenant", form.tenant),
    ...optional("concurrency_key", form.concurrencyKey),
    ...optional("timeout_seconds", form.timeout && Number(form.timeout)),
    ...optional("on_lost", form.onLost),
    ...optional("expires_at", instantOf(form.expiresAt)),
    ...optional("retention_seconds", form.retention && Number(form.retention)),
    ...optional("tags", tagsOf(form.tags)),
    ...optional("retry", form.attempts && { ...form.retry, max_attempts: Number(form.attempts) }),
  };
  return `${JSON.stringify(body).slice(0, -1)}, "payload": ${form.payload}}`;
}

/** Read tags, one a line; a value may hold colons, and begin and end with no space. */
function tagsOf(text) {
  const lines = text.split("\n").map((line) => line.trim()).filter(Boolean);
  if (lines.length === 0) return "";
  return Object.fromEntries(lines.map((line) => {
    const colon = line.indexOf(":");
    return colon < 0 ? [line, ""] : [line.slice(0, colon).trim(), line.slice(colon + 1).trim()];
  }));
}

function whenOf({ when, delay, runAt }) {
  if (when === "delay") return { delay_seconds: Number(delay) };
  if (when === "time") return { run_at: instantOf(runAt) };
  return {};
}

function optional(name, value) {
  return value === "" || value == null ? {} : { [name]: value };
}
