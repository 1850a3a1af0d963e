// The schedules that use a calendar or a handler, among those that are searched.
import { html } from "../lib/html.js";
import { collectPage } from "../lib/api.js";
import { ErrorState, Loading } from "../lib/components.js";
import { counted, visible } from "../lib/format.js";
import { usePolled } from "../lib/live.js";
import { address } from "../lib/router.js";
import { Rule, ScheduleBadge } from "./schedule_words.js";

/** How many schedules are searched. */
const MOST_SCHEDULES_READ = 1000;
const SCHEDULES_A_PAGE = 200;

/** A card with the schedules for which `uses(schedule)` is true; `noun` is what they use. */
export function ScheduleUsers({ title, noun, name, uses }) {
  const { data, error, isLoading, refresh } = usePolled((signal) => find(uses, signal), `users of ${noun} ${name}`, { everyMilliseconds: 0 });
  return html`<section class="card" aria-label=${title}>
    <div class="card-header"><h2>${title}</h2></div>
    <div class="card-body">
      <${ErrorState} error=${error} isInline onRetry=${refresh} />
      ${isLoading && html`<${Loading} rows=${1} />`}
      ${data && html`${data.users.length === 0
          ? html`<p class="muted">${data.isWhole ? `No schedule uses this ${noun}.` : `None of the first ${counted(data.read, "schedule")} uses this ${noun}.`}</p>`
          : html`<ul class="schedule-users">${data.users.map((schedule) => html`<li key=${schedule.id}>
              <span class="schedule-user"><a href=${address(["schedules", schedule.id])}>${visible(schedule.id)}</a>
                <${ScheduleBadge} status=${schedule.status} /></span><${Rule} schedule=${schedule} /></li>`)}</ul>`}
        ${!data.isWhole && data.users.length > 0 && html`<p class="muted small">
          Only the first ${counted(data.read, "schedule")} were searched.</p>`}`}
    </div>
  </section>`;
}

async function find(uses, signal) {
  const users = [];
  let [read, cursor] = [0, null];
  do {
    const page = await collectPage(["schedules"], "schedules", { cursor, limit: SCHEDULES_A_PAGE, signal });
    users.push(...page.items.filter(uses));
    read += page.items.length;
    cursor = page.nextCursor;
  } while (cursor && read < MOST_SCHEDULES_READ);
  return { users, read, isWhole: !cursor };
}
