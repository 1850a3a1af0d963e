// The page of one schedule: its state, its occurrences, its scheduled times and its definition.
import { html, useState } from "../lib/html.js";
import { get } from "../lib/api.js";
import {
  Badge, Changes, EmptyState, ErrorState, Icon, JsonView, LiveSwitch, Loading, Page, Time,
} from "../lib/components.js";
import { count, counted, duration, visible } from "../lib/format.js";
import { useKey } from "../lib/keys.js";
import { usePolled } from "../lib/live.js";
import { HandlerPauseNotice } from "../lib/pauses.js";
import { address, navigate } from "../lib/router.js";
import { askToDelete, askToPause, askToResume, askToTrigger } from "./schedule_actions.js";
import { BackfillDialog, BackfillsUnderWay } from "./schedule_backfill.js";
import { FireCalendar } from "./schedule_calendar.js";
import { definitionOf } from "./schedule_definition.js";
import { mayChange } from "./schedule_leaving.js";
import { Grid } from "./schedule_grid.js";
import { Occurrences } from "./schedule_occurrences.js";
import { misfireWords, originWords, overlapWords, resumeWords, Rule, ScheduleBadge, ZonedTime } from "./schedule_words.js";

export const routes = [{ pattern: "/schedules/:id", view: ScheduleView, section: "schedules" }];

const REFRESH_MILLISECONDS = 5000;
const TABS = [["", "Occurrences"], ["grid", "Grid"], ["calendar", "Calendar"], ["definition", "Definition"]];

function ScheduleView({ id, query }) {
  const [asked, setAsked] = useState(0);
  const { data: schedule, error, isLoading, refresh: readAgain } = usePolled(
    (signal) => get(["schedules", id], { signal, exactFields: ["payload"] }),
    `schedule ${id}`,
    { everyMilliseconds: REFRESH_MILLISECONDS },
  );
  const refresh = () => {
    readAgain();
    setAsked((times) => times + 1);
  };
  useKey("r", "refresh", refresh);
  const heading = html`<bdi>${visible(id)}</bdi> ${schedule && html`<${ScheduleBadge} status=${schedule.status} />`}`;
  const actions = schedule && html`<${LiveSwitch} onRefresh=${refresh} /><${Actions} schedule=${schedule} refresh=${refresh} />`;
  return html`<${Page} title=${`Schedule ${visible(id)}`} heading=${heading} actions=${actions}>
    ${error?.status === 404 ? html`<${Missing} id=${id} />` : html`<${ErrorState} error=${error} isInline onRetry=${refresh} />`}
    ${isLoading && html`<${Loading} />`}
    ${schedule && error?.status !== 404 && html`
      <${HandlerPauseNotice} name=${schedule.handler}>This schedule goes on to create its jobs, and they wait.<//>
      <${Summary} schedule=${schedule} />
      <${BackfillsUnderWay} schedule=${schedule} refresh=${refresh} />
      <${Tabs} id=${id} current=${query.get("tab") ?? ""} />
      <${Part} schedule=${schedule} query=${query} asked=${asked} />`}
  <//>`;
}

function Missing({ id }) {
  return html`<${EmptyState} title="This schedule does not exist" icon="search">
    <p>No schedule has the ID ${visible(id)}. It may have been deleted. <a href=${address(["schedules"])}>Show all schedules</a>.</p>
  <//>`;
}

function Actions({ schedule, refresh }) {
  const [isBackfilling, setBackfilling] = useState(false);
  const ask = (question) => async () => {
    if (await question(schedule)) refresh();
  };
  const erase = async () => {
    if (await askToDelete(schedule)) navigate(address(["schedules"]));
  };
  const end = (isStarted) => {
    setBackfilling(false);
    if (isStarted) refresh();
  };
  useKey("e", "edit the schedule", () => mayChange() && navigate(address(["schedules", schedule.id, "edit"])));
  return html`<${Changes} label="Actions">
    <button type="button" class="button" onClick=${ask(askToTrigger)}><${Icon} name="play" />Run now …</button>
    ${schedule.paused
      ? html`<button type="button" class="button" onClick=${ask(askToResume)}><${Icon} name="play" />Resume …</button>`
      : html`<button type="button" class="button" onClick=${ask(askToPause)}><${Icon} name="pause" />Pause …</button>`}
    <button type="button" class="button" onClick=${() => setBackfilling(true)}><${Icon} name="clock" />Backfill …</button>
    <a class="button" href=${address(["schedules", schedule.id, "edit"])}><${Icon} name="edit" />Edit</a>
    <button type="button" class="button" onClick=${erase}><${Icon} name="trash" />Delete …</button>
  <//>
  ${isBackfilling && html`<${BackfillDialog} schedule=${schedule} onClose=${end} />`}`;
}

