// The form of a job as text fields, and the body of `POST /jobs` that it builds. Pure.
import { pretty } from "../lib/exact_json.js";
import { instantOf } from "../lib/format.js";

/** The payload of a form in which nothing was typed yet. */
export const EMPTY_PAYLOAD = "{}";

/** Return an empty form for a handler. */
export function emptyForm(handler) {
  return {
    handler, payload: EMPTY_PAYLOAD, when: "now", delay: "", runAt: "", priority: "", key: "",
    tenant: "", concurrencyKey: "", limits: "", tags: "", timeout: "", attempts: "", retry: null, onLost: "", expiresAt: "", retention: "", note: "",
    sameKey: "", uniqueKey: "", until: "", untilSeconds: "", onConflict: "", debounceKey: "", debounceWait: "", debounceMaxWait: "", debounceMode: "",
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
    limits: (job.limits ?? []).map(({ name, key }) => (key === null ? name : `${name} = ${key}`)).join("\n"),
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
    ...optional("limits", limitsOf(form.limits)),
    ...(form.sameKey === "unique" ? { unique: uniqueOf(form) } : {}),
    ...(form.sameKey === "debounce" ? { debounce: debounceOf(form) } : {}),
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
  const pairs = pairsOf(text, ":");
  return pairs.length === 0 ? "" : Object.fromEntries(pairs.map(([key, value]) => [key, value ?? ""]));
}

/** Read shared limits, one a line: a name, or a name and a key. */
function limitsOf(text) {
  const pairs = pairsOf(text, "=");
  return pairs.length === 0 ? "" : pairs.map(([name, key]) => ({ name, ...optional("key", key) }));
}

/** Return [before, after] the first `separator` of each line that is not empty; `after` is undefined without one. */
function pairsOf(text, separator) {
  return text.split("\n").map((line) => line.trim()).filter(Boolean).map((line) => {
    const place = line.indexOf(separator);
    return place < 0 ? [line] : [line.slice(0, place).trim(), line.slice(place + 1).trim()];
  });
}

function uniqueOf({ uniqueKey: key, until, untilSeconds: seconds, onConflict }) {
  const end = until === "seconds" ? Number(seconds) : until;
  return { key, ...optional("until", end), ...optional("on_conflict", onConflict) };
}

function debounceOf({ debounceKey: key, debounceWait: wait, debounceMaxWait: maxWait, debounceMode: mode }) {
  const longest = maxWait && Number(maxWait);
  return { key, wait_seconds: Number(wait), ...optional("max_wait_seconds", longest), ...optional("mode", mode) };
}

function whenOf({ when, delay, runAt }) {
  if (when === "delay") return { delay_seconds: Number(delay) };
  if (when === "time") return { run_at: instantOf(runAt) };
  return {};
}

function optional(name, value) {
  return value === "" || value == null ? {} : { [name]: value };
}
