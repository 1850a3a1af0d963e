// The verdict on lateness: one sentence from the figures, with the reasons. Pure.
import { count, duration, relative } from "../lib/format.js";

const ON_TIME_MILLISECONDS = 1000;
const LATE_MILLISECONDS = 60_000;
const SILENT_MILLISECONDS = 180_000;

/**
 * Return {tone, headline, detail, reasons} for the answer of `GET /stats`.
 *
 * On time means what the product promises: 99 % of recent jobs started within a second of their
 * due time. The reasons name a scheduler that does not tick, and due jobs that still wait.
 */
export function verdictOf(stats, now) {
  const reasons = [...silence(stats, now), ...waiting(stats)];
  const { p99_ms: p99, sample } = stats.lateness;
  if (sample === 0) {
    const detail = "This page shows whether jobs start on time as soon as the first one has started.";
    return { ...worst("neutral", reasons), headline: "No job has started yet", detail, reasons };
  }
  const detail = `99 % of the newest ${count(sample)} jobs started within ${duration(p99)} of their due time.`;
  if (p99 <= ON_TIME_MILLISECONDS) {
    const headline = reasons.length > 0 ? "On time so far" : "On time";
    return { ...worst("good", reasons), headline, detail, reasons };
  }
  if (p99 <= LATE_MILLISECONDS) {
    return { ...worst("warning", reasons), headline: "A little late", detail, reasons };
  }
  return { tone: "bad", shape: "cross", headline: "Late", detail, reasons };
}

function worst(tone, reasons) {
  if (reasons.length > 0 && tone !== "bad") return { tone: "warning", shape: "sand" };
  return { tone, shape: { good: "check", warning: "sand", neutral: "clock" }[tone] };
}

function silence({ last_tick_at: at }, now) {
  if (!at) return ["The scheduler has not ticked yet. Scheduled jobs wait for its first tick."];
  if (now - Date.parse(at) < SILENT_MILLISECONDS) return [];
  return [`The scheduler's last tick was ${relative(at, now)}. Jobs that became due since then may be waiting for the next tick.`];
}

function waiting({ queues }) {
  return queues
    .filter(({ oldest_due_seconds: age }) => age !== null && age * 1000 > LATE_MILLISECONDS)
    .map(({ priority, oldest_due_seconds: age }) => `The oldest due job with priority ${priority} has waited ${duration(age * 1000)}.`);
}
