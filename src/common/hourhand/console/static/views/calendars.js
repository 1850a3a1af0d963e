// Calendars: named lists of exclusions that schedules share.
import { html } from "../lib/html.js";
import { collectPage, get, remove } from "../lib/api.js";
import { Changes, confirmAction, EmptyState, ErrorState, Icon, LiveSwitch, Loading, Page, Table, Time } from "../lib/components.js";
import { count, shorten, visible } from "../lib/format.js";
import { useKey } from "../lib/keys.js";
import { usePolled } from "../lib/live.js";
import { address, navigate } from "../lib/router.js";
import { routes as editorRoutes } from "./calendars_editor.js";
import { NamedList } from "./named_list.js";
import { describeExclusion } from "./schedule_exclusions.js";
import { mayChange } from "./schedule_leaving.js";
import { ScheduleUsers } from "./schedule_users.js";

export const routes = [
  { pattern: "/calendars", view: CalendarsView, section: "calendars" },
  ...editorRoutes,
  { pattern: "/calendars/:name", view: CalendarView, section: "calendars" },
];

const CALENDARS_A_PAGE = 100;
const REFRESH_MILLISECONDS = 10_000;
const NOTE_CHARACTERS = 120;
const EXCLUSIONS_SHOWN = 3;
const EXCLUSION_CHARACTERS = 60;

function CalendarsView({ query }) {
  const action = html`<a class="button button-primary changes" href=${address(["new-calendar"])}><${Icon} name="plus" />New calendar</a>`;
  return html`<${NamedList} title="Calendars" plural="calendars" query=${query}
    read=${(page) => collectPage(["calendars"], "calendars", { ...page, limit: CALENDARS_A_PAGE })}
    everyMilliseconds=${REFRESH_MILLISECONDS} action=${action} none=${NoCalendars}>
    ${({ items }) => html`<${Table} caption="Calendars by name" columns=${COLUMNS} rows=${items}
      rowKey=${({ name }) => name} rowHref=${({ name }) => address(["calendars", name])} />`}
  <//>`;
}

const COLUMNS = [
  { title: "Calendar", cell: ({ name }) => html`<a href=${address(["calendars", name])}>${visible(name)}</a>` },
  { title: "Excludes", className: "cell-note", cell: ({ exclude }) => html`<bdi class="small">${summaryOf(exclude)}</bdi>` },
  {
    title: "Note",
    className: "cell-note",
    cell: ({ note }) => html`<bdi class="muted small">${note ? visible(shorten(note, NOTE_CHARACTERS)) : "–"}</bdi>`,
  },
  { title: "Changed", className: "nowrap", cell: ({ updated_at: at }) => html`<${Time} at=${at} />` },
];

function summaryOf(exclude) {
  if (exclude.length === 0) return "nothing";
  const shown = exclude.slice(0, EXCLUSIONS_SHOWN).map((one) => visible(shorten(describeExclusion(one), EXCLUSION_CHARACTERS))).join(", ");
  const left = exclude.length - EXCLUSIONS_SHOWN;
  return left > 0 ? `${shown} and ${count(left)} more` : shown;
}

function NoCalendars() {
  return html`<${EmptyState} title="No calendars yet" icon="calendars">
    <p>A calendar lists times that several schedules skip, such as holidays, closing days or maintenance nights.</p>
    <p class="changes"><a class="button button-primary" href=${address(["new-calendar"])}>Create a calendar</a></p>
  <//>`;
}

function CalendarView({ name }) {
  const { data: calendar, error, isLoading, refresh } = usePolled(
    (signal) => get(["calendars", name], { signal }),
    `calendar ${name}`,
    { everyMilliseconds: REFRESH_MILLISECONDS },
  );
  useKey("r", "refresh", refresh);
  useKey("e", "edit the calendar", () => mayChange() && navigate(address(["calendars", name, "edit"])));
  const actions = calendar && html`<${LiveSwitch} onRefresh=${refresh} />
    <${Changes} label="Actions">
      <a class="button" href=${address(["calendars", name, "edit"])}><${Icon} name="edit" />Edit</a>
      <button type="button" class="button" onClick=${() => erase(name)}><${Icon} name="trash" />Delete …</button>
    <//>`;
  return html`<${Page} title=${`Calendar ${visible(name)}`} heading=${html`<bdi>${visible(name)}</bdi>`} actions=${actions}>
    ${error?.status === 404
      ? html`<${EmptyState} title="This calendar does not exist" icon="search">
          <p><a href=${address(["calendars"])}>Show all calendars</a></p><//>`
      : html`<${ErrorState} error=${error} isInline onRetry=${refresh} />`}
    ${isLoading && html`<${Loading} rows=${3} />`}
    ${calendar && error?.status !== 404 && html`<${Exclusions} calendar=${calendar} />
      <${ScheduleUsers} title="Used by" noun="calendar" name=${name} uses=${({ exclude }) => exclude.includes(name)} />`}
  <//>`;
}

async function erase(name) {
  const isDone = await confirmAction({
    title: `Delete ${visible(name)}?`,
    body: "The API refuses to delete a calendar that a schedule still uses.",
    label: "Delete calendar",
    isDangerous: true,
    run: () => remove(["calendars", name]),
    messageOf: () => `Deleted ${visible(name)}.`,
  });
  if (isDone) navigate(address(["calendars"]));
}

function Exclusions({ calendar }) {
  return html`<section class="card">
    <div class="card-header"><h2>Excludes</h2>
      <span class="muted small">changed <${Time} at=${calendar.updated_at} /> · revision ${count(calendar.revision)}</span></div>
    <div class="card-body">
      ${calendar.note && html`<p class="schedule-note"><bdi>${visible(calendar.note)}</bdi></p>`}
      ${calendar.exclude.length === 0
        ? html`<p class="muted">This calendar excludes nothing.</p>`
        : html`<ul class="exclusions">${calendar.exclude.map((one, index) => html`<li key=${index}>
            <bdi class="tag mono">${visible(describeExclusion(one))}</bdi></li>`)}</ul>`}
    </div>
  </section>`;
}
