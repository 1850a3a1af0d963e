// Statistics of the newest jobs: series for the plots, sums for the tables. Pure.

const MOST_JOBS = 3000;
const BINS = 30;
const NICE_SECONDS = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 21_600, 43_200, 86_400];
const NICE_MILLISECONDS = NICE_SECONDS.map((seconds) => seconds * 1000);
const FAILURES = ["FAILED", "TIMED_OUT", "LOST"];

/** Return the sample with the jobs that were read; beyond the limit, the oldest are removed. */
export function merge(sample, jobs) {
  const merged = new Map(sample);
  for (const job of jobs) merged.set(job.id, job);
  if (merged.size <= MOST_JOBS) return merged;
  const newest = [...merged.values()].sort((a, b) => (a.created_at < b.created_at ? 1 : -1));
  return new Map(newest.slice(0, MOST_JOBS).map((job) => [job.id, job]));
}

/**
 * Return the jobs with `since`, the creation of the oldest in milliseconds, and `coveredSince`:
 * the sample covers no time before that. It is 0 if the sample holds every job.
 */
export function sampleOf(jobs, isWhole) {
  const oldest = jobs.reduce((first, job) => (job.created_at < first ? job.created_at : first), jobs[0]?.created_at ?? "");
  const since = oldest ? Date.parse(oldest) : Date.now();
  const isAll = isWhole && jobs.length < MOST_JOBS;
  return { jobs, since, coveredSince: isAll ? 0 : since };
}

/** Return the bins that the last `milliseconds` are divided into, `most` at most; see `sampleOf` for `coveredSince`. */
export function binsOf(now, milliseconds, coveredSince, most = BINS) {
  const step = NICE_MILLISECONDS.find((nice) => nice * most >= milliseconds) ?? NICE_MILLISECONDS.at(-1);
  const count = Math.ceil(milliseconds / step);
  // Whole steps: what is drawn does not wander with each second.
  return { start: (Math.floor(now / step) - count + 1) * step, step, count, coveredSince, now };
}

/** Return how much of the window the sample covers. */
export function coveredMilliseconds({ start, coveredSince, now, step }) {
  return Math.max(now - Math.max(start, coveredSince), step);
}

/** Return the sum of what each queue counts under `name`; null where one of them was not counted. */
export function sumOf(queues, name) {
  return queues.reduce((all, queue) => (all === null || queue[name] === null ? null : all + queue[name]), 0);
}

/** Return where the bins begin and end, in milliseconds. */
export function spanOf({ start, step, count }) {
  return [start, start + step * count];
}

/** Return the middle of each bin, in milliseconds. */
export function timesOf({ start, step, count }) {
  return Array.from({ length: count }, (_, index) => start + (index + 0.5) * step);
}

/** Return the p50 and p99 of lateness in each bin, by when the jobs started; null for none. */
export function latenessSeries(jobs, bins) {
  const values = Array.from({ length: bins.count }, () => []);
  for (const job of jobs) {
    if (job.lateness_ms === null) continue;
    const bin = binAt(Date.parse(job.run_at) + job.lateness_ms, bins);
    if (bin !== null) values[bin].push(job.lateness_ms);
  }
  for (const bin of values) bin.sort((a, b) => a - b);
  return { p50: values.map((bin) => percentile(bin, 50)), p99: values.map((bin) => percentile(bin, 99)) };
}

/** Return how many attempts ended well, and how many failed, in each bin; null where none is known. */
export function endsSeries(jobs, bins) {
  const good = timesOf(bins).map((middle) => (middle + bins.step / 2 < bins.coveredSince ? null : 0));
  const bad = [...good];
  for (const { outcome, finished_at: at } of attemptsOf(jobs)) {
    const bin = at ? binAt(Date.parse(at), bins) : null;
    if (bin === null || good[bin] === null) continue;
    if (outcome === "SUCCEEDED") good[bin] += 1;
    else if (FAILURES.includes(outcome)) bad[bin] += 1;
  }
  return { good, bad };
}

/**
 * Return what happened since `since`, in milliseconds: `started` and the p50 and p99 of their lateness;
 * attempts that `ended` and `failed`; jobs that are `dead` and not discarded, or `retrying`; and the same by handler.
 */
