// The drawing of a graph: its nodes in layers from left to right, and the edges between them.
import { html, useEffect, useLayoutEffect, useMemo, useRef, useState } from "../lib/html.js";
import { StatusBadge, statusTone } from "../lib/components.js";
import { count, visible } from "../lib/format.js";
import { layOut, NODE_HEIGHT, NODE_WIDTH } from "./graph_layout.js";
import { childWords } from "./graph_words.js";

/** A drawing that is wider than its frame gets smaller to fit, as far as its texts stay readable. */
const LEAST_ZOOM = 0.8;

/** Draw the nodes; each is a button that chooses it. `chosen`: the name of the chosen one, or null. */
export function Drawing({ nodes, chosen, onChoose }) {
  const shape = JSON.stringify(Object.entries(nodes).map(([name, { after }]) => [name, after]));
  // The states change every few seconds, the layout does not.
  const { width, height, places, edges } = useMemo(() => layOut(nodes), [shape]);
  const frame = useRef(null);
  const zoom = useZoom(frame, width);
  useEffect(() => show(frame.current, places.get(chosen), zoom), [chosen, shape, zoom]);
  return html`<div class="graph-frame" ref=${frame}>
    <div class="graph-canvas" role="group" aria-label="Nodes of the graph" style=${{ width: `${width}px`, height: `${height}px`, zoom }}>
      <${Edges} edges=${edges} width=${width} height=${height} chosen=${chosen} />
      ${[...places].map(([name, { x, y }]) => html`<${NodeButton} key=${name} name=${name} node=${nodes[name]} x=${x} y=${y}
        isChosen=${name === chosen} onChoose=${onChoose} />`)}
    </div>
  </div>`;
}

function Edges({ edges, width, height, chosen }) {
  const isAt = ({ from, to }) => from === chosen || to === chosen;
  // The edges of the chosen node last, above the others.
  const sorted = [...edges.filter((edge) => !isAt(edge)), ...edges.filter(isAt)];
  return html`<svg class="graph-edges" width=${width} height=${height} viewBox=${`0 0 ${width} ${height}`} aria-hidden="true" focusable="false">
    <defs>${["", "-at"].map((kind) => html`<marker key=${kind} id=${`graph-arrow${kind}`} viewBox="0 0 8 8" refX="7.5" refY="4"
      markerWidth="8" markerHeight="8" markerUnits="userSpaceOnUse" orient="auto"><path class=${`graph-arrow${kind}`} d="M0 0.5L8 4L0 7.5z" /></marker>`)}</defs>
    ${sorted.map((edge) => html`<path key=${`${edge.from} ${edge.to}`} class=${isAt(edge) ? "graph-edge graph-edge-at" : "graph-edge"}
      d=${edge.path} marker-end=${isAt(edge) ? "url(#graph-arrow-at)" : "url(#graph-arrow)"} />`)}
  </svg>`;
}

function NodeButton({ name, node, x, y, isChosen, onChoose }) {
  const place = { left: `${x}px`, top: `${y}px`, width: `${NODE_WIDTH}px`, height: `${NODE_HEIGHT}px` };
  return html`<button type="button" class=${`graph-node node-${statusTone(node.status)} node-${node.status.toLowerCase()}`} style=${place}
    aria-pressed=${isChosen} title=${visible(name)} onClick=${() => onChoose(name)}>
    <span class="graph-node-name"><bdi>${visible(name)}</bdi></span>
    <span class="graph-node-state"><${StatusBadge} status=${node.status} />
      ${node.of && html`<span class="small" title=${childWords(node.of)}>${count(node.of.succeeded)}/${count(node.of.total)}</span>`}</span>
  </button>`;
}

/** Return how large to draw what is `width` wide, so that it fits into the frame. */
function useZoom(frame, width) {
  const [room, setRoom] = useState(width);
  useLayoutEffect(() => {
    const watcher = new ResizeObserver(([entry]) => setRoom(Math.floor(entry.contentRect.width)));
    watcher.observe(frame.current);
    return () => watcher.disconnect();
  }, []);
  return Math.min(1, Math.max(LEAST_ZOOM, room / width));
}

/** Scroll the frame, and not the page, to where a node is seen. */
function show(frame, place, zoom) {
  if (!frame || !place) return;
  const [x, y, width, height] = [place.x, place.y, NODE_WIDTH, NODE_HEIGHT].map((length) => length * zoom);
  const within = (from, size, start, length) => (from < start || from + size > start + length ? from - (length - size) / 2 : start);
  frame.scrollTo({
    left: within(x, width, frame.scrollLeft, frame.clientWidth),
    top: within(y, height, frame.scrollTop, frame.clientHeight),
  });
}
