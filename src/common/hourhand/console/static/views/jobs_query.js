// The filters of the list of jobs, as the address and the API have them. Pure.
import { local } from "../lib/format.js";
import { statusWord } from "../lib/badges.js";

/** The statuses that a job can have, in the order of its life. */
export const STATUSES = [
  "PENDING", "ENQUEUED", "RUNNING", "RETRYING", "SUCCEEDED", "DEAD", "CANCELLED", "EXPIRED",
];

/** Statuses of jobs that wait for an attempt. */
export const WAITING = ["PENDING", "ENQUEUED", "RETRYING"];
/** Statuses from which a job can be redriven. */
export const REDRIVABLE = ["DEAD", "EXPIRED", "CANCELLED"];

/** The filters of `GET /jobs`, with their words. */
const FILTERS = {
  status: "status",
  handler: "handler",
  error_type: "error",
  error_group: "error group",
  discarded: "discarded",
  schedule_id: "schedule",
  tenant: "tenant",
  tag: "tag",
  idempotency_key: "key",
  created_after: "created after",
  created_before: "created before",
};

/** Values of the address that are no filters. */
const OTHERS = ["cursor"];

/** Return the filters that an address's query holds. */
export function filtersOf(query) {
  const given = Object.keys(FILTERS).map((name) => [name, query.get(name)]);
  return Object.fromEntries(given.filter(([, value]) => value));
}

/** What may be wrong with a filter of an address, in words. */
const UNCLEAR = {
  unknown: "that the console does not know",
  empty: "without a value",
  repeated: "that is given twice",
};

/**
 * Return the filters in an address's query that leave open which jobs are meant, as {name, kind}: a page
 * that ignores one shows more jobs than its sender meant.
 */
export function unclearOf(query, known = Object.keys(FILTERS), others = OTHERS) {
  const kindOf = (name) => {
    if (!known.includes(name)) return others.includes(name) ? null : "unknown";
    const values = query.getAll(name);
    return values.length > 1 ? "repeated" : values[0] === "" ? "empty" : null;
  };
  return [...new Set(query.keys())].map((name) => ({ name, kind: kindOf(name) })).filter(({ kind }) => kind);
}

/** Return as a sentence what `unclearOf` found first, or null. */
export function whyUnclear(unclear) {
  if (unclear.length === 0) return null;
  const [{ kind }] = unclear;
  const names = unclear.filter((one) => one.kind === kind).map(({ name }) => name);
  return `The address has a filter ${UNCLEAR[kind]}: ${names.join(", ")}. Remove it first.`;
}

/** Return the filters of a bulk request: the API wants JSON's own true and false. */
export function bodyOf({ discarded, ...filters }) {
  return discarded === undefined ? filters : { ...filters, discarded: discarded === "true" };
}

/**
 * Return what else must change with `changes`, as new values: a key names one job, so the API takes it
 * with no filter but the tenant. The later one of a key and another filter replaces the earlier one.
 */
export function besideKey(filters, changes) {
  const others = Object.keys(FILTERS).filter((name) => !["idempotency_key", "tenant"].includes(name));
  if (changes.idempotency_key) return Object.fromEntries(others.map((name) => [name, ""]));
  return filters.idempotency_key && others.some((name) => changes[name]) ? { idempotency_key: "" } : {};
}

/** Return each filter as {name, words, value}: "status" and "Dead", "created after" and a local time, "" and "Discarded". */
export function termsOf(filters) {
  return Object.entries(filters).map(([name, value]) => {
    const alone = name === "discarded" && { true: "Discarded", false: "Not discarded" }[value];
    return alone ? { name, words: "", value: alone } : { name, words: FILTERS[name], value: valueInWords(name, value) };
  });
}

/** Return the filters as a phrase: "dead jobs with handler report"; "every job" for none. */
export function inWords({ status, discarded, ...filters }) {
  const isKnown = STATUSES.includes(status);
  // A discarded job is dead: to say both says it twice.
  const kinds = [discarded === "true" && "discarded", isKnown && !(discarded === "true" && status === "DEAD") && statusWord(status).toLowerCase()];
  const which = [...kinds.filter(Boolean), discarded === "false" ? "jobs that are not discarded" : "jobs"].join(" ");
  const others = Object.keys(FILTERS).filter((name) => filters[name])
    .map((name) => `${FILTERS[name]} ${isTime(name) ? local(filters[name]) : filters[name]}`);
  const parts = [...(status && !isKnown ? [`status ${status}`] : []), ...others];
  if (parts.length === 0) return which === "jobs" ? "every job" : which;
  return `${which}${discarded === "false" ? "," : ""} with ${parts.join(", ")}`;
}

/** Whether the API takes the filters for none: nearly all jobs were not discarded. */
export function isEveryJob({ discarded, ...others }) {
  return discarded !== "true" && Object.keys(others).length === 0;
}

/** Return the bulk actions that can change a job that passes the filters; none without a filter. */
export function verbsFor(filters) {
  if (isEveryJob(filters) || filters.idempotency_key) return [];
  if (!filters.status) return ["cancel", "redrive", "discard"];
  if (WAITING.includes(filters.status) || filters.status === "RUNNING") return ["cancel"];
  if (filters.status === "DEAD") return filters.discarded === "true" ? ["redrive"] : ["redrive", "discard"];
  return REDRIVABLE.includes(filters.status) ? ["redrive"] : [];
}

/** Return what a bulk `verb` does to which statuses, as words for the question. */
export function changesWhich(verb, filters) {
  if (verb === "cancel") {
    return "Waiting jobs are cancelled immediately, and running jobs are asked to stop. Jobs that have ended do not change.";
  }
  if (verb === "discard") {
    return "Only dead jobs are discarded. A discarded job leaves the dead letters and the alarm. It keeps its history, and can still be redriven until it is deleted.";
  }
  if (!filters.status) {
    return "Only dead jobs are redriven, and no discarded ones. To redrive cancelled or expired jobs, filter by that status first.";
  }
  return "Each job is redriven with all its attempts.";
}

/** Whether a job waits for a time that is still to come. */
export function isUpcoming(job, now) {
  return WAITING.includes(job.status) && Date.parse(job.due_at ?? job.run_at) > now;
}

/** Return when a job is due next, or was due last. */
export function dueOf(job) {
  return job.due_at ?? job.run_at;
}

/** Return the jobs apart: those that wait for their time, the next one first, and the others as they are. */
export function splitByTime(jobs, now) {
  const upcoming = jobs.filter((job) => isUpcoming(job, now));
  upcoming.sort((one, other) => dueOf(one).localeCompare(dueOf(other)));
  return { upcoming, recent: jobs.filter((job) => !isUpcoming(job, now)) };
}

function valueInWords(name, value) {
  if (name === "status") return STATUSES.includes(value) ? statusWord(value) : value;
  return isTime(name) ? local(value) : value;
}

function isTime(name) {
  return name.startsWith("created_");
}
