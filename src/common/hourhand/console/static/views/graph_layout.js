// Where the nodes of a graph stand in its drawing: one column for each layer, edges from left to right. Pure.

export const NODE_WIDTH = 172;
export const NODE_HEIGHT = 54;

const COLUMN_GAP = 44;
const ROW_GAP = 16;
const PADDING = 14;
/** The room that an edge takes in a layer that it crosses. */
const EDGE_HEIGHT = 8;
/** Each sweep orders or moves all layers once. More of them change the drawings of real graphs no more. */
const SWEEPS = 8;

/**
 * Return the layer of each node, by name: 0 without nodes before it, else one more than the last of
 * these. `nodes`: {name: {after: [names]}}, without a cycle.
 */
export function layersOf(nodes) {
  const layers = new Map();
  const before = (name) => nodes[name].after.filter((other) => Object.hasOwn(nodes, other));
  const missing = new Map(Object.keys(nodes).map((name) => [name, before(name).length]));
  const after = new Map(Object.keys(nodes).map((name) => [name, []]));
  for (const name of Object.keys(nodes)) before(name).forEach((other) => after.get(other).push(name));
  const ready = [...missing].filter(([, number]) => number === 0).map(([name]) => name);
  for (let at = 0; at < ready.length; at += 1) {
    const name = ready[at];
    layers.set(name, Math.max(-1, ...before(name).map((other) => layers.get(other))) + 1);
    for (const next of after.get(name)) {
      missing.set(next, missing.get(next) - 1);
      if (missing.get(next) === 0) ready.push(next);
    }
  }
  return layers;
}

/**
 * Return the drawing of a graph: {width, height, places, edges}. `places` has {x, y} of each node, by
 * name, layer by layer; an edge is {from, to, path}, `path` as in SVG.
 */
export function layOut(nodes) {
  const layers = layersOf(nodes);
  const columns = columnsOf(nodes, layers);
  order(columns);
  place(columns);
  const slots = columns.flat();
  const named = slots.filter((slot) => slot.name !== null);
  const lowest = Math.max(0, ...slots.map(({ y, height }) => y + height));
  return {
    width: 2 * PADDING + columns.length * (NODE_WIDTH + COLUMN_GAP) - COLUMN_GAP,
    height: lowest + PADDING,
    places: new Map(named.map((slot) => [slot.name, { x: xOf(slot), y: slot.y }])),
    edges: named.flatMap((slot) => slot.routes.map((route) => ({ from: route[0].name, to: slot.name, path: pathOf(route) }))),
  };
}

/** Return the slots of each layer. An edge over several layers has a slot in each one between, shared by those of one node. */
function columnsOf(nodes, layers) {
  const columns = Array.from({ length: Math.max(-1, ...layers.values()) + 1 }, () => []);
  const slots = new Map();
  const slotAt = (key, layer, name) => {
    if (!slots.has(key)) {
      const slot = { name, layer, height: name === null ? EDGE_HEIGHT : NODE_HEIGHT, y: 0, before: [], after: [], routes: [] };
      slots.set(key, slot);
      columns[layer].push(slot);
    }
    return slots.get(key);
  };
  for (const [name, layer] of layers) slotAt(`node ${name}`, layer, name);
  for (const [name, layer] of layers) {
    const slot = slots.get(`node ${name}`);
    for (const other of nodes[name].after.filter((known) => layers.has(known))) {
      const route = [slots.get(`node ${other}`)];
      for (let between = layers.get(other) + 1; between < layer; between += 1) route.push(slotAt(`edge ${between} ${other}`, between, null));
      route.push(slot);
      slot.routes.push(route);
      route.slice(1).forEach((next, index) => join(route[index], next));
    }
  }
  return columns;
}

function join(slot, next) {
  if (slot.after.includes(next)) return;
  slot.after.push(next);
  next.before.push(slot);
}

/** Order the slots of each column by those that they are joined to, so that fewer edges cross. */
function order(columns) {
  for (let sweep = 0; sweep < SWEEPS; sweep += 1) {
    const [side, sequence] = sweep % 2 === 0 ? ["before", columns] : ["after", [...columns].reverse()];
    for (const column of columns) column.forEach((slot, index) => { slot.index = index; });
    for (const column of sequence) {
      const wanted = new Map(column.map((slot) => [slot, mean(slot[side].map(({ index }) => index)) ?? slot.index]));
      column.sort((a, b) => wanted.get(a) - wanted.get(b));
      column.forEach((slot, index) => { slot.index = index; });
    }
  }
}

/** Give each slot a height beside those that it is joined to, in the order of its column. */
function place(columns) {
  for (const column of columns) stack(column, () => null);
  for (let sweep = 0; sweep < SWEEPS; sweep += 1) {
    const [side, sequence] = sweep % 2 === 0 ? ["before", columns] : ["after", [...columns].reverse()];
    for (const column of sequence) stack(column, (slot) => mean(slot[side].map(middleOf)));
  }
  const highest = Math.min(...columns.flat().map(({ y }) => y));
  for (const slot of columns.flat()) slot.y += PADDING - highest;
}

/** Stack a column; each slot is as near to the height that `wantedOf` returns as the others allow. */
function stack(column, wantedOf) {
  const moves = [];
  let free = -Infinity;
  for (const slot of column) {
    const wanted = wantedOf(slot);
    const top = wanted === null ? slot.y : wanted - slot.height / 2;
    slot.y = Math.max(top, free);
    moves.push(top - slot.y);
    free = slot.y + slot.height + ROW_GAP;
  }
  const shift = mean(moves) ?? 0;
  for (const slot of column) slot.y += shift;
}

/** Return an edge as the path of an SVG: a curve between layers, a line through those that it crosses. */
function pathOf(route) {
  let [x, y] = [xOf(route[0]) + NODE_WIDTH, middleOf(route[0])];
  let path = `M${x} ${round(y)}`;
  for (const slot of route.slice(1)) {
    const [nextX, nextY] = [xOf(slot), middleOf(slot)];
    const bend = (nextX - x) / 2;
    path += ` C${x + bend} ${round(y)} ${nextX - bend} ${round(nextY)} ${nextX} ${round(nextY)}`;
    [x, y] = [nextX + NODE_WIDTH, nextY];
    if (slot.name === null) path += ` H${x}`;
  }
  return path;
}

function xOf({ layer }) {
  return PADDING + layer * (NODE_WIDTH + COLUMN_GAP);
}

function middleOf({ y, height }) {
  return y + height / 2;
}

function mean(numbers) {
  return numbers.length === 0 ? null : numbers.reduce((sum, number) => sum + number, 0) / numbers.length;
}

function round(number) {
  return Math.round(number * 10) / 10;
}
