// A schedule's definition as texts in a form, and back. Pure: no page, no network.
//
// A draft holds one text (or a boolean) for each field by its path. `rest` holds what has no field,
// so that the form never loses a value that it does not know. The server validates values; only text
// that is not a value at all (broken JSON) is a fault found here.
import { parseExact, pretty } from "../lib/exact_json.js";
import { jsonFault } from "../lib/json_fault.js";
import { exclusionLines, linesOf, oneLine, parseExclusions } from "./schedule_exclusions.js";

/** The fields of a schedule's answer that are not part of its definition. */
const STATE_FIELDS = [
  "id",
  "status",
  "revision",
  "created_at",
  "updated_at",
  "paused",
  "paused_at",
  "next_at",
  "broken_reason",
  "behind_seconds",
  "on_resume",
  "last_occurrence",
  "occurrences_made",
  "backfills",
  "recent",
  "effect",
  "managed_by",
];

/** The fields that decide the scheduled times, which a preview needs. */
const RULE_FIELDS = [
  "expression",
  "timezone",
  "anchor",
  "dst_gap",
  "dst_fold",
  "exclude",
  "start_at",
  "end_at",
];

const NUMBER = /^-?[0-9]+(\.[0-9]+)?$/;

/** The fields of the form by their paths, and how the text of each is read. */
const KINDS = {
  expression: "expressions",
  timezone: "text",
  handler: "text",
  payload: "json",
  note: "text",
  paused: "flag",
  start_at: "text",
  end_at: "text",
  anchor: "text",
  max_occurrences: "number",
  exclude: "exclusions",
  jitter_seconds: "number",
  expires_after_seconds: "number",
  dst_gap: "text",
  dst_fold: "text",
  "misfire.policy": "text",
  "misfire.window_seconds": "number",
  overlap: "text",
  max_running: "number",
  buffer_limit: "number",
  pause_on_failure: "flag",
  priority: "text",
  timeout_seconds: "number",
  "retry.max_attempts": "number",
  "retry.backoff": "text",
  "retry.base_seconds": "number",
  "retry.max_delay_seconds": "number",
  "retry.jitter": "text",
  retention_seconds: "number",
  on_lost: "text",
  tenant: "text",
  tags: "tags",
  "keep.succeeded": "number",
  "keep.failed": "number",
};

const WRITERS = {
  text: (value) => String(value),
  number: (value) => String(value),
  flag: (value) => value === true,
  json: pretty,
  expressions: (value) => [value].flat().map(oneLine).join("\n"),
  exclusions: exclusionLines,
  tags: writeTags,
};

/** What a field without a value shows, if that is not an empty text. */
const EMPTY = { flag: false, json: "null" };

const READERS = {
  text: (text) => text.trim() || undefined,
  // A text that is not a number is sent unchanged: the server's error says what is allowed.
  number: (text) => (NUMBER.test(text.trim()) ? Number(text) : text.trim() || undefined),
  flag: (value) => value || undefined,
  json: (text) => readJson(text) ?? undefined,
  exclusions: (text) => (linesOf(text).length === 0 ? undefined : parseExclusions(text)),
  tags: readTags,
};

/** Return the definition within a schedule that the server sent; a new one may leave out all fields. */
export function definitionOf(schedule) {
  const definition = withoutNulls(schedule);
  for (const field of STATE_FIELDS) {
    delete definition[field];
  }
  // The server sends the default as 1; under `allow`, chosen later, 1 would mean a bound.
  if (definition.max_running === 1 && definition.overlap !== "allow") {
    delete definition.max_running;
  }
  for (const field of ["exclude", "tags"]) {
    if (isEmpty(definition[field])) {
      delete definition[field];
    }
  }
  return definition;
}

/** Return the part of a definition that decides the scheduled times, without `max_occurrences`. */
export function ruleOf(schedule) {
  const known = RULE_FIELDS.filter((field) => (schedule[field] ?? null) !== null);
  return Object.fromEntries(known.map((field) => [field, schedule[field]]));
}

/** Return the draft that a definition fills. */
export function draftOf(definition) {
  const rest = { ...definition };
  const texts = {};
  for (const [path, kind] of Object.entries(KINDS)) {
    const value = take(rest, path);
    const isThere = value !== undefined && value !== null;
    texts[path] = isThere ? WRITERS[kind](value) : (EMPTY[kind] ?? "");
  }
  return { texts, rest, isList: Array.isArray(definition.expression), note: texts.note };
}