export function figuresOf(jobs, since) {
  const late = [];
  const rows = new Map();
  const rowOf = (handler) => {
    if (!rows.has(handler)) rows.set(handler, { handler, ended: 0, failed: 0, dead: 0, retrying: 0, newestError: null, errorAt: 0 });
    return rows.get(handler);
  };
  for (const job of jobs) {
    if (job.lateness_ms !== null && Date.parse(job.run_at) + job.lateness_ms >= since) late.push(job.lateness_ms);
    for (const attempt of job.attempts) noteEnd(rowOf(job.handler), job, attempt, since);
    if (job.status === "DEAD" && !job.discarded_at && lastEnd(job) >= since) rowOf(job.handler).dead += 1;
    if (job.status === "RETRYING") rowOf(job.handler).retrying += 1;
  }
  late.sort((a, b) => a - b);
  const handlers = [...rows.values()];
  const sum = (name) => handlers.reduce((all, row) => all + row[name], 0);
  return {
    since, started: late.length, lateP50: percentile(late, 50), lateP99: percentile(late, 99),
    ended: sum("ended"), failed: sum("failed"), dead: sum("dead"), handlers,
  };
}

/** Return the longest time without a tick since `since` that was seen, in milliseconds. */
export function longestTickGap(points, since) {
  const ticks = points.map(({ tick }) => tick).filter((tick) => tick !== null && tick >= since);
  return ticks.reduce((longest, tick, index) => Math.max(longest, index > 0 ? tick - ticks[index - 1] : 0), 0);
}

/** Return for each bin what the heat strip shows: jobs that started, how late, and attempts that failed. */
export function heatOf(jobs, bins) {
  const started = Array.from({ length: bins.count }, () => 0);
  for (const { lateness_ms: late, run_at: at } of jobs) {
    const bin = late === null ? null : binAt(Date.parse(at) + late, bins);
    if (bin !== null) started[bin] += 1;
  }
  const { p99 } = latenessSeries(jobs, bins);
  const { good, bad } = endsSeries(jobs, bins);
  return timesOf(bins).map((middle, index) => ({
    at: middle - bins.step / 2,
    isKnown: good[index] !== null,
    started: started[index],
    late: p99[index],
    ended: (good[index] ?? 0) + (bad[index] ?? 0),
    failed: bad[index] ?? 0,
  }));
}

/** Return one row a handler: attempts, failures, p50 of their length, p99 of lateness; busiest first. */
export function byHandler(jobs) {
  const rows = new Map();
  for (const job of jobs) {
    const row = rows.get(job.handler) ?? { handler: job.handler, jobs: 0, dead: 0, ended: 0, failed: 0, took: [], late: [] };
    rows.set(job.handler, row);
    row.jobs += 1;
    row.dead += job.status === "DEAD" && !job.discarded_at ? 1 : 0;
    if (job.lateness_ms !== null) row.late.push(job.lateness_ms);
    for (const attempt of attemptsOf([job])) addAttempt(row, attempt);
  }
  for (const row of rows.values()) {
    row.took.sort((a, b) => a - b);
    row.late.sort((a, b) => a - b);
  }
  return [...rows.values()]
    .map((row) => ({ ...row, tookP50: percentile(row.took, 50), lateP99: percentile(row.late, 99) }))
    .sort((a, b) => b.jobs - a.jobs);
}

/** Return the newest jobs whose last attempt failed, newest failure first. */
export function failuresOf(jobs, most) {
  const failed = jobs.filter((job) => job.error && ["DEAD", "RETRYING"].includes(job.status));
  return failed.sort((a, b) => lastEnd(b) - lastEnd(a)).slice(0, most);
}

/** Return the value that at least `percent` % of `ordered` (ascending) do not exceed, or null. */
function percentile(ordered, percent) {
  if (ordered.length === 0) return null;
  return ordered[Math.max(0, Math.ceil((ordered.length * percent) / 100) - 1)];
}

function noteEnd(row, job, { outcome, finished_at: at, error }, since) {
  const ended = at ? Date.parse(at) : 0;
  if (!outcome || ended < since) return;
  row.ended += 1;
  if (!FAILURES.includes(outcome)) return;
  row.failed += 1;
  if (ended < row.errorAt) return;
  row.errorAt = ended;
  row.newestError = error?.type ?? job.error?.type ?? null;
}

function addAttempt(row, { outcome, started_at: begun, finished_at: ended }) {
  if (!outcome) return;
  row.ended += 1;
  if (FAILURES.includes(outcome)) row.failed += 1;
  if (begun && ended) row.took.push(Date.parse(ended) - Date.parse(begun));
}

function attemptsOf(jobs) {
  return jobs.flatMap((job) => job.attempts);
}

function lastEnd(job) {
  return Date.parse(job.attempts.at(-1)?.finished_at ?? job.created_at);
}

function binAt(instant, { start, step, count }) {
  const bin = Math.floor((instant - start) / step);
  return bin >= 0 && bin < count ? bin : null;
}
