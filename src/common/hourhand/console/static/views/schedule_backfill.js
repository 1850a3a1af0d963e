// The backfill of a schedule: it asks for a range, counts its occurrences, and only then starts.
import { html, useState } from "../lib/html.js";
import { get, post } from "../lib/api.js";
import { Badge, Changes, Dialog, ErrorState, SelectField, TextField, Time, toast } from "../lib/components.js";
import { count, counted, inputTime, instantOf, visible } from "../lib/format.js";
import { usePolled, useReachable } from "../lib/live.js";
import { askToChangeBackfill } from "./schedule_actions.js";
import { timeInZone } from "./schedule_words.js";

const HOUR_MILLISECONDS = 3_600_000;
const RANGES = [["last hour", 1], ["last day", 24], ["last 7 days", 7 * 24]];
const FIRES_SHOWN = 6;
const NEWEST_SHOWN = 5;
const REFRESH_MILLISECONDS = 5000;

const ORDERS = [["oldest", "oldest first"], ["newest", "newest first"]];
const REPROCESS = [
  ["none", "only times without a job"],
  ["failed", "also times whose job did not succeed"],
  ["all", "all times, also those that succeeded"],
];
const OVERLAPS = [
  ["buffer_all", "buffer_all: one after the other"],
  ["allow", "allow: side by side"],
  ["skip", "skip"],
  ["buffer_one", "buffer_one"],
  ["cancel_other", "cancel_other"],
];

/** Ask for a backfill. `onClose` gets whether one was started. */
export function BackfillDialog({ schedule, onClose }) {
  const [asked, setAsked] = useState(firstQuestion);
  const [report, setReport] = useState(null);
  const [error, setError] = useState(null);
  const [isBusy, setBusy] = useState(false);
  const change = (changes) => {
    setAsked({ ...asked, ...changes });
    setReport(null);
    setError(null);
  };
  const send = async (isDryRun) => {
    setBusy(true);
    setError(null);
    try {
      const body = { ...bodyOf(asked), dry_run: isDryRun };
      const answer = await post(["schedules", schedule.id, "backfill"], body);
      if (isDryRun) setReport(answer);
      else end(answer);
    } catch (failure) {
      setError(failure);
    }
    setBusy(false);
  };
  const end = ({ total }) => {
    toast(`Started a backfill of ${visible(schedule.id)} with ${counted(total, "occurrence")}.`);
    onClose(true);
  };
  const submit = (event) => {
    event.preventDefault();
    send(report === null);
  };
  return html`<${Dialog} title=${`Backfill ${visible(schedule.id)}`} isWide isBusy=${isBusy} onClose=${() => onClose(false)}>
    <form onSubmit=${submit} class="backfill">
      <p class="muted">A backfill runs past occurrences now. Overlap is judged among the jobs of the backfill, not against other jobs of the schedule.</p>
      <${Newest} schedule=${schedule} />
      <${Questions} asked=${asked} change=${change} error=${error} />
      <${ErrorState} error=${error} isInline />
      ${report && html`<${Count} report=${report} asked=${asked} timezone=${schedule.timezone} />`}
      <div class="dialog-actions">
        <button type="button" class="button" disabled=${isBusy} onClick=${() => onClose(false)}>Back</button>
        <${SubmitButton} report=${report} isBusy=${isBusy} />
      </div>
    </form>
  <//>`;
}

/** The newest backfills, so that none is started twice. Without an answer, nothing is shown. */
function Newest({ schedule }) {
  const { data } = usePolled((signal) => get(["schedules", schedule.id, "backfills"], { query: { limit: NEWEST_SHOWN }, signal }),
    `backfills of ${schedule.id}`, { everyMilliseconds: REFRESH_MILLISECONDS });
  if (!data?.backfills.length) return null;
  return html`<details><summary>Newest backfills</summary><ul>
    ${data.backfills.map((one) => html`<li key=${one.id}>${one.n}: ${one.status}, ${timeInZone(one.from, schedule.timezone)} to
      ${" "}${timeInZone(one.to, schedule.timezone)}, ${count(one.done)} of ${count(one.total)} done, ${count(one.failed)} failed</li>`)}
  </ul></details>`;
}

function SubmitButton({ report, isBusy }) {
  const words = report === null ? "Count first" : `Run ${counted(report.total, "occurrence")}`;
  return html`<button type="submit" class=${`button ${report === null ? "" : "button-primary"}`}
    disabled=${isBusy || report?.total === 0 || !useReachable()}>${isBusy ? "Working …" : words}</button>`;
}