/** Return the definition of a draft, and the faults found in the draft itself. */
export function readDraft(draft) {
  const definition = { ...draft.rest };
  const faults = [];
  for (const [path, kind] of Object.entries(KINDS)) {
    try {
      const value = kind === "expressions" ? readExpressions(draft) : READERS[kind](draft.texts[path]);
      if (value !== undefined) {
        put(definition, path, value);
      }
    } catch (error) {
      faults.push({ field: path, message: error.message });
    }
  }
  if (draft.texts.note.trim() === "" && draft.note !== "") {
    // A note that is left out stays; an empty one removes it.
    definition.note = "";
  }
  if (hasRoundedNumber(definition.payload)) {
    faults.push({ field: "payload", message: ROUNDED });
  }
  return { definition, faults };
}

/** Return the faults that belong to a field; those of its parts name the part. */
export function faultsOf(faults, path) {
  return faults
    .filter(({ field }) => belongsTo(field, path))
    .map(({ field, message }) => (field === path ? message : `${placeIn(field, path)} ${message}`));
}

/** Return the faults that no field of the form shows. */
export function strayFaults(faults, paths = Object.keys(KINDS)) {
  return faults.filter(({ field }) => !paths.some((path) => belongsTo(field, path)));
}

/** Return faults without the prefix of the request's part, which those of a preview have. */
export function withoutPrefix(faults, prefix) {
  return faults.map(({ field, message }) => ({
    field: field.startsWith(prefix) ? field.slice(prefix.length) : field,
    message,
  }));
}

const ROUNDED =
  "contains a whole number beyond 9,007,199,254,740,991, which this browser would round:" +
  " write it as a string, or save this schedule with the command line or the API";

function readExpressions({ texts, isList }) {
  const lines = linesOf(texts.expression);
  // A list of one stays a list: to the server it is another definition.
  return lines.length > 1 || (isList && lines.length === 1) ? lines : lines[0];
}

/** Return tags as lines, or as JSON where lines would be read back as other tags. */
function writeTags(tags) {
  const text = Object.entries(tags)
    .map(([key, value]) => `${key}: ${value}`)
    .join("\n");
  try {
    return JSON.stringify(readTags(text)) === JSON.stringify(tags) ? text : pretty(tags);
  } catch {
    return pretty(tags);
  }
}

function readTags(text) {
  const lines = linesOf(text);
  if (lines.length === 0) return undefined;
  if (lines[0].startsWith("{")) return readJson(text);
  const tags = {};
  for (const line of lines) {
    const colon = line.indexOf(":");
    if (colon < 1) {
      throw new Error(`must be one "key: value" on each line; "${line.slice(0, 40)}" is not`);
    }
    // Not by assignment: a tag may be called "__proto__".
    Object.defineProperty(tags, line.slice(0, colon).trim(), {
      value: line.slice(colon + 1).trim(),
      enumerable: true,
      configurable: true,
      writable: true,
    });
  }
  return tags;
}

function readJson(text) {
  const fault = jsonFault(text);
  if (fault !== null) {
    throw new Error(`must be JSON. Line ${fault.line}, column ${fault.column}: ${fault.message}`);
  }
  return parseExact(text);
}

function belongsTo(field, path) {
  return field === path || field.startsWith(`${path}.`) || field.startsWith(`${path}[`);
}

/** Return a place such as `[2].from` below a field in words: "entry 3, from:". */
function placeIn(field, path) {
  const rest = field.slice(path.length);
  const entry = /^\[([0-9]+)\](.*)$/.exec(rest);
  if (entry === null) {
    return `${rest.replace(/^\./, "")}:`;
  }
  const part = entry[2].replace(/^\./, "");
  return `Line ${Number(entry[1]) + 1}${part === "" ? "" : `, ${part}`}:`;
}

function take(object, path) {
  const [first, second] = path.split(".");
  if (second === undefined) {
    const value = object[first];
    delete object[first];
    return value;
  }
  if (!isObject(object[first])) return undefined;
  const { [second]: value, ...others } = object[first];
  if (isEmpty(others)) delete object[first];
  else object[first] = others;
  return value;
}

function put(object, path, value) {
  const [first, second] = path.split(".");
  if (second === undefined) {
    object[first] = value;
  } else {
    object[first] = { ...object[first], [second]: value };
  }
}

function withoutNulls(value) {
  const entries = Object.entries(value).filter(([, one]) => one !== null);
  // Nulls within a payload have a meaning; those of the policies mean "not given".
  return Object.fromEntries(
    entries.map(([key, one]) =>
      key !== "payload" && key !== "tags" && isObject(one) ? [key, withoutNulls(one)] : [key, one],
    ),
  );
}

/** Whether a browser that cannot keep numbers as they are written would change one. */
function hasRoundedNumber(value) {
  if (typeof value === "number") {
    return Number.isInteger(value) && !Number.isSafeInteger(value) && Math.abs(value) < 1e21;
  }
  return typeof value === "object" && value !== null && Object.values(value).some(hasRoundedNumber);
}

function isObject(value) {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function isEmpty(value) {
  return typeof value === "object" && value !== null && Object.keys(value).length === 0;
}
