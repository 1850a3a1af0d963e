// The grid of a schedule: a column for each of its last runs, a row for each node of the graph that it runs.
import { html, useLayoutEffect, useRef, useState } from "../lib/html.js";
import { aboutStore } from "../lib/about.js";
import { get } from "../lib/api.js";
import {
  Changes, EmptyState, ErrorState, Icon, JobId, Loading, StatusBadge, StatusMark, statusTone, statusWord, Time,
} from "../lib/components.js";
import { count, counted, visible } from "../lib/format.js";
import { usePolled } from "../lib/live.js";
import { address, changeQuery } from "../lib/router.js";
import { useStore } from "../lib/store.js";
import { GraphRerun } from "./graph.js";
import { layersOf } from "./graph_layout.js";
import { tookWords } from "./graph_list.js";
import { childWords, NODE_STATES, reasonWords } from "./graph_words.js";
import { columnTime, shortTimeInZone } from "./schedule_words.js";

const RUNS = [10, 25, 50, 100];
const DEFAULT_RUNS = 25;
/** Each refresh reads the journal of each run. */
const REFRESH_MILLISECONDS = 5000;
const DEPLOYED_MILLISECONDS = 30_000;
const ENDED = ["SUCCEEDED", "DEAD", "CANCELLED", "EXPIRED"];

