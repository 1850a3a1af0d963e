// The scheduled times of each day of a month, computed by the server.
//
// Days are those of the schedule's zone by the server's zone data: the browser's may differ.

export const MAX_FIRES_A_PAGE = 1000;

/** Requests that a month may send before the page offers to read on. */
export const MAX_PAGES_A_READ = 12;

export const FIRST_MONTH = "1970-02";
export const LAST_MONTH = "2199-12";

/** The numbers of times a day at which a day is drawn one step denser: any, hourly or more, ... */
const DENSITIES = [1, 4, 25, 289];

const A_DAY_MS = 86_400_000;

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

/** Return a month of which nothing is read yet. */
export function emptyMonth(month) {
  return { month, days: new Map(), warnings: [], isComplete: false, resume: null };
}

/**
 * Read on, from where `reading` ended, for a bounded number of requests.
 *
 * `ask` takes the body of `POST /schedules/preview`. `days` maps a day to its `fires` and whether
 * these are only the first of it (`isLeast`): a day that fills a page is not read any further.
 */
export async function readMonth(reading, rule, ask) {
  const { month } = reading;
  const starts = reading.resume?.starts ?? (await readDayStarts(month, rule.timezone ?? "UTC", ask));
  const next = {
    ...reading,
    days: new Map(reading.days),
    warnings: [...reading.warnings],
    isComplete: starts.length === 0,
  };
  let after = reading.resume?.after ?? justBefore(starts[0]?.at);
  for (let page = 0; page < MAX_PAGES_A_READ && !next.isComplete; page += 1) {
    const found = await ask({ schedule: rule, count: MAX_FIRES_A_PAGE, after });
    addWarnings(next.warnings, found.warnings);
    const inMonth = found.fires.filter((fire) => dayOfFire(fire).startsWith(month));
    addFires(next.days, inMonth);
    next.isComplete = inMonth.length < MAX_FIRES_A_PAGE;
    if (!next.isComplete) {
      after = placeAfter(next.days, inMonth, starts);
      next.isComplete = after === null;
    }
  }
  next.resume = next.isComplete ? null : { after, starts };
  return next;
}

/** Return how many scheduled times a month has so far; `isLeast`: it has more. */
export function totalOf(reading) {
  const days = [...reading.days.values()];
  return {
    count: days.reduce((sum, day) => sum + day.fires.length, 0),
    isLeast: !reading.isComplete || days.some((day) => day.isLeast),
  };
}

/** Return how dense a day is, from 0 (none) to 4 (more often than every five minutes). */
export function densityOf(count) {
  return DENSITIES.filter((least) => count >= least).length;
}

/** The first instant of each day of the month, in the zone: found by a daily schedule's rule. */
async function readDayStarts(month, timezone, ask) {
  const days = weeksOf(month).flat().filter((day) => day.startsWith(month));
  const after = new Date(Date.parse(`${month}-01T00:00:00Z`) - 2 * A_DAY_MS).toISOString();
  const { fires } = await ask({
    schedule: { expression: "0 0 * * *", timezone },
    count: days.length + 4,
    after,
  });
  return fires
    .map((fire) => ({ at: fire.at, day: dayOfFire(fire) }))
    .filter(({ day }) => day.startsWith(month));
}

function addFires(days, fires) {
  for (const fire of fires) {
    const day = dayOfFire(fire);
    if (!days.has(day)) {
      days.set(day, { fires: [], isLeast: false });
    }
    days.get(day).fires.push(fire);
  }
}

/** Return where to read on. A page within one day ends that day: what else it has is left out. */
function placeAfter(days, fires, starts) {
  const last = fires.at(-1);
  const day = dayOfFire(last);
  if (dayOfFire(fires[0]) !== day) {
    return last.at;
  }
  days.get(day).isLeast = true;
  const nextDay = starts.find((start) => start.day > day);
  return nextDay === undefined ? null : justBefore(nextDay.at);
}

function addWarnings(known, found) {
  for (const warning of found) {
    if (!known.includes(warning)) {
      known.push(warning);
    }
  }
}

function justBefore(at) {
  return at === undefined ? null : new Date(Date.parse(at) - 1).toISOString();
}

function dayOfFire(fire) {
  return fire.local.slice(0, 10);
}

function dayOf(ms) {
  return new Date(ms).toISOString().slice(0, 10);
}
