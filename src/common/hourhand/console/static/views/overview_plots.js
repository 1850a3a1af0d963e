// The plots of the overview.
import { html, useMemo } from "../lib/html.js";
import { Chart } from "../lib/chart.js";
import { count, duration } from "../lib/format.js";
import { endsSeries, latenessSeries, spanOf, timesOf } from "./overview_sample.js";

const LEAST_MILLISECONDS = 60_000;

/** A part of the overview with its title, and the source of its figures. */
export function Card({ title, note, children }) {
  return html`<section class="card" aria-label=${title}>
    <div class="card-header"><h2>${title}</h2>${note && html`<span class="muted small">${note}</span>`}</div>
    <div class="card-body">${children}</div>
  </section>`;
}

/** How late jobs started, by when they started. */
export function LatenessChart({ jobs, bins }) {
  const { p50, p99 } = useMemo(() => latenessSeries(jobs, bins), [jobs, bins]);
  const series = useMemo(() => [
    { label: "p50", tone: "--accent", values: p50, kind: "line" },
    { label: "p99", tone: "--warning", values: p99, kind: "line" },
  ], [p50, p99]);
  return html`<${Card} title="Lateness" note="start minus due time">
    <${Chart} label="Lateness over time" times=${timesOf(bins)} span=${spanOf(bins)} series=${series}
      format=${duration} isLogarithmic />
  <//>`;
}

/** Attempts by when they ended, and how many of them failed. */
export function EndsChart({ jobs, bins }) {
  const { good, bad } = useMemo(() => endsSeries(jobs, bins), [jobs, bins]);
  const series = useMemo(() => {
    const all = good.map((value, index) => (value === null ? null : value + bad[index]));
    return [
      { label: "ended", tone: "--good", values: all, kind: "bars" },
      { label: "failed", tone: "--bad", values: bad, kind: "bars" },
    ];
  }, [good, bad]);
  return html`<${Card} title="Attempts" note=${`each bar is ${duration(bins.step)}`}>
    <${Chart} label="Attempts that ended, and that failed, over time" times=${timesOf(bins)} span=${spanOf(bins)}
      series=${series} format=${count} />
  <//>`;
}

/** The queues' counts since the page was opened; `points` is a list of {at, waiting, running}. */
export function QueuesChart({ points }) {
  const series = useMemo(() => [
    { label: "waiting", tone: "--warning", values: points.map(({ waiting }) => waiting), kind: "line" },
    { label: "running", tone: "--accent", values: points.map(({ running }) => running), kind: "line" },
  ], [points]);
  const times = useMemo(() => points.map(({ at }) => at), [points]);
  // What was seen last is at the right: the axis does not go on into the future.
  const span = [Math.min(times[0], times.at(-1) - LEAST_MILLISECONDS), times.at(-1)];
  return html`<${Card} title="Waiting and running" note="since this page was opened">
    <${Chart} label="Waiting and running jobs since this page was opened" times=${times} span=${span}
      series=${series} format=${count} />
  <//>`;
}
