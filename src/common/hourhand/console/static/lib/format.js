// Values as words. Pure: the time is an argument, the zone is the browser's.

const SECOND = 1000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

const wholeNumber = new Intl.NumberFormat("en-GB", { maximumFractionDigits: 0 });
const localTime = new Intl.DateTimeFormat("en-GB", {
  year: "numeric", month: "short", day: "numeric", hour: "2-digit", minute: "2-digit",
  second: "2-digit", timeZoneName: "short",
});
const shortTime = new Intl.DateTimeFormat("en-GB", {
  month: "short", day: "numeric", hour: "2-digit", minute: "2-digit", second: "2-digit", timeZoneName: "short",
});
const minuteTime = new Intl.DateTimeFormat("en-GB", { month: "short", day: "numeric", hour: "2-digit", minute: "2-digit" });
const clockTime = new Intl.DateTimeFormat("en-GB", {
  hour: "2-digit", minute: "2-digit", second: "2-digit",
});

/** Return 12345 as "12,345". */
export function count(number) {
  return number == null ? "–" : wholeNumber.format(number);
}

/** Return "1 job", "2 jobs": the number and the noun in its form. */
export function counted(number, noun, plural = `${noun}s`) {
  return `${count(number)} ${number === 1 ? noun : plural}`;
}

/** Return a length of time in at most two units: "20 ms", "0.25 s", "1.4 s", "3 min 5 s", "2 d 4 h". */
export function duration(milliseconds) {
  if (milliseconds == null) return "–";
  const size = Math.abs(milliseconds);
  if (size < SECOND / 10) return `${Math.round(size)} ms`;
  if (size < SECOND) return `${digits(size / SECOND, 2)} s`;
  if (size < 10 * SECOND) return `${digits(size / SECOND, 1)} s`;
  // Half a unit less: 59.6 s is a minute, not 60 s.
  if (size < MINUTE - SECOND / 2) return `${Math.round(size / SECOND)} s`;
  if (size < HOUR - SECOND / 2) return two(size, MINUTE, "min", SECOND, "s");
  if (size < DAY - MINUTE / 2) return two(size, HOUR, "h", MINUTE, "min");
  return two(size, DAY, "d", HOUR, "h");
}

/** Return a time after the start of an axis, in the unit and with the digits that fit the whole axis: "+0.3 s". */
export function offset(milliseconds, axisMilliseconds) {
  if (axisMilliseconds < SECOND / 10) return `+${Math.round(milliseconds)} ms`;
  return `+${(milliseconds / SECOND).toFixed(axisMilliseconds < SECOND ? 2 : 1)} s`;
}

/** Return where a time lies from `now`: "in 5 min", "3 s ago", "now". */
export function relative(iso, now) {
  if (!iso) return "–";
  const distance = Date.parse(iso) - now;
  if (Math.abs(distance) < SECOND) return "now";
  const length = coarse(Math.abs(distance));
  return distance > 0 ? `in ${length}` : `${length} ago`;
}

/** Return a time in the browser's zone, whole: "21 Nov 2026, 09:00:00 CET". */
export function local(iso) {
  return iso ? localTime.format(new Date(iso)) : "–";
}

/** Return a time in the browser's zone, without its year: "21 Nov, 09:00:00 CET". */
export function localShort(iso) {
  return iso ? shortTime.format(new Date(iso)) : "–";
}

/** Return a time in the browser's zone to the minute, for axes: "21 Nov, 09:00". */
export function localMinute(iso) {
  return iso ? minuteTime.format(new Date(iso)) : "–";
}

/** Return the time of day in the browser's zone: "09:00:00". */
export function localClock(iso) {
  return iso ? clockTime.format(new Date(iso)) : "–";
}

/** Return a time of the API in words: "2026-11-21 09:00:00.000 UTC". */
export function utc(iso) {
  return iso ? new Date(iso).toISOString().replace("T", " ").replace("Z", " UTC") : "–";
}

/** Return the value of an <input type="datetime-local">, or "". */
export function inputTime(iso) {
  if (!iso) return "";
  const date = new Date(iso);
  const shifted = new Date(date.getTime() - date.getTimezoneOffset() * MINUTE);
  return shifted.toISOString().slice(0, 19);
}

/** Return the instant that an <input type="datetime-local"> names, in the API's form, or "". */
export function instantOf(inputValue) {
  const date = new Date(inputValue);
  return inputValue && !Number.isNaN(date.getTime()) ? date.toISOString() : "";
}

/** Return a size: "812 B", "4.2 KB". */
export function bytes(size) {
  if (size < 1000) return `${size} B`;
  return size < 1_000_000 ? `${digits(size / 1000, 1)} KB` : `${digits(size / 1_000_000, 1)} MB`;
}

/** Return a share of one as "99 %", which no line break splits; never 100 % for less than all, nor 0 % for more than none. */
export function percent(share) {
  if (share > 0.99 && share < 1) return `${(Math.floor(share * 1000) / 10).toFixed(1)}\u00a0%`;
  if (share > 0 && share < 0.01) return `${(Math.ceil(share * 1000) / 10).toFixed(1)}\u00a0%`;
  return `${Math.round(share * 100)}\u00a0%`;
}

/**
 * Return text with what cannot be seen made visible: control characters, and those that turn the
 * direction of what follows, by which a text could pose as another. Lines and tabs stay, and what
 * joins letters (and emoji) where a script needs it.
 */
export function visible(text) {
  return String(text).replace(
    /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u2069\ufeff]/g,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
}

/** Return `text` in at most `most` characters, with a mark where it was cut. */
export function shorten(text, most) {
  return text.length > most ? `${text.slice(0, most - 1)}…` : text;
}

function coarse(size) {
  if (size < MINUTE) return `${Math.round(size / SECOND)} s`;
  if (size < HOUR) return `${Math.round(size / MINUTE)} min`;
  if (size < 2 * DAY) return `${Math.round(size / HOUR)} h`;
  return `${Math.round(size / DAY)} d`;
}

function two(size, large, largeName, small, smallName) {
  const rounded = Math.round(size / small) * small;
  const whole = Math.floor(rounded / large);
  const rest = Math.round((rounded - whole * large) / small);
  return rest ? `${whole} ${largeName} ${rest} ${smallName}` : `${whole} ${largeName}`;
}

function digits(number, most) {
  return String(Number(number.toFixed(most)));
}