function Summary({ schedule }) {
  const { broken_reason: broken, note, timezone } = schedule;
  const origin = originWords(schedule.managed_by);
  return html`<section class="card" aria-label="State"><div class="card-body">
    ${broken && html`<p class="schedule-note"><${Badge} tone="bad">Broken<//>${" "}<bdi>${visible(broken)}</bdi></p>`}
    ${note && html`<p class="schedule-note">
      <${Badge} tone=${schedule.paused ? "warning" : "neutral"}>Note<//>${" "}<bdi>${visible(note)}</bdi></p>`}
    ${origin && html`<p class="notice schedule-note">${managedWords(schedule.managed_by)}</p>`}
    <dl class="facts">
      <${Fact} title="When"><${Rule} schedule=${schedule} /><//>
      <${Fact} title="Next"><${ZonedTime} at=${schedule.next_at} timezone=${timezone} /><//>
      ${schedule.behind_seconds != null && html`<${Fact} title="Behind"><${Badge} tone="warning">${duration(schedule.behind_seconds * 1000)}<//><//>`}
      ${schedule.on_resume && html`<${Fact} title="On resume">${resumeWords(schedule.on_resume)}<//>`}
      <${Fact} title="Last"><${ZonedTime} at=${schedule.last_occurrence} timezone=${timezone} /><//>
      ${schedule.paused_at && html`<${Fact} title="Paused"><${ZonedTime} at=${schedule.paused_at} timezone=${timezone} /><//>`}
      <${Fact} title="Handler"><a href=${address(["handlers", schedule.handler])}><bdi>${visible(schedule.handler)}</bdi></a><//>
      ${origin && html`<${Fact} title="Managed by">${origin}<//>`}
      <${Fact} title="Jobs"><a href=${address(["jobs"], { schedule_id: schedule.id })}>Show its jobs</a><//>
      ${schedule.max_occurrences && html`<${Fact} title="Ends after">${counted(schedule.max_occurrences, "occurrence")}
        <span class="muted"> ${count(schedule.occurrences_made)} created so far</span><//>`}
      <${Fact} title="Overlap"><span title=${overlapWords(schedule.overlap)}>${schedule.overlap}</span>
        ${schedule.max_running && html`<span class="muted">, at most ${count(schedule.max_running)} at once</span>`}<//>
      <${Fact} title="Missed"><span title=${misfireWords(schedule.misfire.policy)}>${schedule.misfire.policy}</span>
        <span class="muted">, within ${duration(schedule.misfire.window_seconds * 1000)}</span><//>
      ${schedule.expires_after_seconds != null && html`<${Fact} title="Starts within">${duration(schedule.expires_after_seconds * 1000)}<//>`}
      ${schedule.jitter_seconds > 0 && html`<${Fact} title="Jitter">up to ${duration(schedule.jitter_seconds * 1000)}<//>`}
      <${Fact} title="Changed"><${Time} at=${schedule.updated_at} /><//>
    </dl>
  </div></section>`;
}

/** What happens to a change here of a schedule that is declared elsewhere. */
function managedWords(managedBy) {
  if (managedBy === "code") return "This schedule is declared in code. The next deployment replaces what is changed here.";
  if (managedBy.startsWith("files:")) return "This schedule is declared in files. The next apply of these files replaces what is changed here.";
  return `This schedule is managed by ${visible(managedBy)}.`;
}

function Fact({ title, children }) {
  return html`<div><dt>${title}</dt><dd>${children}</dd></div>`;
}

function Tabs({ id, current }) {
  return html`<nav class="tabs" aria-label="Parts of the schedule">
    ${TABS.map(([tab, title]) => html`<a key=${tab} class="tab" href=${address(["schedules", id], { tab })}
      aria-current=${tab === current ? "page" : undefined}>${title}</a>`)}
  </nav>`;
}

function Part({ schedule, query, asked }) {
  const tab = query.get("tab") ?? "";
  if (tab === "grid") return html`<${Grid} schedule=${schedule} query=${query} asked=${asked} />`;
  if (tab === "calendar") return html`<${FireCalendar} schedule=${schedule} query=${query} />`;
  if (tab === "definition") return html`<${Definition} schedule=${schedule} />`;
  return html`<${Occurrences} schedule=${schedule} cursor=${query.get("cursor")} asked=${asked} />`;
}

function Definition({ schedule }) {
  return html`<section class="card">
    <div class="card-header"><h2>Definition</h2></div>
    <div class="card-body"><${JsonView} value=${definitionOf(schedule)} label="the definition" />
      <p class="definition-foot changes">
        <a class="button button-small" href=${address(["new-schedule"], { from: schedule.id })}>Duplicate as a new one</a>
      </p>
    </div>
  </section>`;
}
