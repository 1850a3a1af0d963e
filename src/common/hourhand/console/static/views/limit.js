// The page of one limit: its numbers, the jobs that hold its slots and those that wait, of one key if it has keys.
import { html, useState } from "../lib/html.js";
import { aboutStore } from "../lib/about.js";
import { get } from "../lib/api.js";
import {
  Badge, Changes, EmptyState, ErrorState, Icon, JobId, LiveSwitch, Loading, Page, StatusBadge, Table, TextField, Time,
} from "../lib/components.js";
import { count, visible } from "../lib/format.js";
import { useKey } from "../lib/keys.js";
import { usePolled } from "../lib/live.js";
import { HandlerPaused } from "../lib/pauses.js";
import { address, changeQuery } from "../lib/router.js";
import { askToAddKey, askToChange, askToFree, askToPause, askToRemoveKey, askToRestore, askToResume, askToRetime } from "./limit_actions.js";
import { Fill, LimitBadge } from "./limit_badges.js";
import { eachWords, hasKeys, isChanged, numberWords, waitingWords } from "./limit_words.js";

export const routes = [{ pattern: "/limits/:name", view: LimitView, section: "limits" }];

const REFRESH_MILLISECONDS = 3000;
const DEPLOYED_MILLISECONDS = 15_000;
const HOLDERS_SHOWN = 20;
/** So many holders are read, to find the dead ones that keep their slots. */
const HOLDERS_READ = 20;

/** What `on_full` does, in words. */
const ON_FULL = {
  wait: "wait",
  skip: "end cancelled, with the reason limit",
  replace_waiting: "replace the one that waits, which ends cancelled",
  cancel_running: "wait, and the running ones are asked to stop",
};
const HOLDS = { attempt: "during an attempt", job: "until it ends", success: "until it succeeds" };
const ORDERS = { due: "by their due times", fair: "fair between tenants" };

function LimitView({ name, query }) {
  const key = query.get("key") || undefined;
  const { data, error, isLoading, refresh } = usePolled(
    (signal) => read(name, key, signal), `limit ${name} ${key ?? ""}`,
    { everyMilliseconds: aboutStore.get().endpoint ? DEPLOYED_MILLISECONDS : REFRESH_MILLISECONDS },
  );
  useKey("r", "refresh", refresh);
  const heading = html`<bdi>${visible(name)}</bdi>${key !== undefined && html` <bdi class="muted limit-key">${visible(key)}</bdi>`}${data && html` <${LimitBadge} limit=${data.limit} />`}`;
  const actions = data && html`<${LiveSwitch} onRefresh=${refresh} /><${Actions} data=${data} keyName=${key} refresh=${refresh} />`;
  return html`<${Page} title=${`Limit ${visible(name)}`} heading=${heading} actions=${actions}>
    ${error?.status === 404 ? html`<${Missing} name=${name} />` : html`<${ErrorState} error=${error} isInline onRetry=${refresh} />`}
    ${error?.of?.("key") && html`<p><a href=${address(["limits", name])}>Show the limit without a key</a></p>`}
    ${isLoading && html`<${Loading} />`}
    ${data && error?.status !== 404 && html`<${Whole} key=${`${name} ${key ?? ""}`} data=${data} keyName=${key} refresh=${refresh} />`}
  <//>`;
}

/** Read a limit, how its first handler declares it, and which of the first holders are dead, if a dead job keeps its slot. */
async function read(name, key, signal) {
  const limit = await get(["limits", name], { query: { key }, signal });
  const declared = await declaredOf(limit, signal);
  const first = declared?.holds === "success" ? (limit.holders ?? []).slice(0, HOLDERS_READ) : [];
  const jobs = await Promise.all(first.map(({ job_id: id }) => get(["jobs", id], { signal }).catch(() => null)));
  const dead = jobs.filter((job) => job?.status === "DEAD").map(({ id }) => id);
  return { limit, declared, dead };
}

/** Resolve to a limit as its first handler declares it; to null if that cannot be read. */
export async function declaredOf({ name, handlers }, signal) {
  const handler = await get(["handlers", handlers[0]], { signal }).catch(() => null);
  return handler?.limits?.find((one) => one.name === name) ?? null;
}

