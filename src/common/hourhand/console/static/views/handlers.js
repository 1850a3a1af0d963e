// The registered handlers: what each takes, and how its newest jobs went.
import { html } from "../lib/html.js";
import { aboutStore } from "../lib/about.js";
import { collectPage, get } from "../lib/api.js";
import { EmptyState, ErrorState, LiveSwitch, Loading, Page, Table, TextField, Time } from "../lib/components.js";
import { count, counted, duration, percent, shorten, visible } from "../lib/format.js";
import { useKey } from "../lib/keys.js";
import { usePolled } from "../lib/live.js";
import { HandlerPaused } from "../lib/pauses.js";
import { address, changeQuery } from "../lib/router.js";
import { rowsOf } from "../lib/schema.js";
import { routes as handlerRoutes } from "./handler.js";
import { byHandler, statsOf } from "./handler_stats.js";

export const routes = [{ pattern: "/handlers", view: HandlersView, section: "handlers" }, ...handlerRoutes];

const JOBS_IN_SAMPLE = 600;
const REFRESH_MILLISECONDS = 5000;
/** Each refresh reads several hundred jobs, which cost money in a deployment. */
const DEPLOYED_MILLISECONDS = 30_000;
const FIELDS_SHOWN = 4;
const DESCRIPTION_CHARACTERS = 120;

function HandlersView({ query }) {
  const { data, error, isLoading, refresh } = usePolled(readAll, "handlers", {
    everyMilliseconds: aboutStore.get().endpoint ? DEPLOYED_MILLISECONDS : REFRESH_MILLISECONDS,
  });
  useKey("r", "refresh", refresh);
  useKey("/", "filter", () => document.getElementById("handlers-filter")?.querySelector("input")?.focus());
  return html`<${Page} title="Handlers" actions=${html`<${LiveSwitch} onRefresh=${refresh} />`}>
    <${ErrorState} error=${error} isInline onRetry=${refresh} />
    ${isLoading && html`<${Loading} />`}
    ${data && (data.handlers.length === 0 ? html`<${NoHandlers} />` : html`<${Found} data=${data} words=${query.get("q") ?? ""} />`)}
  <//>`;
}

/** Read the handlers, and the newest jobs of all together: one sample, whatever the number of handlers. */
async function readAll(signal) {
  const [{ handlers }, sample] = await Promise.all([
    get(["handlers"], { signal }),
    collectPage(["jobs"], "jobs", { limit: JOBS_IN_SAMPLE, signal, mostRequests: 4 }),
  ]);
  const groups = byHandler(sample.items);
  return { handlers: handlers.map((handler) => ({ ...handler, stats: statsOf(groups.get(handler.name) ?? []) })), sample: statsOf(sample.items) };
}

function Found({ data: { handlers, sample }, words }) {
  const wanted = words.toLowerCase();
  const shown = handlers.filter(({ name, description }) => `${name} ${description}`.toLowerCase().includes(wanted));
  return html`<div class="filter-row" id="handlers-filter">
      <${TextField} label="Filter" type="search" placeholder="name or description" value=${words}
        onChange=${(q) => changeQuery({ q }, { replace: true })} />
      <p class="muted small filter-count" role="status">${shown.length === handlers.length
        ? counted(handlers.length, "handler") : `${count(shown.length)} of ${counted(handlers.length, "handler")}`}</p>
    </div>
    ${shown.length > 0
      ? html`<${Table} caption="Handlers by name" columns=${COLUMNS} rows=${shown} className="table-handlers"
          rowKey=${({ name }) => name} rowHref=${({ name }) => address(["handlers", name])} />`
      : html`<${EmptyState} title="No handler matches" icon="search"><p><a href=${address(["handlers"])}>Show all handlers</a></p><//>`}
    <p class="muted small">${sample.jobs === 0
      ? "There are no jobs yet, so there are no figures."
      : html`Figures are of the newest ${counted(sample.jobs, "job")} of all handlers, created since <${Time} at=${sample.since} form="local" />.`}</p>`;
}

function NoHandlers() {
  return html`<${EmptyState} title="No handlers are registered" icon="handlers">
    <p>A handler is a Python function with <code>@job("name")</code>. The API knows the handlers of the module that was packed
      or that <code>hourhand dev --handlers</code> names.</p>
  <//>`;
}

const COLUMNS = [
  { title: "Handler", cell: (handler) => html`<${Name} handler=${handler} />` },
  { title: "Payload", className: "cell-note", cell: (handler) => html`<${PayloadWords} handler=${handler} />` },
  { title: "Jobs", isNumber: true, cell: ({ stats }) => count(stats.jobs) },
  { title: "Failed attempts", isNumber: true, cell: ({ stats }) => html`<${FailureRate} stats=${stats} />` },
  { title: "Took p50", isNumber: true, cell: ({ stats }) => duration(stats.p50) },
  { title: "Took p95", isNumber: true, cell: ({ stats }) => duration(stats.p95) },
  {
    title: "Dead",
    isNumber: true,
    cell: ({ name, stats }) => (stats.dead > 0
      ? html`<a class="text-bad" href=${address(["jobs"], { handler: name, status: "DEAD" })}>${count(stats.dead)}</a>`
      : html`<span class="muted">0</span>`),
  },
];

function Name({ handler: { name, description } }) {
  return html`<span class="schedule-name"><span class="limit-title"><a href=${address(["handlers", name])}>${visible(name)}</a> <${HandlerPaused} name=${name} /></span>
    ${description && html`<bdi class="muted small">${visible(shorten(description, DESCRIPTION_CHARACTERS))}</bdi>`}</span>`;
}

function PayloadWords({ handler: { payload_schema: schema } }) {
  const rows = schema ? rowsOf(schema) : null;
  if (!rows) return html`<span class="muted small">${schema ? "see the schema" : "any JSON"}</span>`;
  if (rows.length === 0) return html`<span class="muted small">no fields</span>`;
  const names = rows.slice(0, FIELDS_SHOWN).map(({ name, isRequired }) => `${visible(name)}${isRequired ? "" : "?"}`);
  return html`<bdi class="mono small">${names.join(", ")}${rows.length > FIELDS_SHOWN ? ", …" : ""}</bdi>`;
}

/** The share of a sample's ended attempts that failed. */
export function FailureRate({ stats: { ended, failed } }) {
  if (ended === 0) return html`<span class="muted none">–</span>`;
  return html`<span class=${failed > 0 ? "text-bad" : ""} title=${`${count(failed)} of ${counted(ended, "attempt")}`}>${percent(failed / ended)}</span>`;
}
