// What can be typed into the search box. Pure. Each term becomes a filter, or is refused with a reason.
import { STATUSES } from "./jobs_query.js";

/** By the name that is typed: the filter of `GET /jobs`, and an example. */
const TERMS = {
  status: { filter: "status", example: "status:dead" },
  handler: { filter: "handler", example: "handler:send-welcome" },
  error: { filter: "error_type", example: "error:TimeoutError" },
  tag: { filter: "tag", example: "tag:customer:42" },
  tenant: { filter: "tenant", example: "tenant:acme" },
  schedule: { filter: "schedule_id", example: "schedule:nightly" },
  key: { filter: "idempotency_key", example: "key:order-7" },
  discarded: { filter: "discarded", example: "discarded:false" },
  after: { filter: "created_after", example: "after:24h" },
  before: { filter: "created_before", example: "before:2026-11-30" },
  id: { example: "id:JOB" },
};

/** What may be given together with an idempotency key: a key belongs to a tenant, or to none. */
const WITH_A_KEY = ["idempotency_key", "tenant"];

const AGE = /^(\d{1,5})(s|m|min|h|d|w)$/i;
const AGE_SECONDS = { s: 1, m: 60, min: 60, h: 3600, d: 86_400, w: 604_800 };
const TIME = /^\d{4}-\d{2}-\d{2}([T ]\d{2}:\d{2}(:\d{2}(\.\d+)?)?(Z|[+-]\d{2}:\d{2})?)?$/i;

/** An example of each term, for the hint and for a refusal. */
export const EXAMPLES = Object.values(TERMS).map(({ example }) => example);

/**
 * Read what was typed. Returns {filters, jobId, problems}: `jobId` is a single word that may be the
 * id of a job, and each problem is {term, why, instead}, where `instead` is a term that is allowed.
 * If there is a problem, nothing of the search may be applied: a term that is left out would widen it.
 */
export function readSearch(text, handlerNames, now) {
  const found = { filters: {}, jobId: null, problems: [] };
  const words = text.match(/(?:[^\s"]+|"[^"]*(?:"|$))+/g) ?? [];
  for (const word of words) {
    const problem = readTerm(word, words.length === 1, handlerNames, now, found);
    if (problem) found.problems.push({ term: word, ...problem });
  }
  const beside = Object.keys(found.filters).filter((name) => !WITH_A_KEY.includes(name));
  if (found.filters.idempotency_key && beside.length > 0) {
    const why = "a key names one job, so it can be combined with a tenant only";
    found.problems.push({ term: `key:${found.filters.idempotency_key}`, why });
  }
  return found;
}

/** Put one term into `found`, or return {why, instead}. */
function readTerm(word, isAlone, handlerNames, now, found) {
  if ((word.match(/"/g) ?? []).length % 2 === 1) return { why: "a quotation mark is not closed" };
  const plain = word.replaceAll('"', "");
  const colon = plain.indexOf(":");
  if (colon < 0) return readBare(plain, isAlone, handlerNames, found);
  const [name, value] = [plain.slice(0, colon).toLowerCase(), plain.slice(colon + 1)];
  if (!Object.hasOwn(TERMS, name)) return unknownName(plain, name);
  if (value === "") return { why: `a value is missing after the colon, as in ${TERMS[name].example}` };
  if (name === "id") {
    if (!isAlone) return { why: "an ID names one job, so it cannot be combined with other terms" };
    found.jobId = value;
    return null;
  }
  const read = READERS[name]?.(value, now) ?? { value };
  return read.why ? read : put(found, name, read.value);
}

function readBare(word, isAlone, handlerNames, found) {
  if (STATUSES.includes(word.toUpperCase())) return put(found, "status", word.toUpperCase());
  if (handlerNames.includes(word)) return put(found, "handler", word);
  if (isAlone) {
    found.jobId = word;
    return null;
  }
  return unknownWord(word, handlerNames);
}

/** Return why a word that stands alone is refused, once it is known to be no job's id either. */
export function unknownWord(word, handlerNames) {
  const near = handlerNames.find((name) => name.toLowerCase().includes(word.toLowerCase()));
  const why = "it is no status, no registered handler and no ID of a job";
  return near ? { why, instead: `handler:${near}` } : { why };
}

function unknownName(term, name) {
  return { why: `“${name}” is not a name that the search knows; a tag is written as in ${TERMS.tag.example}`, instead: `tag:${term}` };
}

function put(found, name, value) {
  const { filter } = TERMS[name];
  if (Object.hasOwn(found.filters, filter)) return { why: `“${name}” is given twice, and a job has only one` };
  found.filters[filter] = value;
  return null;
}

const READERS = {
  status(value) {
    const status = value.toUpperCase();
    return STATUSES.includes(status) ? { value: status } : { why: `a status is one of ${STATUSES.join(", ").toLowerCase()}` };
  },
  tag(value) {
    if (value.indexOf(":") > 0) return { value };
    return { why: `a tag needs a name and a value, as in ${TERMS.tag.example}` };
  },
  discarded(value) {
    const isKnown = ["true", "false"].includes(value.toLowerCase());
    return isKnown ? { value: value.toLowerCase() } : { why: "write discarded:true or discarded:false" };
  },
  after: readTime,
  before: readTime,
};

/** Read an age such as 24h, a date, or a time; without an offset it is in the browser's zone. */
function readTime(text, now) {
  const age = AGE.exec(text);
  if (age) return { value: new Date(now - age[1] * AGE_SECONDS[age[2].toLowerCase()] * 1000).toISOString() };
  // A date alone would be read as UTC.
  const instant = TIME.test(text) ? Date.parse(text.length === 10 ? `${text}T00:00` : text) : NaN;
  if (!Number.isNaN(instant)) return { value: new Date(instant).toISOString() };
  return { why: "a time is an age such as 15m, 24h or 7d, or a date such as 2026-11-30 or 2026-11-30T09:00" };
}
