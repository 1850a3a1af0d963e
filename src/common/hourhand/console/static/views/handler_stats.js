// Figures of a sample of jobs: how long attempts took, and how many failed. Pure.

const FAILURES = ["FAILED", "TIMED_OUT", "LOST"];

/** Return {jobs, ended, failed, dead, p50, p95, since}: of the jobs' ended attempts; times in milliseconds. */
export function statsOf(jobs) {
  const attempts = jobs.flatMap((job) => job.attempts).filter(({ outcome }) => outcome);
  const took = attempts
    .filter(({ started_at: begun, finished_at: ended }) => begun && ended)
    .map(({ started_at: begun, finished_at: ended }) => Date.parse(ended) - Date.parse(begun))
    .sort((a, b) => a - b);
  return {
    jobs: jobs.length,
    ended: attempts.length,
    failed: attempts.filter(({ outcome }) => FAILURES.includes(outcome)).length,
    dead: jobs.filter(({ status, discarded_at: discarded }) => status === "DEAD" && !discarded).length,
    p50: percentile(took, 50),
    p95: percentile(took, 95),
    since: jobs.reduce((oldest, job) => (!oldest || job.created_at < oldest ? job.created_at : oldest), null),
  };
}

/** Return the jobs of each handler. */
export function byHandler(jobs) {
  const groups = new Map();
  for (const job of jobs) groups.set(job.handler, [...(groups.get(job.handler) ?? []), job]);
  return groups;
}

/** Return the value that at least `percent` % of `ordered` (ascending) do not exceed, or null. */
function percentile(ordered, percent) {
  if (ordered.length === 0) return null;
  return ordered[Math.max(0, Math.ceil((ordered.length * percent) / 100) - 1)];
}
