// The filters above the list of jobs. Each change is a new address, so the back button undoes it.
import { html, useRef, useState } from "../lib/html.js";
import { Icon, TextField, statusWord } from "../lib/components.js";
import { inputTime, instantOf } from "../lib/format.js";
import { useHandlers } from "../lib/handlers.js";
import { useKey } from "../lib/keys.js";
import { address, changeQuery, navigate } from "../lib/router.js";
import { filtersOf, readSearch, STATUSES } from "./jobs_query.js";

const RANGES = [["15 min", 15], ["1 h", 60], ["24 h", 24 * 60], ["7 d", 7 * 24 * 60]];
const BEHIND_THE_BUTTON = ["schedule_id", "tenant", "tag", "created_after", "created_before"];

/** Show the filters that the address holds, and change them. */
export function JobsFilter({ query }) {
  const filters = filtersOf(query);
  const handlers = useHandlers();
  const names = handlers.map(({ name }) => name);
  const set = (changes) => changeQuery({ ...changes, cursor: "" });
  const behind = BEHIND_THE_BUTTON.filter((name) => filters[name]).length;
  const [isOpen, setOpen] = useState(behind > 0);
  const known = filters.handler && !names.includes(filters.handler) ? [...names, filters.handler] : names;
  return html`<section class="filter" aria-label="Filters">
    <div class="jobs-filter-row">
      <${Search} names=${names} onFilters=${set} />
      <select class="input filter-handler" aria-label="Handler" value=${filters.handler ?? ""}
        onChange=${(event) => set({ handler: event.currentTarget.value })}>
        <option value="">All handlers</option>
        ${known.map((name) => html`<option key=${name} value=${name} selected=${name === filters.handler}>${name}</option>`)}
      </select>
      <button type="button" class="button" aria-expanded=${isOpen} onClick=${() => setOpen(!isOpen)}>
        <${Icon} name="down" />More filters${behind > 0 ? ` (${behind})` : ""}
      </button>
      ${Object.keys(filters).length > 0 && html`<a class="button" href=${address(["jobs"])}>Clear</a>`}
    </div>
    ${isOpen && html`<${MoreFilters} filters=${filters} onSet=${set} />`}
    <${StatusChips} filters=${filters} />
  </section>`;
}

function Search({ names, onFilters }) {
  const input = useRef(null);
  useKey("/", "filter", () => input.current.focus());
  const search = (event) => {
    event.preventDefault();
    const found = readSearch(input.current.value, names);
    input.current.value = "";
    if (found?.jobId) navigate(address(["jobs", found.jobId]));
    else if (found) onFilters(found.filters);
  };
  return html`<form class="search" role="search" onSubmit=${search}>
    <${Icon} name="search" />
    <input ref=${input} class="input" type="search" enterkeyhint="search" autocomplete="off" spellcheck=${false}
      aria-label="Find a job by its id, or filter"
      placeholder="Job id, or status:dead tag:customer:42" />
    <kbd class="not-on-phone" aria-hidden="true">/</kbd>
  </form>`;
}

function StatusChips({ filters }) {
  const chosen = filters.status ?? "";
  const chip = (status, words) => html`<a key=${words} class="chip" href=${address(["jobs"], { ...filters, status })}
    aria-current=${chosen === status ? "true" : undefined}>${words}</a>`;
  return html`<nav class="chips" aria-label="Status">
    ${chip("", "All")}${STATUSES.map((status) => chip(status, statusWord(status)))}
  </nav>`;
}

function MoreFilters({ filters, onSet }) {
  const text = (name, label, placeholder) => html`<${Committed} label=${label} placeholder=${placeholder}
    value=${filters[name]} onCommit=${(value) => onSet({ [name]: value })} />`;
  const time = (name, label) => html`<${Committed} label=${label} type="datetime-local" step="1"
    value=${inputTime(filters[name])} onCommit=${(value) => onSet({ [name]: instantOf(value) })} />`;
  return html`<div class="filter-more">
    <div class="fields">
      ${text("schedule_id", "Schedule", "its id")}${text("tenant", "Tenant")}${text("tag", "Tag", "key:value")}
      ${time("created_after", "Created after")}${time("created_before", "Created before")}
      <${Ranges} onSet=${onSet} />
    </div>
  </div>`;
}

/** A field whose value counts when it is left or Enter is pressed, not with each letter. */
function Committed({ value = "", onCommit, ...attributes }) {
  const [draft, setDraft] = useState(null);
  const commit = () => {
    setDraft(null);
    if (draft !== null && draft.trim() !== value) onCommit(draft.trim());
  };
  return html`<${TextField} value=${draft ?? value} ...${attributes} onChange=${setDraft} onBlur=${commit}
    onKeyDown=${(event) => event.key === "Enter" && commit()} />`;
}

function Ranges({ onSet }) {
  const since = (minutes) => new Date(Date.now() - minutes * 60_000).toISOString();
  return html`<div class="field" role="group" aria-label="Created within">
    <span class="field-title">Created within the last</span>
    <div class="ranges">
      ${RANGES.map(([words, minutes]) => html`<button key=${words} type="button" class="button button-small"
        onClick=${() => onSet({ created_after: since(minutes), created_before: "" })}>${words}</button>`)}
    </div>
  </div>`;
}
