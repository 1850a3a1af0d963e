// A limit in words and numbers. Pure.
import { count, counted, duration } from "../lib/format.js";

/** Up to so many waiting jobs are counted. */
const MOST_COUNTED = 10_000;
/** A key is shown in at most so many bytes; a longer one ends with a mark, and cannot be looked up. */
const MOST_KEY_BYTES = 64;
const CUT = "…";

/** Whether each key, such as each tenant, is a limit of its own. */
export function hasKeys({ key }) {
  return key === "tenant" || key === "payload" || key.startsWith("tags.") || key.startsWith("payload.");
}

/** Return which jobs share one number: "each tenant"; "" for all jobs that have the limit. */
export function eachWords({ key }) {
  if (key === "tenant") return "each tenant";
  if (key === "payload") return "each payload";
  if (key.startsWith("tags.")) return `each value of the tag ${key.slice("tags.".length)}`;
  return key.startsWith("payload.") ? `each value of ${key}` : "";
}

/** Return a number of the limit in words: "at most 2 at a time", "100 starts in 1 min". */
export function numberWords({ kind, per_seconds: per }, number) {
  if (kind === "rate") return `${counted(number, "start")} in ${duration(per * 1000)}`;
  return number === 0 ? "no job may start" : `at most ${count(number)} at a time`;
}

/** Return {share, isFull, isOver} of the slots that are held, or null if it is not known how many are. */
export function fillOf({ max, running }) {
  if (running === null) return null;
  const share = max === 0 ? (running > 0 ? 1 : 0) : Math.min(running / max, 1);
  return { share, isFull: running >= max, isOver: running > max };
}

/** Return the number of waiting jobs: "12", or "10,000+" where counting ended. */
export function waitingWords(waiting) {
  return waiting === null ? "–" : `${count(waiting)}${waiting >= MOST_COUNTED ? "+" : ""}`;
}

/** Return the state of a limit: "paused", "full" (jobs wait for a slot), or "". */
export function stateOf(limit) {
  if (limit.kind !== "concurrency") return "";
  if (limit.max === 0) return "paused";
  return limit.waiting > 0 && fillOf(limit)?.isFull ? "full" : "";
}

/** Return the keys whose own number is 0. */
export function pausedKeys({ kind, overrides }) {
  return kind === "concurrency" ? Object.keys(overrides).filter((key) => overrides[key] === 0) : [];
}

/** Whether an operator set a number in the place of that in the code, as far as the answer shows it. */
export function isChanged({ max, declared_max: declared, overrides }) {
  return max !== declared || Object.keys(overrides).length > 0;
}

/** Whether `text` is the whole key, as it was shown with a job. */
export function isWholeKey(text) {
  return !(text.endsWith(CUT) && new TextEncoder().encode(text).length > MOST_KEY_BYTES - CUT.length - 3);
}

/** Return the bounds of a number: a rate cannot be 0, because its jobs already have start times. */
export function boundsOf({ kind }) {
  return kind === "rate" ? [1, 1_000_000] : [0, 1000];
}

/** Return the whole number that was typed, or null if the limit cannot have it. */
export function readNumber(limit, text) {
  const [lowest, highest] = boundsOf(limit);
  const number = /^\d{1,7}$/.test(text.trim()) ? Number(text) : null;
  return number !== null && number >= lowest && number <= highest ? number : null;
}

/** Return what happens if the number becomes `next`, in sentences. `onFull` is the limit's option, if it is known. */
export function effectWords(limit, next, onFull) {
  const { kind, max, running, waiting } = limit;
  if (next === max) return "This is the number that holds now.";
  if (kind === "rate") return "Jobs that have a start time keep it, until they are retimed. The others get theirs at the new rate.";
  if (next === 0) return pauseWords(onFull);
  if (running === null) return next < max ? LOWERED : "";
  if (running > next) return `${count(running)} run now. ${LOWERED} ${loweredWords(max, next)}`;
  const starting = Math.min(waiting, next - running);
  if (starting === 0) return "";
  return `${counted(starting, "waiting job")} may start: up to 1,000 at once, the others with the next sweeps, one a minute.`;
}

/** Return when further jobs start: a limit above 20 is kept in parts of 20, each of which starts jobs for itself. */
function loweredWords(max, next) {
  if (max <= 20) return `No further one starts before fewer than ${count(next)} run.`;
  return `Further ones may start before fewer than ${count(next)} run, but never more run than now.`;
}

const LOWERED = "Jobs that run go on.";

/** Return what happens while the number is 0. */
export function pauseWords(onFull) {
  const fate = {
    wait: "Jobs are accepted and wait. Jobs that run end as ever.",
    skip: "Jobs that become due meanwhile are cancelled, because of on_full=\"skip\".",
    replace_waiting: "Of the jobs that become due meanwhile the newest waits, and the others are cancelled, because of on_full=\"replace_waiting\".",
    cancel_running: "Of the jobs that become due meanwhile the newest wait, and the others are cancelled, because of on_full=\"cancel_running\". Jobs that run end as ever.",
  }[onFull] ?? "Jobs that become due meanwhile find the limit full: its option on_full decides what becomes of them.";
  return `No job that has the limit starts until it is resumed. ${fate}`;
}
