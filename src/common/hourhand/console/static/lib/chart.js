// A plot over time, by uPlot. Its legend is ours: words and the values under the pointer.
import { html, useEffect, useRef, useState } from "./html.js";
import uPlot from "../vendor/uPlot.mjs";
import { localClock } from "./format.js";
import { colour, onColoursChanged } from "./theme.js";

const HEIGHT = 170;
const AXIS_PIXELS = 58;
const POWERS = Array.from({ length: 8 }, (_, power) => 10 ** power);
const WHOLE = POWERS.flatMap((power) => [power, 2 * power, 5 * power]);
const LINEAR = { range: (_plot, _low, high) => [0, Math.max(high * 1.1, 1)] };
const LOGARITHMIC = {
  distr: 3,
  range: (_plot, low, high) => [
    decade(Math.min(low || 1, 10), Math.floor),
    decade(Math.max(high || 1, 1000), Math.ceil),
  ],
};

/**
 * Plot `series` over `times` (milliseconds). Each series: {label, tone (a CSS variable such as
 * "--good"), values (null: a gap), kind: "line" | "bars"}. `format(value)` makes words. The axis
 * spans `span[0]` to `span[1]`, in milliseconds too.
 */
export function Chart({ label, times, series, span, format, isLogarithmic = false }) {
  const element = useRef(null);
  const plot = useRef(null);
  const shownSpan = useRef(span);
  shownSpan.current = span;
  const [at, setAt] = useState(null);
  const shape = series.map(({ label: name, kind }) => `${name}/${kind}`).join();

  useEffect(() => {
    const draw = () => {
      plot.current?.destroy();
      const width = element.current.clientWidth;
      const spanOf = () => shownSpan.current;
      const chosen = options({ series, format, isLogarithmic, width, spanOf, onMove: setAt });
      plot.current = new uPlot(chosen, dataOf(times, series, isLogarithmic), element.current);
    };
    draw();
    const observer = new ResizeObserver(() => {
      const width = element.current?.clientWidth;
      if (width && plot.current?.width !== width) plot.current.setSize({ width, height: HEIGHT });
    });
    observer.observe(element.current);
    const stop = onColoursChanged(draw);
    return () => {
      stop();
      observer.disconnect();
      plot.current?.destroy();
      plot.current = null;
    };
  }, [shape, isLogarithmic]);
  useEffect(() => { plot.current?.setData(dataOf(times, series, isLogarithmic)); }, [times, series]);

  const index = at ?? newestFilled(series);
  const summary = series.map((one) => `${one.label} ${valueAt(one, index, format)}`).join(", ");
  return html`<figure class="chart">
    <figcaption class="chart-legend">
      ${series.map((one) => html`<span key=${one.label} class="chart-key">
        <span class="chart-swatch" style=${{ background: `var(${one.tone})` }} aria-hidden="true"></span>
        ${one.label} <strong>${valueAt(one, index, format)}</strong>
      </span>`)}
      <span class="muted small">${times[index] ? `${at === null ? "latest, " : ""}${localClock(times[index])}` : ""}</span>
    </figcaption>
    <div ref=${element} class="chart-plot" role="img" aria-label=${`${label}. Latest: ${summary}.`}></div>
  </figure>`;
}

function dataOf(times, series, isLogarithmic) {
  // A logarithmic axis has no place for nought: it is drawn at one.
  const drawn = (value) => (isLogarithmic && value !== null ? Math.max(value, 1) : value);
  return [times.map((time) => time / 1000), ...series.map(({ values }) => values.map(drawn))];
}

/** Return the place of the newest values: a bar of height nought is none, so that no legend shows an empty bucket. */
function newestFilled(series) {
  const isFilled = (kind) => (value) => value !== null && !(kind === "bars" && value === 0);
  return Math.max(...series.map(({ values, kind }) => values.findLastIndex(isFilled(kind))));
}

function valueAt({ values }, index, format) {
  const value = values[index];
  return value == null ? "–" : format(value);
}

function options({ series, format, isLogarithmic, width, spanOf, onMove }) {
  const grid = { stroke: colour("--line"), width: 1 };
  const axis = { stroke: colour("--muted"), grid, ticks: { show: false }, font: "11px system-ui" };
  const times = (_plot, splits) => splits.map((seconds) => localClock(seconds * 1000));
  const values = (_plot, splits) => splits.map((value) => (value === null ? "" : format(value)));
  return {
    width,
    height: HEIGHT,
    legend: { show: false },
    cursor: { y: false, drag: { x: false, y: false }, points: { size: 6 } },
    scales: { x: { time: true, range: () => spanOf().map((time) => time / 1000) }, y: isLogarithmic ? LOGARITHMIC : LINEAR },
    axes: [
      { ...axis, size: 26, space: 90, values: times },
      { ...axis, size: AXIS_PIXELS, values, ...(isLogarithmic ? { splits: decades } : { incrs: WHOLE }) },
    ],
    series: [{}, ...series.map(seriesOptions)],
    hooks: { setCursor: [({ cursor }) => onMove(cursor.idx ?? null)] },
  };
}

function decade(value, round) {
  return 10 ** round(Math.log10(Math.max(value, 1)));
}

function decades(_plot, _axis, low, high) {
  const [first, last] = [Math.log10(low), Math.log10(high)].map(Math.round);
  return Array.from({ length: last - first + 1 }, (_, index) => 10 ** (first + index));
}

/** Return the place of a value that has no other to be joined to by a line; else uPlot decides. */
function onlyOne(plot, series, isShown) {
  const known = plot.data[series].flatMap((value, index) => (value == null ? [] : [index]));
  return !isShown && known.length === 1 ? known : null;
}

function seriesOptions({ label, tone, kind }) {
  const stroke = colour(tone);
  const isBars = kind === "bars";
  return {
    label,
    stroke,
    width: isBars ? 0 : 1.75,
    fill: isBars ? stroke : undefined,
    paths: isBars ? uPlot.paths.bars({ size: [0.7, 40], gap: 1 }) : undefined,
    points: isBars ? { show: false } : { size: 5, filter: onlyOne },
    spanGaps: true,
  };
}