function Missing({ name }) {
  return html`<${EmptyState} title="There is no such limit" icon="search">
    <p>No handler has a limit with the name ${visible(name)}. A deployment may have removed it: its waiting jobs are then sent.
      ${" "}<a href=${address(["limits"])}>Show all limits</a>.</p>
  <//>`;
}

function Actions({ data: { limit, declared }, keyName: key, refresh }) {
  const ask = (question) => async () => {
    if (await question({ limit, key, onFull: declared?.on_full })) refresh();
  };
  const button = (words, question, icon) => html`<button type="button" class="button" onClick=${ask(question)}>${icon && html`<${Icon} name=${icon} />`}${words} …</button>`;
  const isOwn = key !== undefined && Object.hasOwn(limit.overrides, key);
  // The pause of all keys is ended for all keys.
  const mayResume = limit.max === 0 && (key === undefined || isOwn);
  return html`<${Changes} label="Actions">
    ${limit.kind === "concurrency" && (mayResume
      ? button("Resume", askToResume, "play") : limit.max > 0 && button("Pause", askToPause, "pause"))}
    ${button(key === undefined ? "Change number" : "Set number of this key", askToChange, "edit")}
    ${limit.kind === "rate" && (key !== undefined || !hasKeys(limit)) && button("Retime", askToRetime, "refresh")}
    ${key === undefined && isChanged(limit) && button("Restore", askToRestore, "refresh")}
    ${isOwn && limit.max > 0 && button("Remove number of this key", askToRemoveKey, "trash")}
  <//>`;
}

function Whole({ data, keyName: key, refresh }) {
  const { limit, declared } = data;
  return html`<${Notice} limit=${limit} keyName=${key} />
    ${hasKeys(limit) && html`<${KeySearch} limit=${limit} keyName=${key} />`}
    ${limit.running !== null && html`<${Figures} limit=${limit} keyName=${key} />`}
    <${Facts} limit=${limit} declared=${declared} keyName=${key} />
    ${hasKeys(limit) && key === undefined && html`<${Overrides} limit=${limit} declared=${declared} refresh=${refresh} />`}
    ${limit.holders !== null && html`<div class="job-columns">
      <${Holders} data=${data} refresh=${refresh} /><${Waiters} limit=${limit} /></div>`}
    ${limit.kind === "rate" && html`<${RateJobs} limit=${limit} />`}`;
}

/** That no job starts, and how that ends. */
function Notice({ limit, keyName: key }) {
  const { max, overrides, kind } = limit;
  if (kind !== "concurrency" || max > 0) return null;
  const isWhole = key !== undefined && !Object.hasOwn(overrides, key);
  return html`<p class="notice"><${Badge} tone="warning" shape="pause">Paused<//> No job ${key === undefined ? "of this limit" : "of this key"} starts.
    ${isWhole ? html` <a href=${address(["limits", limit.name])}>The number of all keys</a> is 0.` : " Resume it, or set another number."}</p>`;
}

/** The field that names a key, and the keys that have numbers of their own. */
function KeySearch({ limit, keyName }) {
  const [text, setText] = useState(keyName ?? "");
  const show = (event) => {
    event.preventDefault();
    changeQuery({ key: text });
  };
  return html`<form class="key-search" role="search" aria-label="Key" onSubmit=${show}>
    <${TextField} label="Key" type="search" placeholder=${visible(limit.key)} value=${text} onChange=${setText} maxlength="256"
      hint=${html`Each key is a limit of its own: ${visible(eachWords(limit))}. Jobs without the field have the key <code>null</code>.`} />
    <button type="submit" class="button" disabled=${text === (keyName ?? "")}>Show</button>
    ${keyName !== undefined && html`<a class="button" href=${address(["limits", limit.name])}>All keys</a>`}
  </form>`;
}

function Figures({ limit, keyName }) {
  const { running, waiting, oldest_waiting_at: oldest } = limit;
  return html`<section aria-label="Figures"><dl class="tiles">
    <div class="tile"><dt>Running</dt><dd><${Fill} limit=${limit} /></dd>
      <dd class="tile-note">${running > limit.max ? "more than the number: they go on" : "jobs hold a slot"}</dd></div>
    <div class="tile"><dt>Waiting</dt><dd>${waitingWords(waiting)}</dd>
      <dd class="tile-note">${waiting > 0 ? "start when slots are free" : "no job waits"}</dd></div>
    <div class="tile"><dt>Oldest waits since</dt><dd>${oldest ? html`<${Time} at=${oldest} />` : "–"}</dd>
      <dd class="tile-note">${keyName === undefined ? "of the first 20" : "of the first 20 of this key"}</dd></div>
  </dl></section>`;
}

