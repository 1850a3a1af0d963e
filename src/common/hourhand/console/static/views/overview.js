// The overview: lateness, what waits and runs, what failed, and the scheduler's state.
import { html, useMemo, useRef } from "../lib/html.js";
import { aboutStore } from "../lib/about.js";
import { get } from "../lib/api.js";
import { Badge, ErrorState, Icon, LiveSwitch, Loading, Page, Time } from "../lib/components.js";
import { count, counted, duration } from "../lib/format.js";
import { useKey } from "../lib/keys.js";
import { useNow, usePolled } from "../lib/live.js";
import { address } from "../lib/router.js";
import { useStore } from "../lib/store.js";
import { EndsChart, LatenessChart, QueuesChart } from "./overview_plots.js";
import { binsOf, merge, sampleOf, sumOf } from "./overview_sample.js";
import { HandlersTable, NewestFailures, QueuesTable } from "./overview_tables.js";
import { Tiles } from "./overview_tiles.js";
import { verdictOf } from "./overview_verdict.js";

export const routes = [{ pattern: "/", view: Overview, section: "overview" }];

const REFRESH_MILLISECONDS = 4000;
/** Each refresh reads several hundred jobs, which cost money in a deployment. */
const DEPLOYED_MILLISECONDS = 15_000;
const JOBS_A_READ = 200;
const READS_AT_FIRST = 5;
const MOST_POINTS = 900;
const WINDOWS = { "1m": 1, "5m": 5, "15m": 15, "1h": 60, "6h": 360, "24h": 1440 };

function Overview({ query }) {
  const memory = useRef({ sample: new Map(), points: [], isDeep: false, isWhole: false });
  const everyMilliseconds = useStore(aboutStore).endpoint ? DEPLOYED_MILLISECONDS : REFRESH_MILLISECONDS;
  const { data, error, isLoading, refresh } = usePolled(
    (signal) => look(memory.current, signal), "overview", { everyMilliseconds },
  );
  useKey("r", "refresh", refresh);
  const chosen = Object.hasOwn(WINDOWS, query.get("window")) ? query.get("window") : null;
  const actions = html`<${LiveSwitch} onRefresh=${refresh} />
    <a class="button button-primary changes" href=${address(["submit"])}><${Icon} name="plus" />Submit job</a>`;
  return html`<${Page} title="Overview" actions=${actions}>
    <${ErrorState} error=${error} isInline onRetry=${refresh} />
    ${isLoading && !data && html`<${Loading} rows=${8} />`}
    ${data && html`<${Figures} ...${data} chosen=${chosen} />`}
  <//>`;
}

/** Read the figures and the newest jobs: first several pages of them, later only newer ones. */
async function look(memory, signal) {
  const [stats, jobs] = await Promise.all([get(["stats"], { signal }), newest(memory, signal)]);
  memory.sample = merge(memory.sample, jobs);
  memory.points = [...memory.points, pointOf(stats)].slice(-MOST_POINTS);
  return { stats, sample: sampleOf([...memory.sample.values()], memory.isWhole), points: memory.points };
}

async function newest(memory, signal) {
  const found = [];
  let cursor = null;
  for (let reads = 0; reads < (memory.isDeep ? 1 : READS_AT_FIRST); reads += 1) {
    const page = await get(["jobs"], { query: { limit: JOBS_A_READ, cursor }, signal });
    found.push(...page.jobs);
    cursor = page.next_cursor;
    if (!cursor) break;
  }
  if (!memory.isDeep) memory.isWhole = !cursor;
  memory.isDeep = true;
  return found;
}

function pointOf({ queues }) {
  return { at: Date.now(), waiting: sumOf(queues, "waiting"), running: sumOf(queues, "running") };
}

function Figures({ stats, sample, points, chosen }) {
  const now = useNow();
  const drawnAt = Math.floor(now / 2000) * 2000;
  const window = chosen ?? narrowest(now - sample.since);
  const bins = useMemo(() => binsOf(drawnAt, WINDOWS[window] * 60_000, sample.coveredSince), [drawnAt, window, sample]);
  return html`<${Verdict} verdict=${verdictOf(stats, now)} />
    <${Tiles} stats=${stats} jobs=${sample.jobs} bins=${bins} />
    <${Windows} chosen=${window} />
    <div class="charts">
      <${LatenessChart} jobs=${sample.jobs} bins=${bins} />
      <${EndsChart} jobs=${sample.jobs} bins=${bins} />
      <${QueuesChart} points=${points} />
      <${QueuesTable} queues=${stats.queues} />
    </div>
    <${SampleNote} sample=${sample} />
    <div class="overview-columns">
      <${HandlersTable} jobs=${sample.jobs} />
      <${NewestFailures} jobs=${sample.jobs} />
    </div>
    <${Scheduler} stats=${stats} />`;
}

/** Return the narrowest window that shows all of the sample. */
function narrowest(milliseconds) {
  return Object.keys(WINDOWS).find((name) => WINDOWS[name] * 60_000 >= milliseconds) ?? Object.keys(WINDOWS).at(-1);
}

function Verdict({ verdict }) {
  return html`<section class=${`verdict verdict-${verdict.tone}`} aria-label="Verdict">
    <${Badge} tone=${verdict.tone} shape=${verdict.shape}>${verdict.headline}<//>
    <div>
      <p class="verdict-detail">${verdict.detail}</p>
      ${verdict.reasons.map((reason) => html`<p key=${reason} class="text-warning">${reason}</p>`)}
    </div>
  </section>`;
}

function Windows({ chosen }) {
  const words = (name) => name.replace("m", " min").replace("h", " h");
  return html`<nav class="chips" aria-label="Window of the plots">
    ${Object.keys(WINDOWS).map((name) => html`<a key=${name} class="chip" href=${address([""], { window: name })}
      aria-current=${name === chosen ? "true" : undefined}>${words(name)}</a>`)}
  </nav>`;
}

function SampleNote({ sample: { jobs, since, coveredSince } }) {
  if (jobs.length === 0) return null;
  const time = new Date(since).toISOString();
  const rest = coveredSince === 0 ? ". These are all jobs." : ". Older jobs are not counted.";
  return html`<p class="muted small">Lateness, attempts and the tables below cover the newest
    ${" "}${counted(jobs.length, "job")}, created since <${Time} at=${time} form="local" />${rest}</p>`;
}

function Scheduler({ stats }) {
  return html`<section class="card" aria-label="Scheduler">
    <div class="card-header"><h2>Scheduler</h2></div>
    <dl class="facts card-body">
      <div><dt>Leader</dt><dd class="mono">${stats.leader ?? "none"}</dd></div>
      <div><dt>Epoch</dt><dd>${count(stats.epoch)}</dd></div>
      <div><dt>Last tick</dt><dd><${Time} at=${stats.last_tick_at} form="both" /></dd></div>
      <div><dt>Watermark: no earlier job is left to send</dt><dd><${Time} at=${stats.watermark} form="local" /></dd></div>
      <div><dt>Open buckets below the watermark</dt><dd>${count(stats.open_buckets)}</dd></div>
      <div><dt>Clock skew</dt><dd>${duration(stats.skew_ms)}</dd></div>
    </dl>
  </section>`;
}
