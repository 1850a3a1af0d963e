// The expressions of a schedule in words: "Weekdays at 06:00". Pure.
//
// Only what the words say exactly becomes words; every other expression is shown as it is written.

const WEEKDAYS = ["Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"];
const SHORT_WEEKDAYS = WEEKDAYS.map((name) => name.slice(0, 3).toUpperCase());
const MONTHS = [
  "January", "February", "March", "April", "May", "June",
  "July", "August", "September", "October", "November", "December",
];
const SHORT_MONTHS = MONTHS.map((name) => name.slice(0, 3).toUpperCase());
const PLACES = ["", "first", "second", "third", "fourth", "fifth"];

/** More times of a day than these are not listed. */
const MOST_TIMES = 6;

const MACROS = {
  "@hourly": "0 * * * *",
  "@daily": "0 0 * * *",
  "@midnight": "0 0 * * *",
  "@weekly": "0 0 * * 0",
  "@monthly": "0 0 1 * *",
  "@yearly": "0 0 1 1 *",
  "@annually": "0 0 1 1 *",
};

const ANY = ["*", "?"];

/** Whether an expression is a rate: time that elapses, whatever a clock shows. */
export function isRate(expression) {
  return /^\s*rate\(/i.test(expression);
}

/** Return an expression in words, or null where no words say it exactly. */
export function ruleWords(expression) {
  const text = expression.trim().replace(/\s+/g, " ");
  const rate = /^rate\(\s*([0-9]+) (second|minute|hour|day|week)s?\s*\)$/i.exec(text);
  if (rate) return every(Number(rate[1]), rate[2].toLowerCase());
  const every_ = /^every\(\s*([0-9]+) (day|week|month)s?\s*\)$/i.exec(text);
  if (every_) return `${every(Number(every_[1]), every_[2].toLowerCase())}, at the time of its anchor`;
  const at = /^at\(\s*([0-9]{4}-[0-9]{2}-[0-9]{2})T([0-9:]{5,8})\s*\)$/i.exec(text);
  if (at) return `Once, on ${dateWords(at[1])} at ${at[2]}`;
  const aws = /^cron\((.*)\)$/i.exec(text);
  if (aws) return awsWords(aws[1].trim().split(" "));
  return unixWords((MACROS[text.toLowerCase()] ?? text).split(" "));
}

function awsWords(fields) {
  if (fields.length !== 6) return null;
  const [minute, hour, day, month, weekday, year] = fields;
  // In AWS's dialect, Sunday is 1.
  const words = cronWords({ second: "0", minute, hour, day, month, weekday, firstWeekday: 1 });
  if (words === null || ANY.includes(year)) return words;
  return /^[0-9]{4}$/.test(year) ? `${words} in ${year}` : null;
}

function unixWords(fields) {
  if (fields.length !== 5 && fields.length !== 6) return null;
  const [second, minute, hour, day, month, weekday] = fields.length === 6 ? fields : ["0", ...fields];
  return cronWords({ second, minute, hour, day, month, weekday, firstWeekday: 0 });
}

function cronWords({ second, minute, hour, day, month, weekday, firstWeekday }) {
  const time = timeWords(second, minute, hour);
  const days = dayWords(day, weekday, firstWeekday);
  const months = monthWords(month);
  if (time === null || days === null || months === null) return null;
  const words = time.isTimes
    ? `${days === "" ? (months === "" ? "Every day" : "Daily") : days} at ${time.words}`
    : `${time.words}${days === "" ? "" : ` on ${lowered(days)}`}`;
  return `${words}${months === "" ? "" : ` in ${months}`}`;
}

/** Return {words, isTimes}: times of the day ("06:00 and 18:00"), or a rhythm ("Every 5 minutes"). */
function timeWords(second, minute, hour) {
  const rhythm = (words) => ({ words, isTimes: false });
  const isEveryHour = hour === "*";
  if (second === "*" || /^\*\/[0-9]+$/.test(second)) {
    return minute === "*" && isEveryHour ? rhythm(stepWords(second, "second", 60)) : null;
  }
  const seconds = listOf(second, 0, 59);
  if (seconds?.length !== 1) return null;
  const tail = seconds[0] === 0 ? "" : `:${two(seconds[0])}`;
  if (minute === "*" || /^\*\/[0-9]+$/.test(minute)) {
    const words = tail === "" ? stepWords(minute, "minute", 60) : null;
    if (words === null || isEveryHour) return words && rhythm(words);
    const range = /^([0-9]+)(?:-([0-9]+))?$/.exec(hour);
    return range ? rhythm(`${words} from ${two(range[1])}:00 to ${two(range[2] ?? range[1])}:59`) : null;
  }
  const minutes = listOf(minute, 0, 59);
  if (minutes === null) return null;
  const marks = minutes.map((one) => `:${two(one)}${tail}`);
  if (isEveryHour || /^\*\/[0-9]+$/.test(hour)) {
    const words = stepWords(hour, "hour", 24);
    const isOnTheHour = minutes.length === 1 && minutes[0] === 0 && tail === "";
    return words === null || marks.length > MOST_TIMES ? null : rhythm(isOnTheHour ? words : `${words} at ${listed(marks)}`);
  }
  const range = /^([0-9]+)-([0-9]+)$/.exec(hour);
  if (range && minutes.length === 1 && Number(range[2]) - Number(range[1]) >= 3) {
    const [from, to] = [range[1], range[2]].map((one) => `${two(one)}:${two(minutes[0])}${tail}`);
    return rhythm(`Every hour from ${from} to ${to}`);
  }
  const times = listOf(hour, 0, 23)?.flatMap((one) => marks.map((mark) => `${two(one)}${mark}`));
  return times && times.length <= MOST_TIMES ? { words: listed(times), isTimes: true } : null;
}

/** Return "Every 5 minutes" for a step that divides the whole, else null: it would not be even. */
function stepWords(field, unit, whole) {
  const step = field === "*" ? 1 : Number(field.slice(2));
  return step > 0 && whole % step === 0 ? every(step, unit) : null;
}

function dayWords(day, weekday, firstWeekday) {
  const [isAnyDay, isAnyWeekday] = [ANY.includes(day), ANY.includes(weekday)];
  if (isAnyDay && isAnyWeekday) return "";
  const days = isAnyDay ? "" : daysOfMonth(day);
  const weekdays = isAnyWeekday ? "" : daysOfWeek(weekday.toUpperCase(), firstWeekday);
  if (days === null || weekdays === null) return null;
  if (isAnyDay) return weekdays;
  // Unix cron runs if either of the two fields fits.
  return isAnyWeekday ? days : `${days}, and ${lowered(weekdays)},`;
}

function daysOfMonth(day) {
  if (day === "L") return "The last day of the month";
  if (/^(LW|WL)$/.test(day)) return "The last weekday of the month";
  const nearest = /^([0-9]+)W$/.exec(day);
  if (nearest) return `The weekday nearest to day ${Number(nearest[1])} of the month`;
  const days = listOf(day, 1, 31);
  if (days === null || days.length > MOST_TIMES) return null;
  return `${days.length === 1 ? "Day" : "Days"} ${listed(days.map(String))} of the month`;
}

function daysOfWeek(weekday, firstWeekday) {
  const number = (text) => {
    const named = SHORT_WEEKDAYS.indexOf(text);
    if (named >= 0) return named;
    const found = /^[0-9]$/.test(text) ? Number(text) - firstWeekday : -1;
    return found >= 0 && found <= 7 ? found % 7 : null;
  };
  const [placed, last] = [/^(\w+)#([1-5])$/.exec(weekday), /^(\w+)L$/.exec(weekday)];
  const special = placed ?? last;
  if (special) {
    const name = WEEKDAYS[number(special[1]) ?? -1];
    return name ? `The ${placed ? PLACES[Number(placed[2])] : "last"} ${name} of the month` : null;
  }
  const chosen = new Set();
  for (const part of weekday.split(",")) {
    const [from, to, ...rest] = part.split("-").map(number);
    if (from == null || to === null || rest.length > 0) return null;
    for (let at = from; ; at = (at + 1) % 7) {
      chosen.add(at);
      if (at === (to ?? from)) break;
    }
  }
  if (chosen.size === 7) return "";
  // Monday first.
  const order = [1, 2, 3, 4, 5, 6, 0].filter((at) => chosen.has(at));
  const key = order.join("");
  if (key === "12345") return "Weekdays";
  if (key === "60") return "Weekends";
  return listed(order.map((at) => `${WEEKDAYS[at]}s`));
}

function monthWords(month) {
  if (ANY.includes(month)) return "";
  const upper = SHORT_MONTHS.reduce((text, name, index) => text.replaceAll(name, String(index + 1)), month.toUpperCase());
  const months = listOf(upper, 1, 12);
  return months && listed(months.map((one) => MONTHS[one - 1]));
}

/** Return the numbers of a field of numbers, ranges and lists, or null for anything else. */
function listOf(field, least, most) {
  const numbers = [];
  for (const part of field.split(",")) {
    const range = /^([0-9]+)(?:-([0-9]+))?$/.exec(part);
    if (!range) return null;
    const [from, to] = [Number(range[1]), Number(range[2] ?? range[1])];
    if (from < least || to > most || from > to) return null;
    for (let at = from; at <= to; at += 1) numbers.push(at);
  }
  return [...new Set(numbers)].sort((a, b) => a - b);
}

function every(number, unit) {
  return number === 1 ? `Every ${unit}` : `Every ${number} ${unit}s`;
}

/** Return "a", "a and b", "a, b and c". */
function listed(words) {
  return words.length < 2 ? words.join("") : `${words.slice(0, -1).join(", ")} and ${words.at(-1)}`;
}

/** Return words as they go on within a sentence. The names of days keep their capital letter. */
function lowered(words) {
  const isName = WEEKDAYS.some((name) => words.startsWith(name));
  return isName ? words : words.charAt(0).toLowerCase() + words.slice(1);
}

function two(number) {
  return String(Number(number)).padStart(2, "0");
}

function dateWords(day) {
  const format = { day: "numeric", month: "short", year: "numeric", timeZone: "UTC" };
  return new Date(`${day}T00:00:00Z`).toLocaleDateString("en-GB", format);
}
