// The filters of the list of jobs, as the address and the API have them. Pure.

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
  schedule_id: "schedule",
  tenant: "tenant",
  tag: "tag",
  created_after: "created after",
  created_before: "created before",
};

const TYPED = {
  status: "status",
  handler: "handler",
  schedule: "schedule_id",
  schedule_id: "schedule_id",
  tenant: "tenant",
  tag: "tag",
};

/** Return the filters that an address's query holds; others of its values are no filters. */
export function filtersOf(query) {
  const given = Object.keys(FILTERS).map((name) => [name, query.get(name)]);
  return Object.fromEntries(given.filter(([, value]) => value));
}

/**
 * Read what was typed into the search box: `{filters}` of words such as `handler:send-welcome`,
 * `status:dead`, `tag:customer:42`, or a handler's name alone; else `{jobId}`; null if nothing.
 */
export function readSearch(text, handlerNames) {
  const words = text.trim().split(/\s+/).filter(Boolean);
  if (words.length === 0) return null;
  const filters = {};
  for (const word of words) {
    const colon = word.indexOf(":");
    const key = word.slice(0, colon).toLowerCase();
    if (colon > 0 && Object.hasOwn(TYPED, key)) {
      const name = TYPED[key];
      const value = word.slice(colon + 1);
      filters[name] = name === "status" ? value.toUpperCase() : value;
    } else if (STATUSES.includes(word.toUpperCase())) filters.status = word.toUpperCase();
    else if (handlerNames.includes(word)) filters.handler = word;
    else if (colon > 0) filters.tag = word;
    else if (words.length === 1) return { jobId: word };
  }
  return { filters };
}

/** Return the filters as a phrase: "status DEAD, handler report"; "every job" for none. */
export function inWords(filters) {
  const parts = Object.entries(filters).map(([name, value]) => `${FILTERS[name]} ${value}`);
  return parts.length === 0 ? "every job" : `jobs with ${parts.join(", ")}`;
}

/** Return what a bulk `verb` does to which statuses, as words for the question. */
export function changesWhich(verb, filters) {
  if (verb === "cancel") {
    return "Waiting jobs are cancelled immediately, and running jobs are asked to stop. Jobs that have ended do not change.";
  }
  if (!filters.status) {
    return "Only dead jobs are redriven. To redrive cancelled or expired jobs, filter by that status first.";
  }
  return "Each job is redriven with all its attempts.";
}
