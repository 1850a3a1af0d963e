// Schedules in words and badges: their state, their policies, times in their own zone.
import { html } from "../lib/html.js";
import { Badge } from "../lib/components.js";
import { count, counted, local, relative, shorten, utc, visible } from "../lib/format.js";
import { useNow } from "../lib/live.js";
import { isRate, ruleWords } from "./schedule_rule.js";

const STATES = {
  active: { tone: "good", shape: "clock", word: "Active" },
  paused: { tone: "warning", shape: "pause", word: "Paused" },
  broken: { tone: "bad", shape: "cross", word: "Broken" },
  ended: { tone: "quiet", shape: "slash", word: "Ended" },
};

const OVERLAPS = {
  skip: "While a run is active, new runs are skipped",
  allow: "Runs may overlap",
  buffer_one: "While a run is active, one run waits, and further runs are skipped",
  buffer_all: "While a run is active, all other runs wait, in order",
  cancel_other: "A new run asks the active run to stop",
};

const MISFIRES = {
  latest: "Of the runs missed in an outage or a pause, only the newest runs",
  all: "Every run missed in an outage or a pause runs, in order",
  earliest: "Of the runs missed in an outage or a pause, only the oldest runs",
  skip: "Runs missed in an outage or a pause are skipped",
};

const TIME = {
  weekday: "short", month: "short", day: "numeric", hour: "2-digit", minute: "2-digit", second: "2-digit", timeZoneName: "short",
};
const WITHOUT_SECONDS = { ...TIME, second: undefined };
/** Zones whose texts were made, which costs a browser about a millisecond each. */
const formats = new Map();

const EXPRESSION_CHARACTERS = 60;

const REASONS = {
  misfire: "Missed in an outage. The misfire policy ran another occurrence, or none",
  window: "Missed earlier than the misfire window allows",
  paused: "The schedule or its backfill was paused",
  excluded: "Excluded by a date, a range, an expression or a calendar",
  overlap: "The previous run was still active",
  "buffer full": "The previous run was still active, and the buffer was full",
  replaced: "The schedule was changed before it started",
  deleted: "The schedule was deleted before it started",
  "backfill cancelled": "Its backfill was cancelled before it started",
  late: "It had not started within the time that the schedule allows",
};

/** The state of a schedule: active, paused, broken or ended. */
export function ScheduleBadge({ status }) {
  const { tone, shape, word } = STATES[status] ?? { tone: "neutral", shape: "question", word: status };
  return html`<${Badge} tone=${tone} shape=${shape}>${word}<//>`;
}

/** The overlap and misfire policies of a schedule, except the defaults; hovering describes them. */
export function Policies({ schedule: { overlap, misfire } }) {
  const policies = [
    overlap !== "skip" && html`<span key="overlap" title=${overlapWords(overlap)}>overlap: ${overlap}</span>`,
    misfire.policy !== "latest" && html`<span key="missed" title=${misfireWords(misfire.policy)}>missed: ${misfire.policy}</span>`,
  ].filter(Boolean);
  return policies.length > 0 && html`<span class="muted small nowrap">${policies.flatMap((one, index) => (index ? [" · ", one] : [one]))}</span>`;
}

/** When a schedule runs: in words where they say it exactly, and as it is written, with its zone. A rate has none: it is elapsed time. */
export function Rule({ schedule }) {
  const expressions = [schedule.expression].flat();
  return html`<span class="rule">
    ${expressions.map((text, index) => html`<${Expression} key=${index} text=${text} />`)}
    ${!expressions.every(isRate) && html`<span class="muted small">${visible(schedule.timezone)}</span>`}
  </span>`;
}

function Expression({ text }) {
  const words = ruleWords(text);
  const written = html`<code title=${visible(text)}><bdi>${visible(shorten(text, EXPRESSION_CHARACTERS))}</bdi></code>`;
  return words ? html`<span class="rule-words">${words}</span><span class="rule-written">${written}</span>` : written;
}

/** A time from now and, below it, in the zone of a schedule; a dash if there is none. `isShort`: without its year. */
export function ZonedTime({ at, timezone, isShort = false }) {
  const now = useNow();
  if (!at) return html`<span class="muted none">–</span>`;
  return html`<time class="zoned" dateTime=${at} title=${`${local(at)}\n${utc(at)}`}>
    <span>${relative(at, now)}</span><span class="muted small">${(isShort ? shortTimeInZone : timeInZone)(at, timezone)}</span></time>`;
}

/** Return what manages a schedule in words: "code", "files: billing"; null if people do. */
export function originWords(managedBy) {
  return managedBy ? visible(managedBy.replace(/^files:/, "files: ")) : null;
}

/** Return what a schedule does when times overlap, as a sentence. */
export function overlapWords(overlap) {
  return OVERLAPS[overlap] ?? overlap;
}

/** Return what a schedule does about missed times, as a sentence. */
export function misfireWords(policy) {
  return MISFIRES[policy] ?? policy;
}

/** Return what a resume would do about the times that the pause missed. */
export function resumeWords({ runs, skipped, is_least: isLeast }) {
  return `${isLeast ? "at least " : ""}${counted(runs, "missed time")} would run, ${count(skipped)} would be skipped`;
}

/** Return why an occurrence has no job, or why its job did not run, as a sentence. */
export function reasonWords(reason) {
  return REASONS[reason] ?? reason;
}

/** Return a time in a zone: "Fri, 25 Dec 2026, 06:00:00 CET"; in UTC where the browser lacks it. */
export function timeInZone(iso, timezone) {
  return formatIn(timezone, { ...TIME, year: "numeric" }).format(new Date(iso));
}

/** Return a time in a zone without its year, and without its seconds where they are none, for narrow places. */
export function shortTimeInZone(iso, timezone) {
  const format = new Date(iso).getUTCSeconds() === 0 ? WITHOUT_SECONDS : TIME;
  return formatIn(timezone, format).format(new Date(iso));
}

/** Return a time in a zone in few characters, for the columns of a grid: "21 Nov, 09:00". */
export function columnTime(iso, timezone) {
  return formatIn(timezone, { month: "short", day: "numeric", hour: "2-digit", minute: "2-digit" }).format(new Date(iso));
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

/** Return a local time of the API ("2026-12-25T06:00:00.000+01:00") as words. */
export function localWords(local) {
  const [day, time] = local.split("T");
  const weekday = new Date(`${day}T00:00:00Z`).toLocaleDateString("en-GB", { weekday: "short", timeZone: "UTC" });
  const [, clock, offset] = /^([0-9:]+)(?:\.[0-9]+)?(.*)$/.exec(time);
  return `${weekday} ${day} ${clock.replace(/:00$/, "")} ${offset === "Z" ? "+00:00" : offset}`;
}

function formatIn(timezone, options) {
  const key = `${timezone} ${JSON.stringify(options)}`;
  if (!formats.has(key)) formats.set(key, newFormat(timezone, options));
  return formats.get(key);
}

function newFormat(timezone, options) {
  try {
    return new Intl.DateTimeFormat("en-GB", { ...options, timeZone: timezone });
  } catch {
    return new Intl.DateTimeFormat("en-GB", { ...options, timeZone: "UTC" });
  }
}
