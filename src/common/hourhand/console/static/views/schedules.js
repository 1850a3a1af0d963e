// The list of schedules, with their state and their next scheduled times.
import { html } from "../lib/html.js";
import { collectPage } from "../lib/api.js";
import { Changes, EmptyState, Icon } from "../lib/components.js";
import { shorten, visible } from "../lib/format.js";
import { HandlerPaused } from "../lib/pauses.js";
import { address } from "../lib/router.js";
import { FilteredTable, NamedList } from "./named_list.js";
import { routes as editorRoutes } from "./schedule_editor.js";
import { routes as scheduleRoutes } from "./schedule.js";
import { askToPause, askToResume, askToTrigger } from "./schedule_actions.js";
import { LastOutcome, RunBars, RUNS_SHOWN } from "./schedule_runs.js";
import { originWords, Policies, Rule, ScheduleBadge, ZonedTime } from "./schedule_words.js";

export const routes = [
  { pattern: "/schedules", view: SchedulesView, section: "schedules" },
  ...editorRoutes,
  ...scheduleRoutes,
];

const SCHEDULES_A_PAGE = 50;
const REFRESH_MILLISECONDS = 5000;
/** Each refresh reads up to a thousand jobs, which cost money in a deployment. */
const DEPLOYED_MILLISECONDS = 30_000;
const NOTE_CHARACTERS = 80;
const STATES = [["", "any"], ["active", "active"], ["paused", "paused"], ["broken", "broken"], ["ended", "ended"]];

function SchedulesView({ query }) {
  const action = html`<a class="button button-primary changes" href=${address(["new-schedule"])}><${Icon} name="plus" />New schedule</a>`;
  return html`<${NamedList} title="Schedules" plural="schedules" query=${query}
    read=${(page) => collectPage(["schedules"], "schedules", { ...page, query: { recent: RUNS_SHOWN }, limit: SCHEDULES_A_PAGE })}
    everyMilliseconds=${REFRESH_MILLISECONDS} deployedMilliseconds=${DEPLOYED_MILLISECONDS} action=${action} none=${NoSchedules}>
    ${(data, refresh) => html`<${FilteredTable} data=${data} noun="schedule" query=${query} placeholder="ID, handler, note or origin" states=${STATES}
      caption="Schedules by ID" columns=${columnsOf(refresh)} nameOf=${({ id }) => id} isInState=${({ status }, state) => status === state}
      textsOf=${({ id, handler, note, managed_by: origin }) => [id, handler, note ?? "", origin ?? ""]} />`}
  <//>`;
}

function NoSchedules() {
  return html`<${EmptyState} title="No schedules yet" icon="schedules">
    <p>A schedule creates jobs at the times of an expression, such as <code>0 6 * * MON-FRI</code>.</p>
    <p class="changes"><a class="button button-primary" href=${address(["new-schedule"])}>Create a schedule</a></p>
  <//>`;
}

function columnsOf(refresh) {
  return [
    { title: "Schedule", cell: (schedule) => html`<${Name} schedule=${schedule} />` },
    { title: "State", cell: ({ status }) => html`<${ScheduleBadge} status=${status} />` },
    {
      title: "When",
      cell: (schedule) => html`<span class="schedule-when"><${Rule} schedule=${schedule} /><${Policies} schedule=${schedule} /></span>`,
    },
    { title: "Next", className: "cell-moment", cell: ({ next_at: at, timezone }) => html`<${ZonedTime} at=${at} timezone=${timezone} isShort />` },
    {
      title: "Newest runs",
      className: "cell-runs",
      cell: ({ recent = [], timezone }) => html`<span class="runs-cell"><${RunBars} runs=${recent} timezone=${timezone} /><${LastOutcome} runs=${recent} /></span>`,
    },
    { title: "Actions", className: "cell-actions changes", cell: (schedule) => html`<${QuickActions} schedule=${schedule} refresh=${refresh} />` },
  ];
}

function Name({ schedule }) {
  const { id, handler, note } = schedule;
  const origin = originWords(schedule.managed_by);
  return html`<span class="schedule-name">
    <a href=${address(["schedules", id])}>${visible(id)}</a>
    <span class="limit-title"><bdi class="muted small">${visible(handler)}</bdi> <${HandlerPaused} name=${handler} words="Handler paused" /></span>
    ${origin && html`<span><span class="tag" title="This schedule is managed elsewhere">${origin}</span></span>`}
    ${note && html`<bdi class="muted small cut" title=${visible(note)}>${visible(shorten(note, NOTE_CHARACTERS))}</bdi>`}
  </span>`;
}

function SmallButton({ label, onClick, children }) {
  return html`<button type="button" class="button button-small" aria-label=${label} title=${label} onClick=${onClick}>${children}</button>`;
}

function QuickActions({ schedule, refresh }) {
  const ask = (question) => async () => {
    if (await question(schedule)) refresh();
  };
  const name = visible(schedule.id);
  return html`<${Changes} label=${`Actions on ${name}`} className="quick-actions">
    ${schedule.paused
      ? html`<${SmallButton} label=${`Resume ${name}`} onClick=${ask(askToResume)}>Resume …<//>`
      : html`<${SmallButton} label=${`Pause ${name}`} onClick=${ask(askToPause)}>Pause …<//>`}
    <${SmallButton} label=${`Run ${name} now`} onClick=${ask(askToTrigger)}>Run …<//>
  <//>`;
}
