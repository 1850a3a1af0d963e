// A month of a schedule, day by day: outcomes of the past, planned times by the present rule, and exclusions by name.
import { html, useEffect, useState } from "../lib/html.js";
import { post } from "../lib/api.js";
import { Badge, ErrorState, Icon, JobId, Loading, StatusBadge } from "../lib/components.js";
import { count, counted, duration, visible } from "../lib/format.js";
import { useNow, usePolled } from "../lib/live.js";
import { address, changeQuery } from "../lib/router.js";
import { ruleOf } from "./schedule_definition.js";
import { daysOf, densityOf, FIRST_MONTH, LAST_MONTH, outcomesOf, readMonth, shiftMonth, weeksOf } from "./schedule_month.js";
import { dayInZone, localWords, reasonWords, shortTimeInZone, shortUtc } from "./schedule_words.js";

const WEEKDAYS = ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"];
const TIMES_SHOWN = 100;
const RUNS_SHOWN = 100;
const REFRESH_MILLISECONDS = 30_000;

const OUTCOMES = [
  ["good", "check", "succeeded"],
  ["bad", "cross", "dead"],
  ["active", "play", "active"],
  ["quiet", "slash", "skipped"],
  ["neutral", "question", "no longer kept"],
];

/** The calendar of a schedule; month and day are in the address. */
export function FireCalendar({ schedule, query }) {
  const today = dayInZone(useNow(), schedule.timezone);
  const month = monthOf(query.get("month")) ?? today.slice(0, 7);
  const rule = ruleOf(schedule);
  const { data, error, isLoading, refresh } = usePolled(
    (signal) => readMonth(schedule, rule, month, today, signal),
    `month ${schedule.id} ${JSON.stringify(rule)} ${month}`,
    { everyMilliseconds: REFRESH_MILLISECONDS },
  );
  const days = data && daysOf(data, schedule, today);
  const chosen = query.get("day");
  return html`<section class="card" aria-label="Calendar of scheduled times">
    <div class="card-header calendar-header">
      <h2 id="calendar-month">${monthWords(month)} <span class="muted">${visible(schedule.timezone)}</span></h2>
      <${MonthButtons} month=${month} current=${today.slice(0, 7)} />
    </div>
    <div class="card-body calendar-body" aria-busy=${isLoading}>
      <${ErrorState} error=${error} isInline onRetry=${refresh} />
      ${!data && isLoading && html`<${Loading} />`}
      ${data && html`<p class="muted small" role="status">${summaryOf(days, schedule)}</p>
        <${Grid} month=${month} days=${days} today=${today} chosen=${chosen} timezone=${schedule.timezone} />
        <${Legend} />`}
      ${data?.warnings.map((warning) => html`<p key=${warning} class="notice">${visible(warning)}</p>`)}
      ${chosen && days?.has(chosen) && html`<${Day} key=${chosen} found=${days.get(chosen)} schedule=${schedule} rule=${rule} />`}
    </div>
  </section>`;
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

function Grid({ month, days, today, chosen, timezone }) {
  return html`<table class="calendar" aria-labelledby="calendar-month">
    <thead><tr>${WEEKDAYS.map((name) => html`<th key=${name} scope="col"><abbr title=${name}>${name.slice(0, 3)}</abbr></th>`)}</tr></thead>
    <tbody>${weeksOf(month).map((week) => html`<tr key=${week[0]}>
      ${week.map((day) => html`<td key=${day}>${days.has(day)
        ? html`<${DayCell} found=${days.get(day)} isToday=${day === today} isChosen=${day === chosen} timezone=${timezone} />`
        : ""}</td>`)}
    </tr>`)}</tbody>
  </table>`;
}

function DayCell({ found, isToday, isChosen, timezone }) {
  const { day, kind, planned, runs, isForgotten } = found;
  const number = html`<span class="day-number" aria-current=${isToday ? "date" : undefined}>${Number(day.slice(8))}</span>`;
  if (kind === "before") return html`<div class="day day-before">${number}</div>`;
  const times = kind === "past" && !isForgotten ? [] : plannedTimes(found);
  const isExcluded = planned.excluded > 0 && planned.count === 0;
  const isEmpty = runs.length === 0 && times.length === 0 && !isExcluded;
  const head = html`<span class="day-head">${number}${planned.clocks_change
    ? html` <span class="day-mark" title="The clocks change">DST</span>` : ""}</span>`;
  if (isEmpty) return html`<div class="day">${head}</div>`;
  const { good, bad } = outcomesOf(runs);
  const tone = bad > 0 ? "day-bad" : good > 0 ? "day-good" : isForgotten ? "day-forgotten" : `day-${kind === "past" ? 0 : densityOf(planned.count)}`;
  return html`<button type="button" class=${`day ${tone}`} aria-pressed=${isChosen}
    onClick=${() => changeQuery({ day: isChosen ? "" : day }, { replace: true })}>
    <span class="sr-only">${dayWords(found)}. </span>
    ${head}
    ${runs.length > 0 && html`<${Outcomes} runs=${runs} />`}
    ${isExcluded && html`<span class="day-excluded">${planned.excluded_by.length > 0 ? exclusionName(planned) : "excluded"}</span>`}
    ${times.length > 0 && (planned.count <= planned.first.length
      ? html`<span class="day-times">${times.map((fire) => html`<span key=${fire.at}>${fire.local.slice(11, 16)}</span>`)}</span>`
      : html`<span class="day-count">${countWords(planned)}</span>`)}
  </button>`;
}

/** The planned times that a day shows: of today, those to come, or none if it has too many and some of them ran. */
function plannedTimes({ kind, planned, runs }) {
  if (kind !== "today") return planned.first;
  if (planned.count > planned.first.length) return runs.length > 0 ? [] : planned.first;
  return planned.first.filter(({ at }) => Date.parse(at) > Date.now());
}

function Outcomes({ runs }) {
  const sums = outcomesOf(runs);
  return html`<span class="day-outcomes">${OUTCOMES.filter(([name]) => sums[name] > 0).map(([name, shape]) => html`
    <${Badge} key=${name} tone=${name} shape=${shape}>${count(sums[name])}${isPartial(name, runs) ? "+" : ""}<//>`)}</span>`;
}

/** Whether only a part of skipped times that belong to several days is counted. */
function isPartial(name, runs) {
  return name === "quiet" && runs.some(({ isPart }) => isPart);
}

function Legend() {
  return html`<ul class="calendar-legend" aria-label="Legend">
    ${OUTCOMES.map(([name, shape, words]) => html`<li key=${name}><${Badge} tone=${name} shape=${shape}>${words}<//></li>`)}
    <li class="muted small">times without a mark are planned, by the present rule</li>
  </ul>`;
}

function dayWords(found) {
  const { day, kind, planned, runs, isForgotten } = found;
  const parts = [];
  if (runs.length > 0) {
    const sums = outcomesOf(runs);
    parts.push(OUTCOMES.filter(([name]) => sums[name] > 0).map(([name, , words]) => `${isPartial(name, runs) ? "at least " : ""}${count(sums[name])} ${words}`).join(", "));
  }
  if (planned.count > 0 && (kind !== "past" || isForgotten)) {
    const times = `${planned.is_least ? "at least " : ""}${counted(planned.count, "scheduled time")}`;
    parts.push(isForgotten ? `${times}, no longer in the history` : times);
  }
  if (planned.excluded > 0 && planned.count === 0) parts.push(`excluded by ${exclusionName(planned)}`);
  if (planned.clocks_change) parts.push("the clocks change");
  return `${day}: ${parts.join(", ")}`;
}

/** Return which calendars exclude a day, or that the schedule itself does. */
function exclusionName({ excluded_by: names }) {
  return names.length > 0 ? visible(names.join(", ")) : "the schedule";
}

function countWords({ count: number, is_least: isLeast }) {
  return isLeast && number === 0 ? "many" : `${count(number)}${isLeast ? "+" : ""}`;
}

function Day({ found, schedule, rule }) {
  const { day, kind, planned, runs, isForgotten } = found;
  const showsTimes = (kind !== "past" || isForgotten) && planned.count > 0;
  return html`<section class="day-list" aria-label=${`Scheduled times of ${day}`}>
    <h3>${dayWords(found)}</h3>
    ${planned.excluded > 0 && html`<p class="muted small">${counted(planned.excluded, "time")} excluded by ${exclusionName(planned)}.
      ${planned.excluded_by.map((name) => html` <a key=${name} href=${address(["calendars", name])}>Show the calendar ${visible(name)}</a>`)}</p>`}
    ${runs.length > 0 && html`<${Runs} runs=${runs} timezone=${schedule.timezone} />`}
    ${showsTimes && html`<${Times} planned=${planned} rule=${rule} />`}
  </section>`;
}

/** The runs of a day, each with its job. */
function Runs({ runs, timezone }) {
  return html`<ul class="day-runs">${runs.slice(0, RUNS_SHOWN).map((run) => html`<li key=${`${run.at} ${run.job_id ?? run.reason}`}>
      <span>${shortTimeInZone(run.at, timezone)}</span>
      ${run.reason
        ? html`<span title=${reasonWords(run.reason)}><${Badge} tone="quiet" shape="slash">${run.count > 1 ? `${count(run.count)} ` : ""}skipped: ${visible(run.reason)}<//></span>`
        : run.job ? html`<${StatusBadge} status=${run.job.status} />` : html`<span class="muted small">its job is no longer kept</span>`}
      ${run.job && html`<${JobId} id=${run.job_id} />
        <span class="muted small">${run.job.started_at && run.job.finished_at
          ? `took ${duration(Date.parse(run.job.finished_at) - Date.parse(run.job.started_at))}` : ""}</span>`}
    </li>`)}</ul>
    ${runs.length > RUNS_SHOWN && html`<p class="muted small">Only the newest ${count(RUNS_SHOWN)} of ${count(runs.length)} are listed.</p>`}`;
}

/** The planned times of a day, by the server. */
function Times({ planned, rule }) {
  const [fires, setFires] = useState(planned.count <= planned.first.length ? planned.first : null);
  const [error, setError] = useState(null);
  useEffect(() => {
    if (fires) return undefined;
    const ending = new AbortController();
    const after = new Date(Date.parse(planned.first[0].at) - 1).toISOString();
    post(["schedules", "preview"], { schedule: rule, count: TIMES_SHOWN, after }, { signal: ending.signal })
      .then((answer) => setFires(answer.fires.filter((fire) => fire.local.startsWith(planned.day))))
      .catch((failure) => ending.signal.aborted || setError(failure));
    return () => ending.abort();
  }, []);
  if (error) return html`<${ErrorState} error=${error} isInline />`;
  if (!fires) return html`<${Loading} rows=${2} />`;
  return html`<ol class="fires">${fires.map((fire) => html`<li key=${fire.at}>
      <span>${localWords(fire.local)}</span> <span class="muted small">${shortUtc(fire.at)}</span>
      ${fire.note && html`<p class="notice">${visible(fire.note)}</p>`}</li>`)}</ol>
    ${planned.count > fires.length && html`<p class="muted small">Only the first ${count(fires.length)} of ${countWords(planned)} are listed.</p>`}`;
}

function summaryOf(days, schedule) {
  const ahead = [...days.values()].filter(({ kind }) => kind === "ahead");
  const planned = ahead.reduce((sum, day) => sum + day.planned.count, 0);
  const isLeast = ahead.some((day) => day.planned.is_least);
  const sentences = [
    [...days.values()].every(({ kind }) => kind === "before")
      ? "The schedule did not exist in this month."
      : ahead.length > 0 && `${isLeast ? "At least " : ""}${counted(planned, "scheduled time")} to come by the present rule.`,
    [...days.values()].some(({ isForgotten }) => isForgotten) &&
      `The history keeps the newest ${count(schedule.keep.succeeded)} succeeded and ${count(schedule.keep.failed)} failed runs. Days before them show the times of the present rule.`,
    schedule.paused && "The schedule is paused: none of its future times runs until it is resumed.",
    schedule.max_occurrences && `The schedule ends after ${counted(schedule.max_occurrences, "occurrence")}. The calendar does not count them.`,
    schedule.jitter_seconds > 0 && "The calendar leaves out jitter.",
  ];
  return sentences.filter(Boolean).join(" ");
}

function monthOf(text) {
  const isMonth = /^[0-9]{4}-(0[1-9]|1[0-2])$/.test(text ?? "");
  return isMonth && text >= FIRST_MONTH && text <= LAST_MONTH ? text : null;
}

function monthWords(month) {
  return new Date(`${month}-01T00:00:00Z`).toLocaleDateString("en-GB", { month: "long", year: "numeric", timeZone: "UTC" });
}
