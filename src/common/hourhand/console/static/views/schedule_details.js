// What a schedule gives to its jobs, and what it excludes.
import { html } from "../lib/html.js";
import { JsonView } from "../lib/components.js";
import { duration, visible } from "../lib/format.js";
import { address } from "../lib/router.js";
import { describeExclusion } from "./schedule_exclusions.js";

const CALENDAR_NAME = /^[A-Za-z0-9_-]+$/;
const DATE = /^[0-9]{4}-[0-9]{2}-[0-9]{2}$/;

/** Cards with the exclusions, the payload, the tags and the policies of the jobs. */
export function Details({ schedule }) {
  const policies = policiesOf(schedule);
  const tags = Object.entries(schedule.tags ?? {});
  return html`<${Card} title="Exclusions">
      ${schedule.exclude.length === 0
        ? html`<p class="muted">None. Every scheduled time runs.</p>`
        : html`<ul class="exclusions">${schedule.exclude.map((one, index) => html`<li key=${index}><${Exclusion} exclusion=${one} /></li>`)}</ul>`}
    <//>
    <${Card} title="Payload"><${JsonView} value=${schedule.payload} label="the payload" /><//>
    <${Card} title="Tags">
      ${tags.length === 0
        ? html`<p class="muted">None.</p>`
        : html`<div class="tags">${tags.map(([key, value]) => html`<a key=${key} class="tag" href=${address(["jobs"], { tag: `${key}:${value}` })}>
            <bdi>${visible(key)}: ${visible(value)}</bdi></a>`)}</div>`}
    <//>
    ${policies.length > 0 && html`<${Card} title="Policies of its jobs">
      <dl class="facts">${policies.map(([term, value]) => html`<div key=${term}><dt>${term}</dt><dd>${value}</dd></div>`)}</dl>
    <//>`}`;
}

function Card({ title, children }) {
  return html`<section class="card" aria-label=${title}>
    <div class="card-header"><h2>${title}</h2></div>
    <div class="card-body">${children}</div>
  </section>`;
}

/** A calendar's name is a link to the calendar. */
function Exclusion({ exclusion }) {
  const isCalendar = typeof exclusion === "string" && CALENDAR_NAME.test(exclusion) && !DATE.test(exclusion);
  if (isCalendar) return html`<span>calendar <a href=${address(["calendars", exclusion])}>${visible(exclusion)}</a></span>`;
  return html`<bdi class="tag mono">${visible(describeExclusion(exclusion))}</bdi>`;
}

/** The policies that the schedule states; those of the handler hold for the others. */
function policiesOf({ priority, timeout_seconds: timeout, retry, retention_seconds: retention, on_lost: onLost, tenant }) {
  const attempts = retry?.max_attempts;
  return [
    ["Priority", priority],
    ["Tenant", tenant && visible(tenant)],
    ["Time limit", timeout && duration(timeout * 1000)],
    ["Attempts", attempts && `at most ${attempts}`],
    ["Backoff", retry?.backoff && visible(retry.backoff)],
    ["If its worker is lost", onLost && (onLost === "dead" ? "it ends dead" : "it is retried")],
    ["Kept after its end", retention != null && duration(retention * 1000)],
  ].filter(([, value]) => value);
}
