// The verdict on the chosen window: ticks, waiting jobs, lateness and failures, the worst one first. Pure.
import { count, counted, duration, localMinute, percent, relative } from "../lib/format.js";
import { address } from "../lib/router.js";
import { pausedKeys, stateOf, waitingWords } from "./limit_words.js";
import { longestTickGap } from "./overview_sample.js";

const ON_TIME_MILLISECONDS = 1000;
const LATE_MILLISECONDS = 60_000;
const VERY_LATE_MILLISECONDS = 600_000;
const SILENT_MILLISECONDS = 180_000;
/** Retries are normal: so many attempts, and such a share of them, must fail before it is a finding. */
const LEAST_FAILURES = 3;
const SOME_FAILURES = 0.05;
const MANY_FAILURES = 0.25;
const HANDLERS_NAMED = 4;
/** A limit makes jobs wait: so long is a finding. */
const LONG_WAIT_MILLISECONDS = 3_600_000;
const HELD_NAMED = 6;

const RANK = { bad: 3, warning: 2, good: 1, neutral: 0 };
const SHAPE = { bad: "cross", warning: "sand", good: "check", neutral: "clock" };

/**
 * Return {tone, shape, headline, checks, findings}. `checks` are always there: {name, tone, text} for
 * ticks, lateness and failures. `findings` need attention: {tone, text, to, label}, the worst one first;
 * `to` leads to the cause. `pauses` are those of handlers, by name; `limits` as the API lists them. `figures` are those of `figuresOf` for the window, `points` what was seen of `stats`.
 */
export function verdictOf({ stats, figures, points, windowWords, now, pauses = {}, limits = [] }) {
  const parts = [
    ticks(stats, points, figures.since, now),
    waiting(stats),
    lateness(figures, windowWords),
    failures(figures, windowWords),
    held(pauses, limits, now),
  ];
  const worst = parts.reduce((one, other) => (RANK[other.tone] > RANK[one.tone] ? other : one));
  const findings = parts.flatMap((part) => part.findings ?? []);
  findings.sort((one, other) => RANK[other.tone] - RANK[one.tone]);
  const isQuiet = figures.started === 0 && RANK[worst.tone] <= RANK.good;
  const headline = isQuiet ? "Quiet" : RANK[worst.tone] > RANK.good ? worst.headline : "On time";
  const tone = isQuiet ? "neutral" : worst.tone;
  return { tone, shape: SHAPE[tone], headline, checks: parts.filter(({ name }) => name), findings };
}

function ticks({ last_tick_at: at }, points, since, now) {
  const name = "Ticks";
  if (!at) {
    const text = "The scheduler has not ticked yet. Scheduled jobs wait for its first tick.";
    return { name, tone: "warning", headline: "No tick yet", text: "none yet", findings: [{ tone: "warning", text }] };
  }
  const ago = relative(at, now);
  if (now - Date.parse(at) >= SILENT_MILLISECONDS) {
    const text = `The scheduler's last tick was ${ago}. Jobs that became due since then may wait for the next tick.`;
    return { name, tone: "bad", headline: "No ticks", text: `the last one ${ago}`, findings: [{ tone: "bad", text }] };
  }
  const gap = longestTickGap(points, since);
  if (gap >= SILENT_MILLISECONDS) {
    const text = `The scheduler did not tick for ${duration(gap)} in this window. It ticks again.`;
    return { name, tone: "warning", headline: "Ticks were missing", text: `a gap of ${duration(gap)}`, findings: [{ tone: "warning", text }] };
  }
  return { name, tone: "good", text: `the last one ${ago}` };
}

function waiting({ queues }) {
  const findings = queues
    .filter(({ oldest_due_seconds: age }) => age !== null && age * 1000 > LATE_MILLISECONDS)
    .map(({ priority, oldest_due_seconds: age }) => ({
      tone: age * 1000 > VERY_LATE_MILLISECONDS ? "bad" : "warning",
      text: `The oldest due job with priority ${priority} has waited ${duration(age * 1000)}.`,
      to: address(["jobs"], { status: "ENQUEUED" }),
      label: "Show enqueued jobs",
    }));
  const tone = findings.some((finding) => finding.tone === "bad") ? "bad" : findings.length > 0 ? "warning" : "good";
  return { tone, headline: "Jobs wait", findings };
}

/** What an operator paused, and limits at which jobs wait for long: their jobs are not late, so no other check shows them. */
function held(pauses, limits, now) {
  const paused = Object.entries(pauses).map(([handler, { since, until, note }]) => ({
    tone: "warning",
    text: `${handler} was paused ${relative(since, now)}, ${until ? `until ${localMinute(until)}` : "until it is resumed"}${note ? `: ${note}` : ""}`,
    to: address(["handlers", handler]),
    label: "Show handler",
  }));
  const findings = [...paused, ...limits.map((limit) => findingOfLimit(limit, now)).filter(Boolean)];
  const isPaused = paused.length > 0 || limits.some((limit) => stateOf(limit) === "paused" || pausedKeys(limit).length > 0);
  return { tone: findings.length > 0 ? "warning" : "neutral", headline: isPaused ? "Paused" : "Jobs wait", findings: capped(findings) };
}

