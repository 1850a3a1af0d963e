// The nodes of a graph as a table: for graphs that are too large to draw, and for those who prefer it.
import { html, useState } from "../lib/html.js";
import { JobId, StatusBadge, statusWord, Table } from "../lib/components.js";
import { count, duration, visible } from "../lib/format.js";
import { layersOf } from "./graph_layout.js";
import { childWords, NODE_STATES, stateCounts } from "./graph_words.js";

const NODES_A_PAGE = 100;
const NAMES_SHOWN = 3;

/** Show the nodes that need attention first. `onChoose(name)` is called with the one that is opened. */
export function NodeList({ nodes, onChoose }) {
  const [state, setState] = useState("");
  const [most, setMost] = useState(NODES_A_PAGE);
  const layers = layersOf(nodes);
  const rank = ([name, { status }]) => NODE_STATES.indexOf(status) * 10_000 + layers.get(name);
  const all = Object.entries(nodes).filter(([, { status }]) => state === "" || status === state);
  const rows = all.sort((a, b) => rank(a) - rank(b)).slice(0, most);
  const chip = (value, words, number) => html`<button key=${value} type="button" class="chip" aria-pressed=${state === value}
    onClick=${() => setState(value)}>${words} <span class="chip-count">${count(number)}</span></button>`;
  return html`<div class="chips graph-states" role="group" aria-label="State of the nodes">
      ${chip("", "All", Object.keys(nodes).length)}
      ${stateCounts(nodes).map(([name, number]) => chip(name, statusWord(name), number))}
    </div>
    <${Table} caption="Nodes of the graph" columns=${columnsOf(onChoose)} rows=${rows} rowKey=${([name]) => name} className="table-nodes" />
    ${rows.length < all.length && html`<p class="log-more"><button type="button" class="button button-small"
      onClick=${() => setMost(most + NODES_A_PAGE)}>Show ${count(Math.min(NODES_A_PAGE, all.length - rows.length))} more nodes</button></p>`}`;
}

function columnsOf(onChoose) {
  return [
    { title: "Node", cell: ([name]) => html`<button type="button" class="button-link" onClick=${() => onChoose(name)}><bdi>${visible(name)}</bdi></button>` },
    { title: "State", cell: ([, { status, of }]) => html`<span class="job-state"><${StatusBadge} status=${status} />
      ${of && html`<span class="small muted">${childWords(of)}</span>`}</span>` },
    { title: "After", className: "cell-wrap", cell: ([, { after }]) => html`<${Names} names=${after} />` },
    { title: "Took", isNumber: true, cell: ([, node]) => tookWords(node) ?? html`<span class="muted none">–</span>` },
    { title: "Job", cell: ([, { job_id: id }]) => (id ? html`<${JobId} id=${id} />` : html`<span class="muted none">–</span>`) },
  ];
}

function Names({ names }) {
  if (names.length === 0) return html`<span class="muted none">–</span>`;
  const others = names.length - NAMES_SHOWN;
  return html`<bdi class="small">${visible(names.slice(0, NAMES_SHOWN).join(", "))}${others > 0 ? ` and ${count(others)} more` : ""}</bdi>`;
}

/** Return how long a node took; null for one that has not ended, or is no single job. */
export function tookWords({ started_at: begun, finished_at: ended }) {
  return begun && ended ? duration(Date.parse(ended) - Date.parse(begun)) : null;
}