function Questions({ asked, change, error }) {
  const field = (name) => ({ value: asked[name], error: error?.of?.(name), onChange: (value) => change({ [name]: value }) });
  const choose = (hours) => {
    const now = Date.now();
    change({ from: inputTime(now - hours * HOUR_MILLISECONDS), to: inputTime(now - 1000) });
  };
  return html`<div class="chips" role="group" aria-label="Ranges">
      ${RANGES.map(([words, hours]) => html`<button key=${words} type="button" class="button button-small"
        onClick=${() => choose(hours)}>${words}</button>`)}
    </div>
    <div class="fields">
      <${TextField} label="From (your time)" type="datetime-local" step="1" required ...${field("from")} hint=${instantOf(asked.from)} />
      <${TextField} label="To (your time)" type="datetime-local" step="1" required ...${field("to")} hint=${instantOf(asked.to)} />
      <${SelectField} label="Which" options=${REPROCESS} ...${field("reprocess")} />
      <${SelectField} label="Order" options=${ORDERS} ...${field("order")} />
      <${SelectField} label="Overlap" options=${OVERLAPS} ...${field("overlap")} />
      <${TextField} label="Maximum at once" inputmode="numeric" ...${field("max_active")}
        placeholder=${asked.overlap === "allow" ? "100" : "1"} />
      <${TextField} label="Note" maxlength="1000" isWide ...${field("note")} />
    </div>`;
}

/** The result of a dry run: how many occurrences, from when to when. */
function Count({ report, asked, timezone }) {
  if (report.total === 0) return html`<p role="status"><strong>The schedule has no scheduled times in this range.</strong></p>`;
  return html`<div class="backfill-count" role="status">
    <p><strong>${counted(report.total, "occurrence")}</strong>, from ${timeInZone(report.first, timezone)} to ${timeInZone(report.last, timezone)}.
      ${asked.reprocess === "none" ? " Occurrences that already have a job are skipped." : ""}</p>
    <ol class="fires">
      ${report.fires.slice(0, FIRES_SHOWN).map(({ at }) => html`<li key=${at}>${timeInZone(at, timezone)}</li>`)}
    </ol>
    ${report.total > FIRES_SHOWN && html`<p class="muted">and ${count(report.total - FIRES_SHOWN)} more</p>`}
  </div>`;
}

/** The backfills of a schedule that are under way, their progress, and what can be done with them. */
export function BackfillsUnderWay({ schedule, refresh }) {
  const { backfills } = schedule;
  if (backfills.length === 0) return null;
  return html`<section class="card" aria-label="Backfills under way">
    <div class="card-header"><h2>Backfills under way</h2></div>
    <div class="card-body backfills">
      ${backfills.map((one) => html`<div key=${one.id}>
        <div class="progress">
          <progress max=${Math.max(one.total, 1)} value=${one.done} aria-label=${`Backfill started ${one.created_at}`}></progress>
          <span>${one.status === "paused" && html`<${Badge} tone="warning" shape="pause">Paused<//>${" "}`}
            ${count(one.done)} of ${counted(one.total, "occurrence")}</span></div>
        <p class="muted small">backfill ${one.n} · started <${Time} at=${one.created_at} /> · ${counted(one.made, "job")} created · ${count(one.skipped)} skipped
          ${one.failed > 0 && ` · ${count(one.failed)} failed`}
          · ${one.order} first · ${one.overlap} · at most ${count(one.max_active)} at once${one.note ? ` · ${visible(one.note)}` : ""}</p>
        <${BackfillButtons} schedule=${schedule} backfill=${one} refresh=${refresh} />
      </div>`)}
    </div>
  </section>`;
}

function BackfillButtons({ schedule, backfill, refresh }) {
  const ask = (verb) => async () => {
    if (await askToChangeBackfill(schedule, backfill, verb)) refresh();
  };
  const verb = backfill.status === "paused" ? "resume" : "pause";
  const of = ` backfill ${backfill.n}`;
  return html`<${Changes} label=${`Actions on${of}`}>
    <button type="button" class="button button-small" onClick=${ask(verb)}>${verb === "pause" ? "Pause" : "Resume"}${of} …</button>
    <button type="button" class="button button-small" onClick=${ask("cancel")}>Cancel${of} …</button>
  <//>`;
}

function firstQuestion() {
  const now = Date.now();
  return {
    from: inputTime(now - 24 * HOUR_MILLISECONDS),
    to: inputTime(now - 1000),
    order: "oldest",
    overlap: "buffer_all",
    reprocess: "none",
    max_active: "",
    note: "",
  };
}

function bodyOf(asked) {
  const { max_active: active, note } = asked;
  return {
    from: instantOf(asked.from),
    to: instantOf(asked.to),
    order: asked.order,
    overlap: asked.overlap,
    reprocess: asked.reprocess,
    // A text that is not a number is sent unchanged: the server's error says what is allowed.
    ...(active.trim() === "" ? {} : { max_active: /^[0-9]+$/.test(active.trim()) ? Number(active) : active }),
    ...(note.trim() === "" ? {} : { note: note.trim() }),
  };
}
