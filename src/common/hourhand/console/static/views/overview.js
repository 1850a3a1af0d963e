// The overview: what needs attention, then the last hour, what waits and runs, and the scheduler's state.
import { html, useMemo, useRef } from "../lib/html.js";
import { aboutStore } from "../lib/about.js";
import { get } from "../lib/api.js";
import { ErrorState, Icon, LiveSwitch, Loading, Page, Time } from "../lib/components.js";
import { count, counted, duration } from "../lib/format.js";
import { useKey } from "../lib/keys.js";
import { useNow, usePolled } from "../lib/live.js";
import { usePauses } from "../lib/pauses.js";
import { address } from "../lib/router.js";
import { useStore } from "../lib/store.js";
import { Verdict } from "./overview_attention.js";
import { FirstJob } from "./overview_first_job.js";
import { HeatStrip } from "./overview_heat.js";
import { EndsChart, LatenessChart, QueuesChart } from "./overview_plots.js";
import { binsOf, coveredMilliseconds, figuresOf, merge, sampleOf, sumOf } from "./overview_sample.js";
import { HandlersTable, NewestFailures, QueuesTable } from "./overview_tables.js";
import { Tiles } from "./overview_tiles.js";

export const routes = [{ pattern: "/", view: Overview, section: "overview" }];

const REFRESH_MILLISECONDS = 4000;
/** Each refresh reads several hundred jobs, which cost money in a deployment. */
const DEPLOYED_MILLISECONDS = 15_000;
const JOBS_A_READ = 200;
const READS_WHEN_DEEP = 5;
/** The older jobs of the sample are read again after this time: they may have been redriven or discarded. */
const DEEP_MILLISECONDS = 60_000;
const DEPLOYED_DEEP_MILLISECONDS = 300_000;
/** Limits are read more rarely: each costs up to 20 reads. */
const LIMITS_MILLISECONDS = 5000;
const DEPLOYED_LIMITS_MILLISECONDS = 60_000;
const MOST_POINTS = 900;
const WINDOWS = { "1m": 1, "5m": 5, "15m": 15, "1h": 60, "6h": 360, "24h": 1440 };
const USUAL_WINDOW = "1h";

function Overview({ query }) {
  const memory = useRef({ sample: new Map(), points: [], deepAt: 0, isWhole: false });
  const isDeployed = Boolean(useStore(aboutStore).endpoint);
  const everyMilliseconds = isDeployed ? DEPLOYED_MILLISECONDS : REFRESH_MILLISECONDS;
  const deepMilliseconds = isDeployed ? DEPLOYED_DEEP_MILLISECONDS : DEEP_MILLISECONDS;
  const load = (signal) => look(memory.current, deepMilliseconds, signal);
  const { data, error, isLoading, refresh } = usePolled(load, "overview", { everyMilliseconds });
  // Apart from the rest: a caller who may not read limits still sees the figures.
  const { data: limited } = usePolled((signal) => get(["limits"], { signal }), "limits of the overview", {
    everyMilliseconds: isDeployed ? DEPLOYED_LIMITS_MILLISECONDS : LIMITS_MILLISECONDS,
  });
  const holds = { pauses: usePauses(), limits: limited?.limits ?? [] };
  useKey("r", "refresh", refresh);
  const chosen = Object.hasOwn(WINDOWS, query.get("window")) ? query.get("window") : null;
  const actions = html`<${LiveSwitch} onRefresh=${refresh} />
    <a class="button button-primary changes" href=${address(["submit"])}><${Icon} name="plus" />Submit job</a>`;
  return html`<${Page} title="Overview" actions=${actions}>
    <${ErrorState} error=${error} isInline onRetry=${refresh} />
    ${isLoading && !data && html`<${Loading} rows=${8} />`}
    ${data && html`<${Figures} ...${data} holds=${holds} chosen=${chosen} />`}
  <//>`;
}

/** Read the figures and the newest jobs: now and then several pages of them, in between the first one. */
async function look(memory, deepMilliseconds, signal) {
  const isDeep = Date.now() - memory.deepAt >= deepMilliseconds;
  const [stats, { found, cursor }] = await Promise.all([get(["stats"], { signal }), newest(isDeep ? READS_WHEN_DEEP : 1, signal)]);
  memory.sample = merge(memory.sample, found);
  if (isDeep) Object.assign(memory, { deepAt: Date.now(), isWhole: !cursor });
  memory.points = [...memory.points, pointOf(stats)].slice(-MOST_POINTS);
  return { stats, sample: sampleOf([...memory.sample.values()], memory.isWhole), points: memory.points };
}

async function newest(mostReads, signal) {
  const found = [];
  let cursor = null;
  for (let reads = 0; reads < mostReads; reads += 1) {
    const page = await get(["jobs"], { query: { limit: JOBS_A_READ, cursor }, signal });
    found.push(...page.jobs);
    cursor = page.next_cursor;
    if (!cursor) break;
  }
  return { found, cursor };
}

function pointOf({ queues, last_tick_at: tick }) {
  return { at: Date.now(), waiting: sumOf(queues, "waiting"), running: sumOf(queues, "running"), tick: tick ? Date.parse(tick) : null };
}

function Figures({ stats, sample, points, holds, chosen }) {
  const now = useNow();
  const drawnAt = Math.floor(now / 2000) * 2000;
  const window = chosen ?? USUAL_WINDOW;
  const bins = useMemo(() => binsOf(drawnAt, WINDOWS[window] * 60_000, sample.coveredSince), [drawnAt, window, sample]);
  const figures = useMemo(() => figuresOf(sample.jobs, drawnAt - WINDOWS[window] * 60_000), [drawnAt, window, sample]);
  if (sample.jobs.length === 0 && sample.coveredSince === 0) return html`<${FirstJob} /><${Scheduler} stats=${stats} />`;
  return html`<${Verdict} stats=${stats} holds=${holds} figures=${figures} points=${points} now=${now} coveredSince=${sample.coveredSince}
      windowWords=${wordsOf(window)} choice=${html`<${Windows} chosen=${window} />`} />
    <${HeatStrip} jobs=${sample.jobs} now=${drawnAt} coveredSince=${sample.coveredSince} />
    <${Tiles} stats=${stats} figures=${figures} minutes=${coveredMilliseconds(bins) / 60_000} />
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

/** Return a window in words: "last 15 min", "last hour". */
function wordsOf(name) {
  return name === "1h" ? "last hour" : `last ${lengthOf(name)}`;
}

function lengthOf(name) {
  return name.replace("m", " min").replace("h", " h");
}

function Windows({ chosen }) {
  return html`<nav class="chips" aria-label="Window of the verdict and the plots">
    ${Object.keys(WINDOWS).map((name) => html`<a key=${name} class="chip" href=${address([""], { window: name })}
      aria-current=${name === chosen ? "true" : undefined}>${lengthOf(name)}</a>`)}
  </nav>`;
}

function SampleNote({ sample: { jobs, since, coveredSince } }) {
  if (jobs.length === 0) return null;
  const time = new Date(since).toISOString();
  const rest = coveredSince === 0 ? ". These are all jobs." : ". Older jobs are not counted.";
  return html`<p class="muted small">The verdict, the plots and the tables below come from the newest
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
