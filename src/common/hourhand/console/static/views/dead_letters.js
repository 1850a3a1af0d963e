// Dead letters: the jobs that failed permanently, grouped by their error, and what can be done with them.
import { html, useEffect, useState } from "../lib/html.js";
import { get } from "../lib/api.js";
import { EmptyState, ErrorState, LiveSwitch, Loading, Page, SelectField, TextField, Time } from "../lib/components.js";
import { count, counted } from "../lib/format.js";
import { useKey } from "../lib/keys.js";
import { usePolled } from "../lib/live.js";
import { address, changeQuery } from "../lib/router.js";
import { DeadLetterGroup } from "./dead_letters_group.js";
import { groupDeadLetters } from "./dead_letters_groups.js";

export const routes = [{ pattern: "/dead-letters", view: DeadLettersView, section: "dead-letters" }];

/** How many jobs are read before the page offers to read more. */
const JOBS_A_READ = 1000;
const JOBS_A_PAGE = 200;
/** Requests that one reading may send: pages may be short, or empty. */
const MAX_REQUESTS_A_READ = 40;
/** A list longer than this is not refreshed automatically. */
const MOST_REFRESHED = 200;
const REFRESH_MILLISECONDS = 10_000;

function DeadLettersView({ query }) {
  const [wanted, setWanted] = useState(JOBS_A_READ);
  const [soFar, setSoFar] = useState(0);
  const [busyParts, setBusyParts] = useState(0);
  const [isLarge, setLarge] = useState(false);
  const { data, error, isLoading, refresh } = usePolled(
    (signal) => readDeadJobs(wanted, setSoFar, signal),
    "dead letters",
    { everyMilliseconds: REFRESH_MILLISECONDS, isHeld: busyParts > 0 || isLarge },
  );
  useEffect(() => setLarge((data?.jobs.length ?? 0) > MOST_REFRESHED), [data]);
  useEffect(() => {
    if (wanted > JOBS_A_READ) refresh();
  }, [wanted]);
  useKey("r", "refresh", refresh);
  useKey("/", "filter", () => document.getElementById("dead-letters-filter")?.querySelector("input").focus());
  const selecting = busyParts > 0 ? "Refreshing waits while jobs are selected" : null;
  const held = isLarge ? `More than ${MOST_REFRESHED} jobs are not refreshed automatically` : selecting;
  return html`<${Page} title="Dead letters" actions=${html`<${LiveSwitch} onRefresh=${refresh} heldBecause=${held} />`}>
    <${ErrorState} error=${error} isInline onRetry=${refresh} />
    ${isLoading && html`<p class="muted" role="status">${soFar > 0 ? `${count(soFar)} read so far …` : ""}</p><${Loading} />`}
    ${data && html`<${Found} data=${data} query=${query} onDone=${refresh}
        onBusy=${(change) => setBusyParts((parts) => parts + change)} />
      <${ReadOn} data=${data} wanted=${wanted} soFar=${soFar} onMore=${() => setWanted(data.jobs.length + JOBS_A_READ)} />`}
  <//>`;
}

/** Read the newest dead jobs, page after page. `onProgress` gets their number so far. */
async function readDeadJobs(wanted, onProgress, signal) {
  const jobs = [];
  let cursor = null;
  const mostRequests = MAX_REQUESTS_A_READ * Math.ceil(wanted / JOBS_A_READ);
  for (let made = 0; made < mostRequests && jobs.length < wanted; made += 1) {
    const limit = Math.min(JOBS_A_PAGE, wanted - jobs.length);
    const page = await get(["jobs"], { query: { status: "DEAD", limit, cursor }, signal });
    jobs.push(...page.jobs);
    onProgress(jobs.length);
    cursor = page.next_cursor;
    if (cursor === null) break;
  }
  return { jobs, isWhole: cursor === null, wanted };
}

function Found({ data, query, onBusy, onDone }) {
  const groups = groupDeadLetters(data.jobs);
  if (groups.length === 0) return html`<${Nothing} isWhole=${data.isWhole} />`;
  const handler = query.get("handler") ?? "";
  const words = (query.get("q") ?? "").toLowerCase();
  const shown = groups.filter((group) => isMatch(group, handler, words));
  const handlers = [...new Set(groups.map((group) => group.handler))].sort();
  return html`<div class="filter-row" id="dead-letters-filter">
      <${TextField} label="Filter" type="search" placeholder="error or message" value=${query.get("q") ?? ""}
        onChange=${(q) => changeQuery({ q }, { replace: true })} />
      <${SelectField} label="Handler" options=${[["", "any"], ...handlers]} value=${handler}
        onChange=${(chosen) => changeQuery({ handler: chosen }, { replace: true })} />
      <p class="muted small filter-count" role="status">${summaryOf(data, groups.length, shown.length)}</p>
    </div>
    ${shown.length === 0 && html`<${EmptyState} title="No group matches" icon="search">
      <p><a href=${address(["dead-letters"])}>Show all</a></p><//>`}
    <div class="dead-groups">
      ${shown.map((group) => html`<${DeadLetterGroup} key=${group.key} group=${group} isWhole=${data.isWhole}
        isOpen=${query.get("group") === group.key} onBusy=${onBusy} onDone=${onDone} />`)}
    </div>`;
}

function isMatch(group, handler, words) {
  const text = `${group.type ?? ""} ${group.message}`.toLowerCase();
  const isIn = text.includes(words) || group.jobs.some((job) => (job.error?.message ?? "").toLowerCase().includes(words));
  return isIn && (handler === "" || group.handler === handler);
}

function summaryOf({ jobs, isWhole }, groups, shown) {
  const which = isWhole ? counted(jobs.length, "dead job") : `the newest ${count(jobs.length)} dead jobs`;
  const those = shown === groups ? counted(groups, "group") : `${count(shown)} of ${counted(groups, "group")}`;
  return `${those} of ${which}`;
}

function Nothing({ isWhole }) {
  if (!isWhole) {
    return html`<${EmptyState} title="No dead letters found so far" icon="search">
      <p>There are more entries to search. Read more below.</p><//>`;
  }
  return html`<${EmptyState} title="No dead letters" icon="check">
    <p>A job appears here when all its attempts failed, or when its handler raised NotRetryable.</p>
  <//>`;
}

function ReadOn({ data, wanted, soFar, onMore }) {
  if (data.isWhole) return null;
  const isReading = data.wanted < wanted;
  return html`<p class="read-on">
    <span class="muted">Only the newest ${count(data.jobs.length)} jobs are shown${data.jobs.length > 0
      ? html`, back to one created <${Time} at=${data.jobs.at(-1).created_at} />` : ""}. There are more.</span>
    <button type="button" class="button" disabled=${isReading} onClick=${onMore}>${isReading
      ? `${count(soFar)} read …` : `Read ${count(JOBS_A_READ)} more`}</button>
  </p>`;
}
