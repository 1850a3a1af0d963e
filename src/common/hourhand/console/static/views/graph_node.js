// One node of a graph: its job, its place, its error, and the button that runs it again.
import { html } from "../lib/html.js";
import { Changes, Icon, JobId, StatusBadge, Time } from "../lib/components.js";
import { visible } from "../lib/format.js";
import { address } from "../lib/router.js";
import { tookWords } from "./graph_list.js";
import { childWords, failureWords, reasonWords, ruleWords } from "./graph_words.js";
import { CallChildren, CountsBar } from "./job_children.js";

/** Show a node. `onRerun` is absent where the graph has not ended; `onChoose(name)` shows another node. */
export function NodeDetails({ graph, name, onChoose, onRerun }) {
  const node = graph.nodes[name];
  const next = Object.keys(graph.nodes).filter((other) => graph.nodes[other].after.includes(name));
  const reason = reasonWords(node);
  const failure = failureWords(node);
  const took = tookWords(node);
  return html`<section class="graph-details" aria-label=${`Node ${visible(name)}`}>
    <header class="graph-details-head">
      <h3><bdi>${visible(name)}</bdi></h3><${StatusBadge} status=${node.status} />
      ${onRerun && html`<${Changes} label=${`Actions on ${visible(name)}`}><button type="button" class="button button-small button-primary"
        onClick=${onRerun}><${Icon} name="refresh" />Rerun from here …</button><//>`}
    </header>
    ${node.error && html`<p class="failure-text"><code class="text-bad">${visible(node.error.type)}</code> <bdi>${visible(node.error.message)}</bdi></p>`}
    ${reason && html`<p>${reason}</p>`}
    <dl class="facts">
      <${Fact} title="Job">${node.job_id ? html`<${JobId} id=${node.job_id} />` : html`<span class="muted">${node.of ? "one for each item" : "none"}</span>`}<//>
      <${Fact} title="Handler"><a href=${address(["handlers", node.handler])}><bdi>${visible(node.handler)}</bdi></a><//>
      <${Fact} title="Runs">${ruleWords(node)}${failure && html`<span class="muted">. ${failure}</span>`}<//>
      <${Fact} title="After"><${Names} names=${node.after} onChoose=${onChoose} /><//>
      <${Fact} title="Before"><${Names} names=${next} onChoose=${onChoose} /><//>
      ${node.started_at && html`<${Fact} title="Started"><${Time} at=${node.started_at} form="both" /><//>`}
      ${node.finished_at && html`<${Fact} title="Finished"><${Time} at=${node.finished_at} form="both" /><//>`}
      ${took && html`<${Fact} title="Took">${took}<//>`}
    </dl>
    ${node.of && html`<p class="small">${childWords(node.of)}</p><${CountsBar} of=${node.of} />
      <${CallChildren} key=${name} jobId=${graph.id} path=${name} failed=${node.of.failed} isOpen=${node.of.succeeded + node.of.failed < node.of.total} />`}
  </section>`;
}

function Fact({ title, children }) {
  return html`<div><dt>${title}</dt><dd>${children}</dd></div>`;
}

function Names({ names, onChoose }) {
  if (names.length === 0) return html`<span class="muted">no node</span>`;
  return html`<span class="tags graph-names">${names.map((name) => html`<button key=${name} type="button" class="tag"
    onClick=${() => onChoose(name)}><bdi>${visible(name)}</bdi></button>`)}</span>`;
}
