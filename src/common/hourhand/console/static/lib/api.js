// The HTTP API, from the page's own origin. Failures are `ApiError`, with the problem's fields.
import { TOKEN_PROBLEM, accessHeaders, forgetToken } from "./access.js";
import { parseExact } from "./exact_json.js";
import { createStore } from "./store.js";

const PREFIX = "/v1";
const TIMEOUT_MILLISECONDS = 30_000;
/** The largest page of any listing of the API. */
const MOST_A_PAGE = 200;

/** Problems of `hourhand console` itself: the API behind it gave no answer. */
const NO_ANSWER_PROBLEMS = ["urn:hourhand:no_api_answer", "urn:hourhand:no_credentials"];

const REACHABLE = { isReachable: true, detail: "" };

/**
 * {isReachable, detail}: false from a request without an answer until the next answer; `detail` says
 * why. What changes something is disabled meanwhile. Views use `useReachable` of live.js.
 */
export const connectionStore = createStore(REACHABLE);

/** A failed request; `errors` is a list of {field, message}. Status 0: there was no answer. */
export class ApiError extends Error {
  constructor({ status, title, detail, type = "", errors = [] }) {
    super(detail || title);
    Object.assign(this, { status, title, detail, type, errors });
  }

  /** Whether the API gave no answer, neither a good one nor a refusal. */
  get isWithoutAnswer() {
    return this.status === 0 || NO_ANSWER_PROBLEMS.includes(this.type);
  }

  /** Return what is wrong with `field`, or, unless `isExact`, with a part of it; else null. */
  of(field, isExact = false) {
    const isPart = (e) => e.field.startsWith(`${field}.`) || e.field.startsWith(`${field}[`);
    const isOf = (e) => e.field === field || (!isExact && isPart(e));
    const found = this.errors.find(isOf);
    return found ? found.message : null;
  }
}

/** Send a request to the API, as `exchange` does, and return the body of the answer alone. */
export async function request(method, path, options) {
  return (await exchange(method, path, options)).body;
}

/**
 * Send a request to the API, and return the {status, body} of a good answer. `path` is a list of segments, encoded here: `["jobs", id]`. `body` is sent as JSON;
 * `bodyText` is JSON already. `exactFields` of the answer keep numbers as they were written.
 */
export async function exchange(method, path, options = {}) {
  const { query = {}, body, bodyText, signal, exactFields = [] } = options;
  const text = bodyText ?? (body === undefined ? undefined : JSON.stringify(body));
  try {
    const answer = await send(method, addressOf(path, query), text, signal);
    const answered = await read(answer, signal);
    if (!answer.ok) throw problemOf(answer, answered);
    connectionStore.set(REACHABLE);
    const isEmpty = answer.status === 204 || answered === "";
    return { status: answer.status, body: isEmpty ? null : parsed(answered, exactFields) };
  } catch (error) {
    if (error instanceof ApiError) noteConnection(error);
    throw error;
  }
}

function noteConnection(error) {
  if (!error.isWithoutAnswer) connectionStore.set(REACHABLE);
  else if (connectionStore.get().isReachable) connectionStore.set({ isReachable: false, detail: error.detail });
}

/** Read: `get(["jobs"], { query: { status: "DEAD" } })`. */
export const get = (path, options) => request("GET", path, options);
export const post = (path, body = {}, options = {}) => request("POST", path, { ...options, body });
export const put = (path, body, options = {}) => request("PUT", path, { ...options, body });
export const remove = (path, options) => request("DELETE", path, options);

/**
 * Read on through short and empty pages until `limit` items of `name` are found, the listing ends,
 * or `mostRequests` were sent. Items for which `isExtra` holds do not count towards the limit.
 * Returns {items, nextCursor}.
 */
export async function collectPage(path, name, { query = {}, cursor, limit, signal, mostRequests = 6, isExtra = () => false }) {
  const items = [];
  let [left, nextCursor] = [limit, cursor || null];
  for (let made = 0; made < mostRequests; made += 1) {
    const asked = { ...query, limit: Math.min(left, MOST_A_PAGE), cursor: nextCursor };
    const page = await get(path, { query: asked, signal });
    items.push(...page[name]);
    nextCursor = page.next_cursor;
    left -= page[name].filter((item) => !isExtra(item)).length;
    if (!nextCursor || left <= 0) break;
  }
  return { items, nextCursor };
}

/** Counting ends here: beyond it, a number says no more than "1,000 or more". */
export const MOST_COUNTED = 1000;