function findingOfLimit(limit, now) {
  const link = { to: address(["limits", limit.name]), label: "Show limit" };
  const keys = pausedKeys(limit);
  const waiting = limit.waiting > 0 ? `, ${waitingWords(limit.waiting)} ${limit.waiting === 1 ? "job waits" : "jobs wait"}` : "";
  if (stateOf(limit) === "paused") return { tone: "warning", text: `The limit ${limit.name} is paused${waiting}.`, ...link };
  if (keys.length > 0) return { tone: "warning", text: `The limit ${limit.name} is paused for ${keys.length === 1 ? `the key ${keys[0]}` : counted(keys.length, "key")}.`, ...link };
  const age = limit.oldest_waiting_at ? now - Date.parse(limit.oldest_waiting_at) : 0;
  if (age < LONG_WAIT_MILLISECONDS) return null;
  return { tone: "warning", text: `A job has waited ${duration(age)} for a slot of the limit ${limit.name}: ${count(limit.running)} of ${count(limit.max)} run${waiting}.`, ...link };
}

/** Return the first findings, and how many more there are. */
function capped(findings) {
  const more = findings.length - HELD_NAMED;
  return more > 0 ? [...findings.slice(0, HELD_NAMED), { tone: "warning", text: `${counted(more, "more handler or limit", "more handlers or limits")} hold jobs back.` }] : findings;
}

function lateness({ started, lateP99 }, windowWords) {
  const name = "Lateness";
  if (started === 0) return { name, tone: "neutral", text: `no job started in the ${windowWords}` };
  const text = `99\u00a0% of ${counted(started, "job")} started within ${duration(lateP99)} of their due time`;
  if (lateP99 <= ON_TIME_MILLISECONDS) return { name, tone: "good", text };
  const isLate = lateP99 > LATE_MILLISECONDS;
  const tone = isLate ? "bad" : "warning";
  const finding = { tone, text: `Jobs started late in the ${windowWords}: p99 is ${duration(lateP99)} after the due time.` };
  return { name, tone, headline: isLate ? "Late" : "A little late", text, findings: [finding] };
}

function failures({ ended, failed, dead, handlers }, windowWords) {
  const name = "Failures";
  if (ended === 0 && dead === 0) return { name, tone: "neutral", text: `no attempt ended in the ${windowWords}` };
  const text = `All handlers: ${count(failed)} of ${counted(ended, "attempt")} failed${shareOf(failed, ended)}, ${dead === 0 ? "no job is dead" : `${counted(dead, "job")} died`}`;
  const findings = failingHandlers(handlers);
  const tone = findings.length > 0 ? worseOf("warning", toneOfShare(failed, ended)) : toneOfShare(failed, ended);
  return { name, tone, headline: tone === "bad" ? "Failing" : "Some failures", text, findings };
}

/** Return a finding for each handler whose jobs died, or whose attempts fail too often. */
function failingHandlers(handlers) {
  const found = handlers
    .map((row) => ({ ...row, tone: row.dead > 0 ? worseOf("warning", toneOfShare(row.failed, row.ended)) : toneOfShare(row.failed, row.ended) }))
    .filter(({ tone }) => RANK[tone] > RANK.good);
  found.sort((one, other) => RANK[other.tone] - RANK[one.tone] || other.dead - one.dead || other.failed - one.failed);
  const named = found.slice(0, HANDLERS_NAMED).map(findingOf);
  const more = found.length - named.length;
  if (more === 0) return named;
  return [...named, { tone: "warning", text: `${counted(more, "more handler")} failed in this window.` }];
}

function findingOf({ tone, handler, dead, retrying, failed, ended, newestError }) {
  const share = ended > 0 ? `${count(failed)} of its ${counted(ended, "attempt")} failed${shareOf(failed, ended)}` : "";
  const error = newestError ? `: ${newestError}` : "";
  if (dead > 0) {
    const text = `${handler}: ${counted(dead, "job")} died${share ? `, ${share}` : ""}${error}`;
    return { tone, text, to: address(["dead-letters"], { handler }), label: "Show dead letters" };
  }
  const cause = retrying > 0
    ? { to: address(["jobs"], { handler, status: "RETRYING" }), label: "Show retrying jobs" }
    : { to: address(["handlers", handler]), label: "Show handler" };
  return { tone, text: `${handler}: ${share}${error}`, ...cause };
}

/** Return " (12 %)" where something failed. */
function shareOf(failed, ended) {
  return failed > 0 && ended > 0 ? ` (${percent(failed / ended)})` : "";
}

function toneOfShare(failed, ended) {
  if (failed < LEAST_FAILURES || failed < ended * SOME_FAILURES) return "good";
  return failed >= ended * MANY_FAILURES ? "bad" : "warning";
}

function worseOf(one, other) {
  return RANK[one] >= RANK[other] ? one : other;
}
