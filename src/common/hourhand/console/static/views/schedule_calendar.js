// A month of a schedule's scheduled times, day by day, by its present rule.
import { html, useEffect, useRef, useState } from "../lib/html.js";
import { post } from "../lib/api.js";
import { ErrorState, Icon } from "../lib/components.js";
import { count, counted, visible } from "../lib/format.js";
import { useNow } from "../lib/live.js";
import { changeQuery } from "../lib/router.js";
import { ruleOf } from "./schedule_definition.js";
import { densityOf, emptyMonth, FIRST_MONTH, LAST_MONTH, readMonth, shiftMonth, totalOf, weeksOf } from "./schedule_fires.js";
import { dayInZone, localWords, shortUtc } from "./schedule_words.js";

const WEEKDAYS = ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"];
const TIMES_IN_A_CELL = 3;
const FIRES_SHOWN = 100;

/** The calendar of a schedule; month and day are in the address. */
export function FireCalendar({ schedule, query }) {
  const today = dayInZone(useNow(), schedule.timezone);
  const month = monthOf(query.get("month")) ?? today.slice(0, 7);
  const rule = ruleOf(schedule);
  const { reading, error, isReading, readOn } = useMonth(rule, month);
  const day = query.get("day");
  return html`<section class="card" aria-label="Calendar of scheduled times">
    <div class="card-header calendar-header">
      <h2 id="calendar-month">${monthWords(month)} <span class="muted">${visible(schedule.timezone)}</span></h2>
      <${MonthButtons} month=${month} current=${today.slice(0, 7)} />
    </div>
    <div class="card-body calendar-body" aria-busy=${isReading}>
      <p class="muted small" role="status">${isReading ? "Reading …" : summaryOf(reading, schedule)}</p>
      <${ErrorState} error=${error} isInline onRetry=${readOn} />
      <${Grid} reading=${reading} today=${today} chosen=${day} />
      ${!isReading && !reading.isComplete && !error && html`<p><button type="button" class="button" onClick=${readOn}>Read on</button>
        <span class="muted small"> The schedule has very many scheduled times. Only the days read so far are filled in.</span></p>`}
      ${reading.warnings.map((warning) => html`<p key=${warning} class="notice">${visible(warning)}</p>`)}
      ${day?.startsWith(month) && html`<${Day} key=${day} day=${day} found=${reading.days.get(day)} />`}
    </div>
  </section>`;
}

/** Read a month's scheduled times; again when the rule or the month changes. */
function useMonth(rule, month) {
  const key = JSON.stringify([rule, month]);
  const [state, setState] = useState({ key: null, reading: emptyMonth(month), error: null, isReading: true });
  const ending = useRef(null);
  const read = async (from) => {
    ending.current?.abort();
    const mine = new AbortController();
    ending.current = mine;
    setState({ key, reading: from, error: null, isReading: true });
    const ask = (body) => post(["schedules", "preview"], body, { signal: mine.signal });
    try {
      const reading = await readMonth(from, rule, ask);
      if (!mine.signal.aborted) setState({ key, reading, error: null, isReading: false });
    } catch (error) {
      if (!mine.signal.aborted) setState({ key, reading: from, error, isReading: false });
    }
  };
  useEffect(() => {
    read(emptyMonth(month));
    return () => ending.current?.abort();
  }, [key]);
  const current = state.key === key ? state : { reading: emptyMonth(month), error: null, isReading: true };
  return { ...current, readOn: () => read(current.reading) };
}

function MonthButtons({ month, current }) {
  // Replaced in place: another month is the same view, and the page must not jump.
  const go = (to) => changeQuery({ month: to, day: "" }, { replace: true });
  return html`<div class="calendar-nav" role="group" aria-label="Months">
    <button type="button" class="button button-small" disabled=${month <= FIRST_MONTH} aria-label="Previous month"
      onClick=${() => go(shiftMonth(month, -1))}><${Icon} name="back" /></button>
    <button type="button" class="button button-small" disabled=${month === current} onClick=${() => go(current)}>This month</button>
    <button type="button" class="button button-small" disabled=${month >= LAST_MONTH} aria-label="Next month"
      onClick=${() => go(shiftMonth(month, 1))}><${Icon} name="forward" /></button>
  </div>`;
}