function Facts({ limit, declared, keyName: key }) {
  const { kind, max, declared_max: inCode, overrides, handlers } = limit;
  const isOwn = key !== undefined && Object.hasOwn(overrides, key);
  const facts = [
    ["Kind", kind === "rate" ? "Rate" : "Concurrency"],
    [key === undefined ? "Number" : "Number of this key", html`<strong>${numberWords(limit, max)}</strong>`],
    ["In the code", html`<span class=${max === inCode ? "" : "text-warning"}>${numberWords(limit, inCode)}</span>`],
    ["Set by", max === inCode && !isOwn ? "the code" : isOwn ? "an operator, for this key" : "an operator"],
    ["Key", html`<bdi class="mono">${visible(limit.key)}</bdi>`],
    ...(declared ? declaredFacts(declared) : []),
    ["Handlers", html`<span class="limit-handlers">${handlers.map((name) => html`<span key=${name}><a href=${address(["handlers", name])}>
      <bdi>${visible(name)}</bdi></a> <${HandlerPaused} name=${name} /></span>`)}</span>`],
  ];
  return html`<section class="card" aria-label="Numbers and options"><dl class="facts card-body">
    ${facts.map(([term, value]) => html`<div key=${term}><dt>${term}</dt><dd>${value}</dd></div>`)}
  </dl></section>`;
}

function declaredFacts({ on_full: onFull, holds, order, max_waiting: most, burst }) {
  return [
    onFull && ["Jobs that find it full", ON_FULL[onFull] ?? onFull],
    most != null && ["May wait", `at most ${count(most)}`],
    holds && ["A job keeps its slot", HOLDS[holds] ?? holds],
    order && ["Waiting jobs start", ORDERS[order] ?? order],
    burst != null && ["At once after a pause", count(burst)],
  ].filter(Boolean);
}

