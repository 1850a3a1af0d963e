// A graph on the page of its job: its nodes with their live states, and reruns of a part of it.
import { html, useState } from "../lib/html.js";
import { get, post } from "../lib/api.js";
import { Changes, ErrorState, Icon, Loading } from "../lib/components.js";
import { count, visible } from "../lib/format.js";
import { usePolled } from "../lib/live.js";
import { changeQuery } from "../lib/router.js";
import { Drawing } from "./graph_drawing.js";
import { NodeList } from "./graph_list.js";
import { NodeDetails } from "./graph_node.js";
import { failedNodes, summaryWords } from "./graph_words.js";
import { RerunDialog } from "./rerun_dialog.js";

/** Above this number of nodes a drawing shows less than a list. */
const MOST_DRAWN = 150;
const OPEN_MILLISECONDS = 2000;
const ENDED_MILLISECONDS = 10_000;

/** Show the graph that a job is. The address holds the chosen node, and whether the nodes are listed. */
export function Graph({ job, isOpen, query, onChanged }) {
  const [from, setFrom] = useState(null);
  const { data: graph, error, isLoading, refresh } = usePolled(
    (signal) => get(["graphs", job.id], { signal }), `graph ${job.id}`,
    { everyMilliseconds: isOpen ? OPEN_MILLISECONDS : ENDED_MILLISECONDS, version: job.status },
  );
  const close = (isDone) => {
    setFrom(null);
    if (!isDone) return;
    refresh();
    onChanged();
  };
  return html`<section class="card graph" aria-label="Graph">
    <div class="card-header"><h2>Graph</h2>
      <span class="muted small">${graph && summaryWords(graph.nodes)}</span>
      ${graph && html`<${Tools} graph=${graph} isOpen=${isOpen} query=${query} onRerun=${setFrom} />`}</div>
    <div class="card-body">
      <${ErrorState} error=${error} isInline onRetry=${refresh} />
      ${isLoading && !graph && html`<${Loading} rows=${4} />`}
      ${graph && html`<${Nodes} graph=${graph} isOpen=${isOpen} query=${query} onRerun=${setFrom} />`}
    </div>
  </section>
    ${from && html`<${GraphRerun} graphId=${job.id} nodes=${graph.nodes} from=${from} onClose=${close} />`}`;
}

/** Ask before the nodes `from` and all after them run again. `nodes`: those of the graph, with their states. */
export function GraphRerun({ graphId, nodes, from, onClose }) {
  const send = (fields) => post(["graphs", graphId, "rerun"], { from, ...fields });
  const names = from.length === 1 ? visible(from[0]) : `${count(from.length)} nodes`;
  return html`<${RerunDialog} title=${`Rerun the graph from ${names}?`} noun="node" verb="Rerun" send=${send}
    hasResult=${(name) => nodes[name]?.status === "SUCCEEDED"} onClose=${onClose} />`;
}

/** Return whether the nodes are listed: too many to draw, or the address says so. */
function isListed(graph, query) {
  return Object.keys(graph.nodes).length > MOST_DRAWN || query.get("nodes") === "list";
}

function Tools({ graph, isOpen, query, onRerun }) {
  const failed = failedNodes(graph.nodes);
  const isDrawable = Object.keys(graph.nodes).length <= MOST_DRAWN;
  const form = (value, words) => html`<button type="button" class="button button-small" aria-pressed=${isListed(graph, query) === (value === "list")}
    onClick=${() => changeQuery({ nodes: value }, { replace: true })}>${words}</button>`;
  return html`<span class="graph-tools">
    ${isDrawable && html`<span class="segmented" role="group" aria-label="Show the nodes as">${form("", "Drawing")}${form("list", "List")}</span>`}
    ${!isOpen && failed.length > 0 && html`<${Changes} label="Actions on the graph"><button type="button" class="button button-small button-primary"
      onClick=${() => onRerun(failed)}><${Icon} name="refresh" />Rerun ${failed.length === 1 ? "the failed node" : `${count(failed.length)} failed nodes`} …</button><//>`}
  </span>`;
}

function Nodes({ graph, isOpen, query, onRerun }) {
  const [failed] = failedNodes(graph.nodes);
  // What failed is what most people open the page for.
  const chosen = query.get("node") ?? failed;
  const choose = (node) => changeQuery({ node }, { replace: true });
  const isKnown = chosen !== undefined && Object.hasOwn(graph.nodes, chosen);
  const details = isKnown && html`<${NodeDetails} graph=${graph} name=${chosen} onChoose=${choose}
    onRerun=${isOpen ? null : () => onRerun([chosen])} />`;
  if (isListed(graph, query)) return html`${details}<${NodeList} nodes=${graph.nodes} onChoose=${choose} />`;
  return html`<${Drawing} nodes=${graph.nodes} chosen=${isKnown ? chosen : null} onChoose=${choose} />
    ${details ?? html`<p class="muted small graph-hint">Choose a node for its job and its error.</p>`}`;
}
