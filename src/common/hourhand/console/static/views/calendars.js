// Calendars: named lists of exclusions that schedules share.
import { html } from "../lib/html.js";
import { collectPage, get, remove } from "../lib/api.js";
import { confirmAction, EmptyState, ErrorState, Icon, LiveSwitch, Loading, Page, Table, Time } from "../lib/components.js";
import { count, counted, shorten, visible } from "../lib/format.js";
import { useKey } from "../lib/keys.js";
import { usePolled } from "../lib/live.js";
import { address, navigate } from "../lib/router.js";
import { routes as editorRoutes } from "./calendars_editor.js";
import { describeExclusion } from "./schedule_exclusions.js";
import { mayChange } from "./schedule_leaving.js";
import { NamePager } from "./schedules_pager.js";

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

/** How many schedules are searched for those that use a calendar. */
const MOST_SCHEDULES_READ = 1000;
const SCHEDULES_A_PAGE = 200;

function CalendarsView({ query }) {
  const cursor = query.get("cursor");
  const { data, error, isLoading, refresh } = usePolled(
    (signal) => collectPage(["calendars"], "calendars", { cursor, limit: CALENDARS_A_PAGE, signal }),
    `calendars ${cursor ?? ""}`,
    { everyMilliseconds: REFRESH_MILLISECONDS },
  );
  useKey("r", "refresh", refresh);
  const actions = html`<${LiveSwitch} onRefresh=${refresh} />
    <a class="button button-primary changes" href=${address(["new-calendar"])}><${Icon} name="plus" />New calendar</a>`;
  return html`<${Page} title="Calendars" actions=${actions}>
    <${ErrorState} error=${error} isInline onRetry=${refresh} />
    ${isLoading && html`<${Loading} />`}
    ${data && (data.items.length > 0 || cursor
      ? html`<${Table} caption="Calendars by name" columns=${COLUMNS} rows=${data.items}
          rowKey=${({ name }) => name} rowHref=${({ name }) => address(["calendars", name])} />`
      : html`<${NoCalendars} />`)}
    ${data && html`<${NamePager} cursor=${cursor} nextCursor=${data.nextCursor} segments=${["calendars"]} />`}
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
    <a class="button changes" href=${address(["calendars", name, "edit"])}><${Icon} name="edit" />Edit</a>
    <button type="button" class="button changes" onClick=${() => erase(name)}><${Icon} name="trash" />Delete</button>`;
  return html`<${Page} title=${`Calendar ${visible(name)}`} heading=${html`<bdi>${visible(name)}</bdi>`} actions=${actions}>
    ${error?.status === 404
      ? html`<${EmptyState} title="This calendar does not exist" icon="search">
          <p><a href=${address(["calendars"])}>Show all calendars</a></p><//>`
      : html`<${ErrorState} error=${error} isInline onRetry=${refresh} />`}
    ${isLoading && html`<${Loading} rows=${3} />`}
    ${calendar && error?.status !== 404 && html`<${Exclusions} calendar=${calendar} /><${Users} name=${name} />`}
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

/** The schedules that use a calendar, among those searched. */
function Users({ name }) {
  const { data, error, isLoading, refresh } = usePolled((signal) => findUsers(name, signal), `users of ${name}`, { everyMilliseconds: 0 });
  return html`<section class="card">
    <div class="card-header"><h2>Used by</h2></div>
    <div class="card-body">
      <${ErrorState} error=${error} isInline onRetry=${refresh} />
      ${isLoading && html`<${Loading} rows=${1} />`}
      ${data && html`${data.users.length === 0
          ? html`<p class="muted">${data.isWhole ? "No schedule uses this calendar." : `None of the first ${counted(data.read, "schedule")} uses this calendar.`}</p>`
          : html`<ul class="exclusions">${data.users.map((id) => html`<li key=${id}>
              <a href=${address(["schedules", id])}>${visible(id)}</a></li>`)}</ul>`}
        ${!data.isWhole && data.users.length > 0 && html`<p class="muted small">
          Only the first ${counted(data.read, "schedule")} were searched.</p>`}`}
    </div>
  </section>`;
}

async function findUsers(name, signal) {
  const users = [];
  let [read, cursor] = [0, null];
  do {
    const page = await collectPage(["schedules"], "schedules", { cursor, limit: SCHEDULES_A_PAGE, signal });
    users.push(...page.items.filter(({ exclude }) => exclude.includes(name)).map(({ id }) => id));
    read += page.items.length;
    cursor = page.nextCursor;
  } while (cursor && read < MOST_SCHEDULES_READ);
  return { users, read, isWhole: !cursor };
}
