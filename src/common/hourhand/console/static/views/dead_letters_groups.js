// Dead jobs in groups of one handler and one error, whatever numbers and ids its message names.

/** A message is normalised no further than this: its beginning identifies the error. */
const MAX_FOLDED_CHARACTERS = 240;

/** A listing has room for so much of an error, type and message, and marks what it cut. */
const LISTED_BYTES = 40;
const CUT_MARK = "...";

const FOLDS = [
  [/\b[0-9]{4}-[0-9]{2}-[0-9]{2}([T ][0-9:.,]+(Z|[+-][0-9:]+)?)?/g, "<time>"],
  [/\b[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}\b/gi, "<id>"],
  [/\b0x[0-9a-f]+\b/gi, "<id>"],
  [/\b(?=[0-9a-f]*[0-9])(?=[0-9a-f]*[a-f])[0-9a-f]{8,}\b/gi, "<id>"],
  [/\b(?=[A-Za-z_-]*[0-9])(?=[0-9_-]*[A-Za-z])[A-Za-z0-9][A-Za-z0-9_-]{11,}\b/g, "<id>"],
  [/[0-9]+([.,][0-9]+)*/g, "<n>"],
];

/** Return a message with its times, ids and numbers replaced by marks. */
export function foldMessage(message) {
  const start = message.slice(0, MAX_FOLDED_CHARACTERS);
  const folded = FOLDS.reduce((text, [pattern, mark]) => text.replace(pattern, mark), start);
  return message.length > MAX_FOLDED_CHARACTERS ? `${folded}…` : folded;
}

/**
 * Return the groups of jobs as `GET /jobs` lists them, the one that died last first.
 *
 * A listing has only the beginning of a long error. Cut errors with the same beginning form one
 * group.
 */
export function groupDeadLetters(jobs) {
  const groups = new Map();
  const listed = jobs.map((job) => ({ job, ...errorOf(job) }));
  for (const one of listed.filter(({ isCut }) => !isCut)) {
    add(groups, one, JSON.stringify([one.job.handler, one.type, one.message]));
  }
  const beginnings = new Map();
  const cut = listed.filter(({ isCut }) => isCut).sort((one, other) => one.message.length - other.message.length);
  for (const one of cut) {
    const kind = JSON.stringify([one.job.handler, one.type]);
    const known = beginnings.get(kind) ?? [];
    const beginning = known.find((text) => one.message.startsWith(text)) ?? one.message;
    if (beginning === one.message) beginnings.set(kind, [...new Set([...known, beginning])]);
    add(groups, { ...one, message: `${beginning} …`.trim() }, JSON.stringify([kind, beginning, "cut"]));
  }
  return [...groups.values()]
    .map(withTimes)
    .sort((one, other) => other.lastAt.localeCompare(one.lastAt));
}

/** Return when a job died; API times are all of one form, so that their texts compare. */
export function diedAt(job) {
  return job.finished_at ?? job.created_at;
}

function withTimes(group) {
  const times = group.jobs.map(diedAt).sort();
  return { ...group, firstAt: times[0], lastAt: times.at(-1) };
}

function add(groups, { job, type, message }, name) {
  if (!groups.has(name)) {
    groups.set(name, { key: shortHash(name), handler: job.handler, type, message, jobs: [] });
  }
  groups.get(name).jobs.push(job);
}

function errorOf({ error }) {
  if (!error) return { type: null, message: "No error is on record.", isCut: false };
  const { type, message = "" } = error;
  if (!isCutShort(type, message)) return { type, message: foldMessage(message), isCut: false };
  const left = message.slice(0, -CUT_MARK.length);
  // The cut may have split the last word or number.
  const wholeWords = left.replace(/\S*$/, "").trimEnd();
  return { type, message: foldMessage(wholeWords || left), isCut: true };
}

function isCutShort(type, message) {
  const size = new TextEncoder().encode(`${type}: ${message}`).length;
  return message.endsWith(CUT_MARK) && size <= LISTED_BYTES && size > LISTED_BYTES - CUT_MARK.length;
}

/** Return a short name for addresses, the same for the same text (FNV-1a in two halves). */
function shortHash(text) {
  let [low, high] = [0x811c9dc5, 0x01000193];
  for (let index = 0; index < text.length; index += 1) {
    low = Math.imul(low ^ text.charCodeAt(index), 0x01000193) >>> 0;
    high = Math.imul(high ^ text.charCodeAt(index), 0x85ebca6b) >>> 0;
  }
  return low.toString(36) + high.toString(36);
}