/**
 * Count what a bulk `verb` would change, with dry runs, up to `MOST_COUNTED`. Returns
 * {matched, isMore}: with `isMore` there are at least that many. `onProgress` gets the count so far.
 */
export async function countBulk(verb, filters, { onProgress, signal } = {}) {
  let [matched, cursor] = [0, null];
  do {
    const counted = await post(["jobs", verb], { ...filters, dry_run: true, ...(cursor ? { cursor } : {}) }, { signal });
    matched += counted.matched;
    cursor = counted.next_cursor;
    onProgress?.({ matched });
  } while (cursor && matched < MOST_COUNTED);
  return { matched: Math.min(matched, MOST_COUNTED), isMore: cursor !== null || matched > MOST_COUNTED };
}

/**
 * Do a bulk `verb` to all that match, call after call to the end. `fields` go into each body; the
 * first one carries `expectedCount` if it is given, and the API refuses it if many more match by now. `onProgress`
 * gets the totals so far. Returns {matched, changed, failed, isWhole}; not whole if `signal` ended it.
 */
export async function bulk(verb, filters, { expectedCount, fields = {}, onProgress, signal } = {}) {
  const total = { matched: 0, changed: 0, failed: [], isWhole: false };
  let cursor = null;
  do {
    if (signal?.aborted) return total;
    const position = cursor ? { cursor } : { expected_count: expectedCount };
    const done = await post(["jobs", verb], { ...filters, ...fields, ...position });
    total.matched += done.matched;
    total.changed += done.changed;
    total.failed.push(...done.failed);
    cursor = done.next_cursor;
    onProgress?.({ ...total });
  } while (cursor);
  total.isWhole = true;
  return total;
}

/**
 * Do `operate(item)` for each, a few at a time. `onProgress` gets the totals so far.
 * Returns {matched, changed, failed: [{id, error}], isWhole}.
 */
export async function each(items, identify, operate, { onProgress, signal, parallel = 4 } = {}) {
  const total = { matched: items.length, changed: 0, failed: [], isWhole: false };
  const waiting = [...items];
  const work = async () => {
    while (waiting.length > 0 && !signal?.aborted) {
      const item = waiting.shift();
      try {
        await operate(item);
        total.changed += 1;
      } catch (error) {
        total.failed.push({ id: identify(item), error });
      }
      onProgress?.({ ...total });
    }
  };
  await Promise.all(Array.from({ length: parallel }, work));
  total.isWhole = waiting.length === 0;
  return total;
}

function addressOf(path, query) {
  const given = Object.entries(query).filter(([, value]) => value !== "" && value != null);
  const search = new URLSearchParams(given).toString();
  const route = path.map((segment) => encodeURIComponent(segment)).join("/");
  return `${PREFIX}/${route}${search ? `?${search}` : ""}`;
}

async function send(method, target, text, signal) {
  const limit = AbortSignal.timeout(TIMEOUT_MILLISECONDS);
  try {
    return await fetch(target, {
      method,
      body: text,
      headers: { ...accessHeaders(), ...(text === undefined ? {} : { "content-type": "application/json" }) },
      signal: signal ? AbortSignal.any([signal, limit]) : limit,
      redirect: "error",
    });
  } catch (error) {
    if (signal?.aborted) throw error;
    throw unreachable();
  }
}

async function read(answer, signal) {
  try {
    return await answer.text();
  } catch (error) {
    if (signal?.aborted) throw error;
    throw unreachable();
  }
}

function unreachable() {
  const detail = "The server did not answer. Check that it is running.";
  return new ApiError({ status: 0, title: "The API cannot be reached", detail });
}

function parsed(text, exactFields) {
  const value = JSON.parse(text);
  if (exactFields.length === 0) return value;
  const exact = parseExact(text);
  for (const field of exactFields) value[field] = exact[field];
  return value;
}

/** Read Hourhand's problems (RFC 9457), and the errors that a gateway sends in its own form. */
function problemOf(answer, text) {
  let problem = {};
  try {
    problem = JSON.parse(text) ?? {};
  } catch {
    // No JSON: the title is the status.
  }
  const title = problem.title ?? `The API answered ${answer.status} ${answer.statusText}`.trim();
  const detail = problem.detail ?? problem.message ?? problem.Message ?? "";
  const errors = Array.isArray(problem.errors) ? problem.errors : [];
  if (problem.type === TOKEN_PROBLEM) forgetToken();
  return new ApiError({ status: answer.status, title, detail, type: problem.type, errors });
}
