// Dead letters: the jobs that failed permanently, grouped by handler and error, and what can be done with them.
import { html, useEffect, useRef, useState } from "../lib/html.js";
import { aboutStore } from "../lib/about.js";
import { get } from "../lib/api.js";
import { CopyButton, EmptyState, ErrorState, LiveSwitch, Loading, Page, SelectField, TextField, Time } from "../lib/components.js";
import { useShownCount } from "../lib/counts.js";
import { count, counted, localClock } from "../lib/format.js";
import { useInstallation } from "../lib/environment.js";
import { useKey } from "../lib/keys.js";
import { usePolled } from "../lib/live.js";
import { address, changeQuery } from "../lib/router.js";
import { useStore } from "../lib/store.js";
import { DeadLetterGroup } from "./dead_letters_group.js";
import { BulkBar } from "./jobs_bulk.js";
import { unclearOf, whyUnclear } from "./jobs_query.js";

export const routes = [{ pattern: "/dead-letters", view: DeadLettersView, section: "dead-letters" }];

/** How many dead letters are read before the page offers to read more: the most that a request reads. */
const JOBS_A_READ = 1000;
/** Requests that one reading may send: pages may be short, or empty. */
const MOST_REQUESTS_A_READ = 10;
const REFRESH_MILLISECONDS = 10_000;
/** Against a deployed API, what is read costs money. */
const DEPLOYED_MILLISECONDS = 60_000;
const NO_SELECTION = new Set();
/** The filters of the address that the API takes. The others are the page's own. */
const FILTERS = ["handler", "error_type"];
const OTHERS = ["q", "group"];

function DeadLettersView({ query }) {
  const filters = filtersOf(query);
  const [reads, setReads] = useState(1);
  const [busyParts, setBusyParts] = useState({ selection: 0, dialog: 0 });
  const isDeployed = Boolean(useStore(aboutStore).endpoint);
  const { data, error, isLoading, refresh } = usePolled(
    (signal) => readGroups(filters, reads, signal), JSON.stringify(filters),
    { everyMilliseconds: isDeployed ? DEPLOYED_MILLISECONDS : REFRESH_MILLISECONDS, isHeld: busyParts.selection + busyParts.dialog > 0 || reads > 1 },
  );
  useEffect(() => {
    if (reads > 1) refresh();
  }, [reads]);
  useKey("r", "refresh", refresh);
  useKey("/", "filter", () => document.getElementById("dead-letters-filter")?.querySelector("input").focus());
  const many = reads > 1 ? `More than ${count(JOBS_A_READ)} jobs are not refreshed automatically` : null;
  // A dialog is in front of the switch, and soon closed: the switch stays as it is.
  const held = busyParts.selection > 0 ? "Refreshing is on hold while jobs are selected" : many;
  const busy = (part, change) => setBusyParts((parts) => ({ ...parts, [part]: parts[part] + change }));
  const isAll = data?.isWhole && Object.keys(filters).length === 0;
  useShownCount("dead-letters", isAll ? jobsIn(data.groups) : null);
  return html`<${Page} title="Dead letters" actions=${html`<${LiveSwitch} onRefresh=${refresh} heldBecause=${held} />`}>
    <${ErrorState} error=${error} isInline onRetry=${refresh} />
    <${Filters} query=${query} filters=${filters} data=${data} />
    ${isLoading && !data && html`<${Loading} />`}
    ${data && html`<${Found} data=${data} query=${query} filters=${filters} error=${error} onDone=${refresh} onBusy=${busy} />
      <${ReadOn} data=${data} isReading=${data.reads < reads} onMore=${() => setReads(data.reads + 1)} />`}
  <//>`;
}

/** Return the filters of the address that the API takes. */
function filtersOf(query) {
  return Object.fromEntries(FILTERS.map((name) => [name, query.get(name)]).filter(([, value]) => value));
}

/** Read the newest dead letters in groups, `reads` times as many as one request reads. */
async function readGroups(filters, reads, signal) {
  const groups = new Map();
  let [read, cursor] = [0, null];
  for (let made = 0; made < MOST_REQUESTS_A_READ * reads && read < JOBS_A_READ * reads; made += 1) {
    const limit = Math.min(JOBS_A_READ, JOBS_A_READ * reads - read);
    const page = await get(["dead-letters", "groups"], { query: { ...filters, limit, cursor }, signal });
    for (const group of page.groups) groups.set(group.id, merged(groups.get(group.id), group));
    read += page.read;
    cursor = page.next_cursor;
    if (cursor === null) break;
  }
  const ordered = [...groups.values()].sort((one, other) => other.last_at.localeCompare(one.last_at));
  return { groups: ordered, read, isWhole: cursor === null, reads, readAt: Date.now() };
}

function jobsIn(groups) {
  return groups.reduce((sum, { jobs }) => sum + jobs, 0);
}

/** Return a group of two pages as one; API times are all of one form, so that their texts compare. */
function merged(known, group) {
  if (!known) return group;
  const isNewer = group.last_at > known.last_at;
  return {
    ...known,
    jobs: known.jobs + group.jobs,
    first_at: group.first_at < known.first_at ? group.first_at : known.first_at,
    last_at: isNewer ? group.last_at : known.last_at,
    newest: isNewer ? group.newest : known.newest,
  };
}

