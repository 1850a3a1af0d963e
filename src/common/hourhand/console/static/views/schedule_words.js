// Schedules in words and badges: their state, their policies, times in their own zone.
import { html } from "../lib/html.js";
import { Badge } from "../lib/components.js";
import { shorten, utc, visible } from "../lib/format.js";

const STATES = {
  active: { tone: "good", shape: "clock", word: "Active" },
  paused: { tone: "warning", shape: "pause", word: "Paused" },
  broken: { tone: "bad", shape: "cross", word: "Broken" },
  ended: { tone: "quiet", shape: "slash", word: "Ended" },
};

const OVERLAPS = {
  skip: "While one still runs, a new one is skipped",
  allow: "They may run side by side",
  buffer_one: "While one still runs, one waits; further ones are skipped",
  buffer_all: "While one still runs, the others wait in line",
  cancel_other: "A new one asks the one that runs to stop",
};

const MISFIRES = {
  latest: "Of those missed in an outage or a pause, the newest runs",
  all: "Each one missed in an outage or a pause runs, in order",
  earliest: "Of those missed in an outage or a pause, the oldest runs",
  skip: "Those missed in an outage or a pause do not run",
};

const TIME = {
  weekday: "short", month: "short", day: "numeric", hour: "2-digit", minute: "2-digit", second: "2-digit", timeZoneName: "short",
};

const EXPRESSION_CHARACTERS = 60;

const REASONS = {
  misfire: "Missed in an outage; its misfire policy ran another one, or none",
  window: "Missed longer ago than its misfire window",
  paused: "The schedule was paused",
  excluded: "Excluded by a date, a range, an expression or a calendar",
  overlap: "One before it was still running",
  "buffer full": "One before it was running, and no more could wait",
  replaced: "The schedule was changed before it started",
  deleted: "The schedule was deleted before it started",
};

/** The state of a schedule: active, paused, broken or ended. */
export function ScheduleBadge({ status }) {
  const { tone, shape, word } = STATES[status] ?? { tone: "neutral", shape: "question", word: status };
  return html`<${Badge} tone=${tone} shape=${shape}>${word}<//>`;
}

/** What a schedule does about overlaps and missed times, at a glance; hovering tells it whole. */
export function Policies({ schedule: { overlap, misfire } }) {
  return html`<span class="muted small nowrap">
    <span title=${overlapWords(overlap)}>overlap: ${overlap}</span>${" · "}
    <span title=${misfireWords(misfire.policy)}>missed: ${misfire.policy}</span>
  </span>`;
}

/** The expressions of a schedule, one below the other, and their zone. */
export function Rule({ schedule }) {
  return html`<span class="rule">
    ${[schedule.expression].flat().map((text, index) => html`<code key=${index} title=${visible(text)}>
      <bdi>${visible(shorten(text, EXPRESSION_CHARACTERS))}</bdi></code>`)}
    <span class="muted small">${visible(schedule.timezone)}</span>
  </span>`;
}

/** Return what a schedule does when times overlap, as a sentence. */
export function overlapWords(overlap) {
  return OVERLAPS[overlap] ?? overlap;
}

/** Return what a schedule does about missed times, as a sentence. */
export function misfireWords(policy) {
  return MISFIRES[policy] ?? policy;
}

/** Return why an occurrence has no job, or why its job did not run, as a sentence. */
export function reasonWords(reason) {
  return REASONS[reason] ?? reason;
}

/** Return a time in a zone: "Fri, 25 Dec 2026, 06:00:00 CET"; in UTC where the browser lacks it. */
export function timeInZone(iso, timezone) {
  return formatIn(timezone, { ...TIME, year: "numeric" }).format(new Date(iso));
}

/** Return a time in a zone without its year, for narrow places. */
export function shortTimeInZone(iso, timezone) {
  return formatIn(timezone, TIME).format(new Date(iso));
}

/** Return a time in UTC, its milliseconds left out where there are none. */
export function shortUtc(iso) {
  return utc(iso).replace(/\.000 UTC$/, " UTC");
}

/** Return the day ("2026-11-21") that it is in a zone at a time in milliseconds. */
export function dayInZone(now, timezone) {
  const parts = formatIn(timezone, { year: "numeric", month: "2-digit", day: "2-digit" }).formatToParts(new Date(now));
  const part = (type) => parts.find((one) => one.type === type).value;
  return `${part("year")}-${part("month")}-${part("day")}`;
}

/** Return a local time as the API tells it ("2026-12-25T06:00:00.000+01:00") for people. */
export function localWords(local) {
  const [day, time] = local.split("T");
  const weekday = new Date(`${day}T00:00:00Z`).toLocaleDateString("en-GB", { weekday: "short", timeZone: "UTC" });
  const [, clock, offset] = /^([0-9:]+)(?:\.[0-9]+)?(.*)$/.exec(time);
  return `${weekday} ${day} ${clock.replace(/:00$/, "")} ${offset === "Z" ? "+00:00" : offset}`;
}

function formatIn(timezone, options) {
  try {
    return new Intl.DateTimeFormat("en-GB", { ...options, timeZone: timezone });
  } catch {
    return new Intl.DateTimeFormat("en-GB", { ...options, timeZone: "UTC" });
  }
}