/** The keys that have numbers of their own. */
function Overrides({ limit, declared, refresh }) {
  const rows = Object.entries(limit.overrides).map(([key, number]) => ({ key, number }));
  const onFull = declared?.on_full;
  const ask = (question, asked) => async () => {
    if (await question({ ...asked, onFull })) refresh();
  };
  // As the API answers for the key, but for its figures, which are read with the key's own page.
  const of = ({ key, number }) => ({ limit: { ...limit, max: number }, key });
  const columns = [
    { title: "Key", cell: ({ key }) => html`<a href=${address(["limits", limit.name], { key })}><bdi>${visible(key)}</bdi></a>` },
    { title: "Number", cell: ({ number }) => html`${numberWords(limit, number)} ${number === 0 && html`<${Badge} tone="warning" shape="pause">Paused<//>`}` },
    { title: "Actions", className: "cell-actions changes", cell: (row) => html`<${Changes} label=${`Actions on ${visible(row.key)}`} className="quick-actions">
      <button type="button" class="button button-small" aria-label=${`Change ${visible(row.key)}`} onClick=${ask(askToChange, of(row))}>Change …</button>
      <button type="button" class="button button-small" aria-label=${`Remove the number of ${visible(row.key)}`} onClick=${ask(askToRemoveKey, of(row))}>Remove …</button><//>` },
  ];
  return html`<section class="card" aria-label="Keys with numbers of their own">
    <div class="card-header"><h2>Keys with numbers of their own</h2>
      <${Changes} label="A key's number"><button type="button" class="button button-small" onClick=${ask(askToAddKey, { limit })}><${Icon} name="plus" />Add …</button><//></div>
    ${rows.length === 0
      ? html`<div class="card-body"><p class="muted">None: the number of the limit holds for each key. Give one customer more, or pause one, here.</p></div>`
      : html`<${Table} caption="Keys with numbers of their own" columns=${columns} rows=${rows} rowKey=${({ key }) => key}
          rowHref=${({ key }) => address(["limits", limit.name], { key })} />`}
  </section>`;
}

/** The jobs that hold a slot, the oldest first. A dead one may keep its slot, and can be freed. */
function Holders({ data: { limit, declared, dead }, refresh }) {
  const [isWhole, setWhole] = useState(false);
  const shown = isWhole ? limit.holders : limit.holders.slice(0, HOLDERS_SHOWN);
  const free = (jobId) => async () => {
    if (await askToFree({ limit, jobId })) refresh();
  };
  const columns = [
    { title: "Job", cell: ({ job_id: id }) => html`<${JobId} id=${id} /> ${dead.includes(id) && html`<${StatusBadge} status="DEAD" />`}` },
    { title: "Since", className: "nowrap", cell: ({ since }) => html`<${Time} at=${since} />` },
    ...(dead.length > 0 ? [{ title: "Actions", className: "cell-actions changes", cell: ({ job_id: id }) => dead.includes(id) && html`<${Changes} label=${`Actions on ${id}`}>
      <button type="button" class="button button-small" aria-label=${`Free the slot of ${id}`} onClick=${free(id)}>Free …</button><//>` }] : []),
  ];
  return html`<section class="card" aria-label="Jobs that hold a slot">
    <div class="card-header"><h2>Jobs that hold a slot</h2><span class="muted small">the oldest first</span></div>
    ${dead.length > 0 && html`<div class="card-body"><p class="notice">A dead job keeps its slot until it succeeds, so the jobs behind it wait.
      Redrive the job, or free its slot.</p></div>`}
    ${limit.holders.length === 0
      ? html`<div class="card-body"><p class="muted">None${limit.waiting > 0 && limit.max > 0 ? ". The waiting jobs start with the next sweep, within about a minute" : ""}.</p></div>`
      : html`<${Table} caption="Jobs that hold a slot" columns=${columns} rows=${shown} rowKey=${({ job_id: id }) => id} rowHref=${({ job_id: id }) => address(["jobs", id])} />`}
    ${shown.length < limit.holders.length && html`<div class="card-body"><button type="button" class="button button-small" onClick=${() => setWhole(true)}>
      Show all ${count(limit.holders.length)}</button></div>`}
  </section>`;
}

/** The first jobs that wait, in the order in which they start. */
function Waiters({ limit: { waiters, waiting } }) {
  const columns = [
    { title: "Position", cell: ({ position }) => count(position) },
    { title: "Job", cell: ({ job_id: id }) => html`<${JobId} id=${id} />` },
    { title: "Since", className: "nowrap", cell: ({ since }) => html`<${Time} at=${since} />` },
    { title: "Blocked by", cell: ({ blocked_by: by }) => by && html`its ancestor <${JobId} id=${by} />` },
  ];
  const rows = waiters.map((waiter, index) => ({ ...waiter, position: index + 1 }));
  return html`<section class="card" aria-label="Jobs that wait">
    <div class="card-header"><h2>Jobs that wait</h2>${waiting > rows.length && html`<span class="muted small">the first ${count(rows.length)} of ${waitingWords(waiting)}</span>`}</div>
    ${rows.length === 0
      ? html`<div class="card-body"><p class="muted">No job waits.</p></div>`
      : html`<${Table} caption="Jobs that wait" columns=${columns} rows=${rows} rowKey=${({ job_id: id }) => id} rowHref=${({ job_id: id }) => address(["jobs", id])} />`}
  </section>`;
}

/** Where the jobs of a rate are seen: no list of them is kept. */
function RateJobs({ limit: { handlers } }) {
  return html`<section class="card" aria-label="Jobs that wait"><div class="card-header"><h2>Jobs</h2></div><div class="card-body">
    <p class="muted">A job that finds the rate used up gets a start time, once, and is due then: no list of such jobs is kept. Their pages show the
      start time, and that the rate is reached. A rate cannot be 0: to stop its jobs for a time, pause their handlers.</p>
    <ul class="limit-handlers">${handlers.map((name) => html`<li key=${name}><a href=${address(["jobs"], { handler: name, status: "PENDING" })}>Pending jobs of <bdi>${visible(name)}</bdi></a></li>`)}</ul>
  </div></section>`;
}