function Filters({ query, filters, data }) {
  const known = useKnownGroups(filters, data);
  const handlers = optionsOf([filters.handler, ...known.map(({ handler }) => handler)]);
  const types = optionsOf([filters.error_type, ...known.map((group) => group.error_type)]);
  const change = (name) => (value) => changeQuery({ [name]: value, group: "" }, { replace: true });
  return html`<div class="dead-filter" id="dead-letters-filter">
    <${TextField} label="Filter the groups" type="search" placeholder="error or message" value=${query.get("q") ?? ""} onChange=${change("q")} />
    <${SelectField} label="Handler" options=${handlers} value=${filters.handler ?? ""} onChange=${change("handler")} />
    <${SelectField} label="Error" options=${types} value=${filters.error_type ?? ""} onChange=${change("error_type")} />
    <a class="small dead-discarded" href=${address(["jobs"], { status: "DEAD", discarded: "true" })}>Show discarded jobs</a>
  </div>`;
}

/** Return the groups that were seen: a filter leaves the others out of `data`, but not out of the choices. */
function useKnownGroups(filters, data) {
  const seen = useRef([]);
  const isRead = ({ handler, error_type: type }) => (!filters.handler || filters.handler === handler) && (!filters.error_type || filters.error_type === type);
  if (data) seen.current = [...seen.current.filter((group) => !isRead(group)), ...data.groups];
  return seen.current;
}

function optionsOf(values) {
  return [["", "any"], ...[...new Set(values)].filter(Boolean).sort()];
}

function Found({ data, query, filters, error, onBusy, onDone }) {
  const isNarrowed = Object.keys(filters).length > 0;
  if (data.groups.length === 0) return html`<${Nothing} isWhole=${data.isWhole} isNarrowed=${isNarrowed} />`;
  const words = (query.get("q") ?? "").trim().toLowerCase();
  const shown = data.groups.filter((group) => isMatch(group, words));
  const unclear = error ? "The groups could not be read, so bulk actions are disabled."
    : words ? "The text above filters the groups on this page only. Clear it to act on all jobs of the filter."
    : whyUnclear(unclearOf(query, FILTERS, OTHERS));
  return html`<p class="muted small"><span role="status">${summaryOf(data, shown.length)}</span>, as of ${localClock(data.readAt)}</p>
    <${AlarmEnds} />
    ${isNarrowed && html`<${BulkBar} filters=${{ status: "DEAD", discarded: "false", ...filters }} jobs=${[]} selection=${NO_SELECTION}
      isNone=${false} unclear=${unclear} onSelect=${() => {}} onDone=${onDone} />`}
    ${shown.length === 0 && html`<${EmptyState} title="No group matches" icon="search">
      <p><a href=${address(["dead-letters"], filters)}>Show all groups</a></p><//>`}
    <div class="dead-groups">
      ${shown.map((group) => html`<${DeadLetterGroup} key=${group.id} group=${group} isWhole=${data.isWhole}
        isOpen=${query.get("group") === group.id} onBusy=${onBusy} onDone=${onDone} />`)}
    </div>`;
}

/** What ends the alarm of a deployment on these jobs; the alarm counts something else with each level of monitoring. */
function AlarmEnds() {
  const queue = `${useInstallation() ?? "INSTALLATION"}-dead-letters`;
  // As the runbook has it, in its entry dead-jobs.
  const purge = `aws sqs purge-queue --queue-url "$(aws sqs get-queue-url --queue-name ${queue} --query QueueUrl --output text)"`;
  return html`<div class="muted small">
    <p>The alarm dead-jobs ends one tick after the last dead job was redriven or discarded.</p>
    <details class="fold alarm-ends">
      <summary>With monitoring=basic, purge the dead-letter queue, too</summary>
      <p>With <code>monitoring=basic</code> the alarm counts the copies of dead jobs in that queue, which neither a redrive nor a discard
        removes. The entry <i>dead-jobs</i> of the runbook has this command, too.</p>
      <div class="command"><code>${purge}</code><${CopyButton} text=${purge} label="the command" isQuiet /></div>
    </details>
  </div>`;
}

function isMatch({ handler, error_type: type, pattern, newest }, words) {
  return [handler, type, pattern, newest.message].join("\n").toLowerCase().includes(words);
}

function summaryOf({ groups, read, isWhole }, shown) {
  const which = isWhole ? counted(read, "dead job") : `the newest ${count(read)} dead jobs`;
  const those = shown === groups.length ? counted(shown, "group") : `${count(shown)} of ${counted(groups.length, "group")}`;
  return `${those} of ${which}`;
}

function Nothing({ isWhole, isNarrowed }) {
  if (!isWhole) {
    return html`<${EmptyState} title="No dead letters found so far" icon="search">
      <p>There are more entries to search. Read more below.</p><//>`;
  }
  if (isNarrowed) {
    return html`<${EmptyState} title="No dead letter matches" icon="check">
      <p>No unresolved dead job has this handler and error. <a href=${address(["dead-letters"])}>Show all dead letters</a></p><//>`;
  }
  return html`<${EmptyState} title="No dead letters" icon="check">
    <p>A job appears here when all its attempts failed, or when its handler raised NotRetryable. It leaves when it is redriven or discarded.</p>
  <//>`;
}

function ReadOn({ data, isReading, onMore }) {
  if (data.isWhole) return null;
  const oldest = data.groups.map(({ first_at: at }) => at).sort()[0];
  return html`<p class="read-on">
    <span class="muted">Only the newest ${count(data.read)} jobs are counted${oldest && html`, back to one that ended <${Time} at=${oldest} />`}. There are more.</span>
    <button type="button" class="button" disabled=${isReading} onClick=${onMore}>${isReading ? "Reading …" : `Read ${count(JOBS_A_READ)} more`}</button>
  </p>`;
}