/** Show the last runs. The address holds how many, and the chosen cell; `asked` changes when they are to be read again. */
export function Grid({ schedule, query, asked }) {
  const number = RUNS.find((choice) => String(choice) === query.get("runs")) ?? DEFAULT_RUNS;
  const { data, error, isLoading, refresh } = usePolled(
    (signal) => readGrid(schedule.id, number, signal),
    `grid of ${schedule.id}, ${number}, ${asked}`,
    { everyMilliseconds: useStore(aboutStore).endpoint ? DEPLOYED_MILLISECONDS : REFRESH_MILLISECONDS },
  );
  // Newest first in the answer; in the grid, time runs to the right.
  const runs = data && [...data.runs].reverse();
  return html`<section class="card" aria-label="Grid">
    <div class="card-header"><h2>Grid</h2>
      <span class="small muted">Runs</span>
      <select class="input grid-number" aria-label="Number of runs" value=${number}
        onChange=${(event) => changeQuery({ runs: event.target.value }, { replace: true })}>
        ${RUNS.map((choice) => html`<option key=${choice} value=${choice}>${choice}</option>`)}</select></div>
    <div class="card-body">
      <${ErrorState} error=${error} isInline onRetry=${refresh} />
      ${isLoading && !data && html`<${Loading} rows=${5} />`}
      ${runs?.length === 0 && html`<${EmptyState} title="No runs yet" icon="clock"><p>Each run appears here with the states of its nodes.</p><//>`}
      ${runs?.length > 0 && html`<${Cells} schedule=${schedule} runs=${runs} names=${data.names} query=${query} onChanged=${refresh} />`}
    </div>
  </section>`;
}

/** Read the runs, newest first, and the names of all nodes: those of the newest graph layer by layer, then those that only older ones have. */
async function readGrid(scheduleId, number, signal) {
  const { runs } = await get(["schedules", scheduleId, "grid"], { query: { runs: number }, signal });
  const newest = runs.find(({ nodes }) => Object.keys(nodes).length > 0);
  const graph = newest && await get(["graphs", newest.job_id], { signal });
  const layers = graph ? [...layersOf(graph.nodes)].sort(([, one], [, other]) => one - other) : [];
  return { runs, names: [...new Set([...layers.map(([name]) => name), ...runs.flatMap(({ nodes }) => Object.keys(nodes))])] };
}

function Cells({ schedule, runs, names, query, onChanged }) {
  const [run, name] = [runs.find(({ job_id: id }) => id === query.get("run")), query.get("node")];
  const node = run && name !== null && Object.hasOwn(run.nodes, name) ? run.nodes[name] : null;
  const timeOf = ({ occurrence, started_at: begun }) => shortTimeInZone(occurrence ?? begun, schedule.timezone);
  const frame = useRef(null);
  // The newest runs are at the right.
  useLayoutEffect(() => { frame.current.scrollLeft = frame.current.scrollWidth; }, [runs.length]);
  return html`<div class="grid-frame" ref=${frame} tabindex="0" role="region" aria-label="Runs by node"><table class="run-grid">
      <caption class="sr-only">The last ${count(runs.length)} runs, the newest at the right, by node</caption>
      <thead><tr><th scope="col" class="grid-corner">Run</th>
        ${runs.map((one) => html`<th key=${one.job_id} scope="col"><a class=${`grid-run cell-${statusTone(one.status)}`} href=${address(["jobs", one.job_id])}
          title=${`${timeOf(one)}: ${statusWord(one.status)}`} aria-label=${`Run of ${timeOf(one)}: ${statusWord(one.status)}`}>
          <span class="grid-time" aria-hidden="true">${columnTime(one.occurrence ?? one.started_at, schedule.timezone)}</span><${StatusMark} status=${one.status} /></a></th>`)}
      </tr></thead>
      <tbody>${names.map((row) => html`<tr key=${row}><th scope="row" title=${visible(row)}><bdi>${visible(row)}</bdi></th>
        ${runs.map((one) => html`<td key=${one.job_id}>${Object.hasOwn(one.nodes, row) && html`<${Cell} node=${one.nodes[row]}
          words=${`${visible(row)}, ${timeOf(one)}`} isChosen=${one === run && row === name}
          onChoose=${() => changeQuery({ run: one.job_id, node: row }, { replace: true })} />`}</td>`)}
      </tr>`)}</tbody>
    </table></div>
    ${names.length > 0 && html`<${Legend} runs=${runs} />`}
    ${names.length === 0 && html`<p class="muted small">These runs are single jobs, not graphs, so the grid has no nodes.</p>`}
    ${node && html`<${CellDetails} key=${`${run.job_id} ${name}`} run=${run} name=${name} node=${node} time=${timeOf(run)} onChanged=${onChanged} />`}`;
}

function Cell({ node, words, isChosen, onChoose }) {
  const title = `${words}: ${statusWord(node.status)}${node.of ? `, ${childWords(node.of)}` : ""}`;
  return html`<button type="button" class=${`grid-cell cell-${statusTone(node.status)}`} aria-pressed=${isChosen} aria-label=${title}
    title=${title} onClick=${onChoose}><${StatusMark} status=${node.status} /></button>`;
}

/** The states that are in the grid, with their marks. */
function Legend({ runs }) {
  const seen = new Set(runs.flatMap(({ nodes }) => Object.values(nodes).map(({ status }) => status)));
  return html`<ul class="grid-legend small muted" aria-label="Legend">
    ${NODE_STATES.filter((state) => seen.has(state)).map((state) => html`<li key=${state}>
      <span class=${`grid-cell cell-${statusTone(state)}`} aria-hidden="true"><${StatusMark} status=${state} /></span>${statusWord(state)}</li>`)}
  </ul>`;
}

function CellDetails({ run, name, node, time, onChanged }) {
  const [isAsking, setAsking] = useState(false);
  const graph = address(["jobs", run.job_id], { node: name });
  const took = tookWords(node);
  const close = (isDone) => {
    setAsking(false);
    if (isDone) onChanged();
  };
  return html`<section class="graph-details" aria-label=${`${visible(name)} of the run of ${time}`}>
    <header class="graph-details-head">
      <h3><bdi>${visible(name)}</bdi> <span class="muted">${time}</span></h3><${StatusBadge} status=${node.status} />
      ${ENDED.includes(run.status) && html`<${Changes} label="Actions on the node"><button type="button" class="button button-small button-primary"
        onClick=${() => setAsking(true)}><${Icon} name="refresh" />Rerun from here …</button><//>`}
    </header>
    ${node.reason && html`<p>${reasonWords(node)}</p>`}
    <p class="grid-links">${node.job_id ? html`<span>Job <${JobId} id=${node.job_id} /></span>`
        : node.of && html`<span>${counted(node.of.total, "job")}: ${childWords(node.of)}</span>`}
      <a href=${graph}>Show the graph of this run</a>
      ${node.started_at && html`<span>Started <${Time} at=${node.started_at} form="both" /></span>`}
      ${took && html`<span>Took ${took}</span>`}</p>
    ${isAsking && html`<${GraphRerun} graphId=${run.job_id} nodes=${run.nodes} from=${[name]} onClose=${close} />`}
  </section>`;
}
