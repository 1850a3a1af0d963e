// What a job waits for beside its time: a slot of a limit or of its schedule, a start of a rate, or the end of its handler's pause.
import { html } from "../lib/html.js";
import { Badge, Time } from "../lib/components.js";
import { count, counted, visible } from "../lib/format.js";
import { useHandler } from "../lib/handlers.js";
import { HandlerPauseNotice, usePause } from "../lib/pauses.js";
import { address } from "../lib/router.js";
import { WAITING } from "./jobs_query.js";
import { isWholeKey } from "./limit_words.js";

/** The reason of the event with which a job gets the start time of a rate. */
const RATE_REASON = /^the rate of .+ is reached$/;

/** What a durable run waits for, by the kind of its wait. */
const RUN_WORDS = { time: "the end of a sleep or of a retry's delay", signal: "a signal", callback: "a callback", children: "its children" };

/** Return what a job waits for: "pause", "limit", "schedule", "rate", "run" (a call of a durable run), "other" (a kind of wait that the console does not know), or null. */
export function waitOf({ handler, waits_for: waits, reserved_start: start }) {
  if (!waits) return start ? "rate" : null;
  if (waits.kind in RUN_WORDS) return "run";
  if (waits.limit === `${handler}.pause`) return "pause";
  if (waits.kind !== "slot") return "other";
  return waits.limit === null ? "schedule" : "limit";
}

/** Says that a job waits for a slot or for a start, or that its handler is paused: then no job of it starts, whether it is parked or not. */
export function WaitBadge({ job }) {
  const pause = usePause(job.handler);
  const wait = waitOf(job);
  if (wait === "pause" || (pause && WAITING.includes(job.status))) {
    return html`<${Badge} tone="warning" shape="pause" title="Its handler is paused">Handler paused<//>`;
  }
  return wait && html`<${Badge} tone="warning" shape=${wait === "rate" ? "clock" : "queue"} title=${visible(titleOf(job, wait))}>Waits<//>`;
}

/** For lists: below the badge, what the job waits for, and since when. */
export function WaitLine({ job }) {
  const wait = waitOf(job);
  if (!wait || wait === "pause") return null;
  if (wait === "rate") return html`<span class="small muted wait-line">its rate, <${Time} at=${job.reserved_start} /></span>`;
  const { limit, since, name } = job.waits_for;
  return html`<span class="small muted wait-line">${wait === "limit"
    ? html`<a href=${address(["limits", limit])}><bdi>${visible(limit)}</bdi></a>, ` : wait === "schedule" ? "its schedule, " : name ? html`<bdi>${visible(name)}</bdi>, ` : ""}
    ${since && html`<${Time} at=${since} />`}</span>`;
}

/** For the page of a job: what it waits for, in sentences, and where that can be changed. */
export function WaitNotice({ job, events }) {
  const wait = waitOf(job);
  return html`${WAITING.includes(job.status) && html`<${HandlerPauseNotice} name=${job.handler}>
      This job does not start before.${wait === "pause" && job.waits_for.position !== null && html` <${Place} waits=${job.waits_for} />`}<//>`}
    ${wait === "rate" && html`<p class="notice pause-notice">
      ${rateSentence(events)} The job starts <${Time} at=${job.reserved_start} form="both" />.</p>`}
    ${wait && !["pause", "rate"].includes(wait) && html`<p class="notice pause-notice">
      <${Sentence} job=${job} wait=${wait} /> ${wait !== "run" && html`<${Place} waits=${job.waits_for} />`}</p>`}`;
}

/** For the page of a dead job: that it may keep a slot, so that the jobs behind it wait. */
export function KeptSlots({ job: { handler, status } }) {
  const limits = useHandler(status === "DEAD" ? handler : "")?.limits?.filter(({ holds }) => holds === "success") ?? [];
  if (limits.length === 0) return null;
  return html`<p class="notice">A dead job keeps its slot of ${limits.map(({ name }, index) => html`${index > 0 && ", "}<a key=${name}
    href=${address(["limits", name])}><bdi>${visible(name)}</bdi></a>`)} until it succeeds, so the jobs behind it wait. Redrive it, or free its slot
    on the page of the limit.</p>`;
}

function Sentence({ job, wait }) {
  const { limit, key, since, kind, name, max_running: most, blocked_by: by } = job.waits_for;
  const from = since && html` since <${Time} at=${since} form="both" />`;
  const running = most == null ? "" : most === 0 ? " No job may start there now." : ` At most ${counted(most, "job")} ${most === 1 ? "runs" : "run"} there at a time.`;
  if (wait === "schedule") {
    return html`This job waits for a slot of its schedule${job.schedule_id && html` <a href=${address(["schedules", job.schedule_id])}><bdi>${visible(job.schedule_id)}</bdi></a>`}${from}.${running}`;
  }
  if (wait === "run") {
    const what = name ? html`${RUN_WORDS[kind]}, <bdi class="mono">${visible(name)}</bdi>,` : kind === "children" ? RUN_WORDS[kind] : "several calls";
    return html`This run waits for ${what}${from}. It has no worker and no message meanwhile.`;
  }
  if (wait === "other") return html`This job waits for: ${visible(kind)}${from}.`;
  const place = address(["limits", limit], { key: key !== null && isWholeKey(key) ? key : "" });
  return html`This job waits for a slot of the limit <a href=${place}><bdi>${visible(limit)}</bdi></a>${key !== null && html`, key <bdi class="mono">${visible(key)}</bdi>,`}${from}.${running}${by &&
    html` Its ancestor <a href=${address(["jobs", by])}><bdi class="mono">${visible(by)}</bdi></a> holds a slot.`}`;
}

/** The place of a job among those that wait. */
function Place({ waits: { position } }) {
  if (position === null) return html`<span>Its position is beyond 100, or not known yet.</span>`;
  const before = position - 1;
  return html`<span>It is at position <strong>${count(position)}</strong>: ${before === 0 ? "the next one" : `${counted(before, "job")} ${before === 1 ? "is" : "are"} before it`}.</span>`;
}

function titleOf({ waits_for: waits }, wait) {
  return {
    run: `It waits for ${RUN_WORDS[waits?.kind]}${waits?.name ? `, ${waits.name}` : ""}`,
    limit: `It waits for a slot of ${waits?.limit}`, schedule: "It waits for a slot of its schedule",
    rate: "The rate of its limit is reached: it waits for the start time that it got",
  }[wait] ?? `It waits for: ${waits.kind}`;
}

/** Return which rate is reached: only the history names it. */
function rateSentence(events) {
  const reason = events.findLast(({ reason: why }) => RATE_REASON.test(why ?? ""))?.reason ?? "the rate of a limit is reached";
  return `T${visible(reason).slice(1)}.`;
}
