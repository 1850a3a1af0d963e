// A month of a schedule: what became of the past, what is planned, and what is excluded. Pure, but for `readMonth`.
//
// Days are those of the schedule's zone. Planned times come from the server, by the present rule. What became of
// past times comes from the schedule's history.
import { collectPage, post } from "../lib/api.js";
import { dayInZone } from "./schedule_words.js";

export const FIRST_MONTH = "1970-02";
export const LAST_MONTH = "2199-12";

const A_DAY_MS = 86_400_000;
const OCCURRENCES_A_READ = 1000;

const ENDED_OTHERWISE = ["CANCELLED", "EXPIRED"];

/** The numbers of times a day at which a day is drawn one step denser: any, hourly or more, ... */
const DENSITIES = [1, 4, 25, 289];

/** Return the month (`2026-11`) so many months later. */
export function shiftMonth(month, months) {
  const [year, number] = month.split("-").map(Number);
  return new Date(Date.UTC(year, number - 1 + months, 1)).toISOString().slice(0, 7);
}

/** Return the weeks of a month, Monday first: seven days each, those of other months too. */
export function weeksOf(month) {
  const first = Date.parse(`${month}-01T00:00:00Z`);
  const end = Date.parse(`${shiftMonth(month, 1)}-01T00:00:00Z`);
  const weekday = (new Date(first).getUTCDay() + 6) % 7;
  const weeks = [];
  for (let monday = first - weekday * A_DAY_MS; monday < end; monday += 7 * A_DAY_MS) {
    weeks.push(Array.from({ length: 7 }, (_, index) => dayOf(monday + index * A_DAY_MS)));
  }
  return weeks;
}

/** Return how dense a day is, from 0 (none) to 4 (more often than every five minutes). */
export function densityOf(count) {
  return DENSITIES.filter((least) => count >= least).length;
}

/** Read a month of a schedule: {days, warnings} of the preview, and the {occurrences, isWhole} of its past. */
export async function readMonth(schedule, rule, month, today, signal) {
  const asked = { schedule: rule, count: 1, month };
  const isAhead = month > today.slice(0, 7);
  const [{ days, warnings }, past] = await Promise.all([
    post(["schedules", "preview"], asked, { signal }),
    isAhead
      ? { items: [], nextCursor: null }
      : collectPage(["schedules", schedule.id, "occurrences"], "occurrences", { limit: OCCURRENCES_A_READ, signal }),
  ]);
  return { days, warnings, occurrences: past.items, isWhole: !past.nextCursor };
}

/**
 * Return the days of a month by their names. Each: {day, kind, planned, runs}. `kind`: "before" (the schedule
 * did not exist), "past", "today" or "ahead"; `runs` are the occurrences of the day, the newest first.
 * `isForgotten`: the history no longer has that day.
 */
export function daysOf({ days, occurrences, isWhole }, { created_at: createdAt, timezone, keep }, today) {
  const created = dayInZone(Date.parse(createdAt), timezone);
  const byDay = runsByDay(occurrences, timezone);
  const isCut = !isWhole || isFull(occurrences, keep);
  // The history has the newest runs: days before the oldest of them may have had others.
  const oldest = [...byDay.keys()].sort()[0] ?? today;
  return new Map(days.map((planned) => {
    const { day } = planned;
    const runs = byDay.get(day) ?? [];
    const kind = day < created && runs.length === 0 ? "before" : day < today ? "past" : day === today ? "today" : "ahead";
    return [day, { day, kind, planned, runs, isForgotten: kind === "past" && isCut && day < oldest && planned.count > 0 }];
  }));
}

/** Return the numbers of a day's runs by outcome: {good, bad, active, quiet, neutral (the job is no longer kept)}. */
export function outcomesOf(runs) {
  const sums = { good: 0, bad: 0, active: 0, quiet: 0, neutral: 0 };
  for (const { job, reason, count } of runs) {
    if (reason) sums.quiet += count;
    else if (!job) sums.neutral += 1;
    else if (job.status === "SUCCEEDED") sums.good += 1;
    else if (job.status === "DEAD") sums.bad += 1;
    else if (ENDED_OTHERWISE.includes(job.status)) sums.quiet += 1;
    else sums.active += 1;
  }
  return sums;
}

/** Whether a history has as many ended jobs as it lists at most: the server counts a job that is gone as succeeded. */
function isFull(occurrences, keep) {
  const jobs = occurrences.filter(({ reason }) => !reason).map(({ job }) => job);
  const succeeded = jobs.filter((job) => !job || job.status === "SUCCEEDED").length;
  const failed = jobs.filter((job) => job && ["DEAD", ...ENDED_OTHERWISE].includes(job.status)).length;
  return succeeded >= keep.succeeded || failed >= keep.failed;
}

/** A run of skipped times belongs to each day from its first time to its last. */
function runsByDay(occurrences, timezone) {
  const byDay = new Map();
  const add = (day, run) => byDay.set(day, [...(byDay.get(day) ?? []), run]);
  for (const run of occurrences) {
    const first = dayInZone(Date.parse(run.at), timezone);
    const last = run.until ? dayInZone(Date.parse(run.until), timezone) : first;
    if (first === last) add(first, run);
    else for (let at = first; at <= last; at = dayOf(Date.parse(`${at}T00:00:00Z`) + A_DAY_MS)) add(at, { ...run, count: 1, isPart: true });
  }
  return byDay;
}

function dayOf(milliseconds) {
  return new Date(milliseconds).toISOString().slice(0, 10);
}