function Grid({ reading, today, chosen }) {
  const { month, days } = reading;
  return html`<table class="calendar" aria-labelledby="calendar-month">
    <thead><tr>${WEEKDAYS.map((name) => html`<th key=${name} scope="col"><abbr title=${name}>${name.slice(0, 3)}</abbr></th>`)}</tr></thead>
    <tbody>${weeksOf(month).map((week) => html`<tr key=${week[0]}>
      ${week.map((day) => html`<td key=${day}>${day.startsWith(month)
        ? html`<${DayCell} day=${day} found=${days.get(day)} isToday=${day === today} isChosen=${day === chosen} />`
        : ""}</td>`)}
    </tr>`)}</tbody>
  </table>`;
}

function DayCell({ day, found, isToday, isChosen }) {
  const fires = found?.fires ?? [];
  const number = html`<span class="day-number" aria-current=${isToday ? "date" : undefined}>${Number(day.slice(8))}</span>`;
  if (fires.length === 0) return html`<div class="day">${number}</div>`;
  const hasNote = fires.some((fire) => fire.note);
  const words = `${day}: ${found.isLeast ? "at least " : ""}${counted(fires.length, "scheduled time")}${hasNote ? ", the clocks change" : ""}`;
  return html`<button type="button" class=${`day day-${densityOf(fires.length)}`} aria-label=${words} aria-pressed=${isChosen}
    onClick=${() => changeQuery({ day: isChosen ? "" : day }, { replace: true })}>
    <span>${number}${hasNote ? html` <span class="day-mark" title="The clocks change">DST</span>` : ""}</span>
    ${fires.length <= TIMES_IN_A_CELL
      ? html`<span class="day-times">${fires.map((fire) => html`<span key=${fire.at}>${fire.local.slice(11, 16)}</span>`)}</span>`
      : html`<span class="day-count">${count(fires.length)}${found.isLeast ? "+" : ""}</span>`}
  </button>`;
}

function Day({ day, found }) {
  const [shown, setShown] = useState(FIRES_SHOWN);
  const fires = found?.fires ?? [];
  return html`<section class="day-list" aria-label=${`Scheduled times of ${day}`}>
    <h3>${day}: ${found?.isLeast ? "at least " : ""}${counted(fires.length, "scheduled time")}</h3>
    <ol class="fires">${fires.slice(0, shown).map((fire) => html`<li key=${fire.at}>
      <span>${localWords(fire.local)}</span> <span class="muted small">${shortUtc(fire.at)}</span>
      ${fire.note && html`<p class="notice">${visible(fire.note)}</p>`}</li>`)}</ol>
    ${fires.length > shown && html`<button type="button" class="button button-small" onClick=${() => setShown(fires.length)}>
      Show all ${count(fires.length)}</button>`}
    ${found?.isLeast && html`<p class="muted small">The calendar does not read more times of a day than these.</p>`}
  </section>`;
}

function summaryOf(reading, schedule) {
  const { count: fires, isLeast } = totalOf(reading);
  const bounds = [
    schedule.paused && "The schedule is paused: none of its future times runs until it is resumed.",
    schedule.max_occurrences && `The schedule ends after ${counted(schedule.max_occurrences, "occurrence")}. The calendar does not count them.`,
    schedule.jitter_seconds > 0 && "The calendar leaves out jitter.",
  ].filter(Boolean);
  return [`${isLeast ? "At least " : ""}${counted(fires, "scheduled time")} by the present rule.`, ...bounds].join(" ");
}

function monthOf(text) {
  const isMonth = /^[0-9]{4}-(0[1-9]|1[0-2])$/.test(text ?? "");
  return isMonth && text >= FIRST_MONTH && text <= LAST_MONTH ? text : null;
}

function monthWords(month) {
  return new Date(`${month}-01T00:00:00Z`).toLocaleDateString("en-GB", { month: "long", year: "numeric", timeZone: "UTC" });
}
