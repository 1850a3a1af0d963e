// The filters above the list of jobs. Each change is a new address, so the back button undoes it.
import { html, useId, useRef, useState } from "../lib/html.js";
import { get } from "../lib/api.js";
import { ErrorState, Icon, TextField, statusWord } from "../lib/components.js";
import { inputTime, instantOf, visible } from "../lib/format.js";
import { handlerNames, useHandlers } from "../lib/handlers.js";
import { useKey } from "../lib/keys.js";
import { address, changeQuery, navigate } from "../lib/router.js";
import { countInWords, StatusPill } from "./jobs_counts.js";
import { besideKey, filtersOf, STATUSES, termsOf, unclearOf } from "./jobs_query.js";
import { EXAMPLES, readSearch, unknownWord } from "./jobs_search.js";

const RANGES = [["15 min", 15], ["1 h", 60], ["24 h", 24 * 60], ["7 d", 7 * 24 * 60]];
const BEHIND_THE_BUTTON = [
  "schedule_id", "tenant", "tag", "error_type", "idempotency_key", "created_after", "created_before",
];

/** Show the filters that the address holds, and change them. `draft` is what is typed and not applied yet. */
export function JobsFilter({ query, draft, onDraft, counts }) {
  const filters = filtersOf(query);
  const unclear = unclearOf(query);
  const handlers = useHandlers();
  const names = handlers.map(({ name }) => name);
  const set = (changes) => changeQuery({ ...besideKey(filters, changes), ...changes, cursor: "" });
  const behind = BEHIND_THE_BUTTON.filter((name) => filters[name]).length;
  const [isOpen, setOpen] = useState(false);
  const known = filters.handler && !names.includes(filters.handler) ? [...names, filters.handler] : names;
  return html`<section class="filter" aria-label="Filters">
    <div class="jobs-filter-row">
      <${Search} draft=${draft} onDraft=${onDraft} onFilters=${set} />
      <select class="input filter-handler" aria-label="Handler" value=${filters.handler ?? ""}
        onChange=${(event) => set({ handler: event.currentTarget.value })}>
        <option value="">All handlers</option>
        ${known.map((name) => html`<option key=${name} value=${name} selected=${name === filters.handler}>${name}</option>`)}
      </select>
      <button type="button" class="button" aria-expanded=${isOpen} onClick=${() => setOpen(!isOpen)}>
        <${Icon} name="down" />More filters${behind > 0 ? ` (${behind})` : ""}
      </button>
    </div>
    ${isOpen && html`<${MoreFilters} filters=${filters} onSet=${set} />`}
    ${!filters.idempotency_key && html`<${StatusPills} filters=${filters} counts=${counts} />`}
    <${Terms} filters=${filters} unclear=${unclear} onRemove=${(name) => set({ [name]: "" })} />
  </section>`;
}

/** The search box. A search of which one term is refused is not applied at all. */
function Search({ draft, onDraft, onFilters }) {
  const input = useRef(null);
  const noteId = useId();
  const [problems, setProblems] = useState([]);
  const [error, setError] = useState(null);
  const [isFocused, setFocused] = useState(false);
  useKey("/", "filter", () => input.current.focus());
  const change = (text) => {
    onDraft(text);
    setProblems([]);
    setError(null);
  };
  const search = async (event) => {
    event.preventDefault();
    const names = await handlerNames();
    const found = readSearch(draft, names, Date.now());
    setError(null);
    setProblems(found.problems);
    if (found.problems.length > 0) return;
    if (found.jobId) {
      const jobId = await existing(found.jobId, setError);
      if (jobId) navigate(address(["jobs", jobId]));
      if (jobId === null) setProblems([{ term: draft.trim(), ...unknownWord(found.jobId, names) }]);
      return;
    }
    onDraft("");
    input.current.blur();
    if (Object.keys(found.filters).length > 0) onFilters(found.filters);
  };
  const replace = ({ term, instead }) => {
    change(draft.replace(term, instead));
    input.current.focus();
  };
  const isRefused = problems.length > 0;
  return html`<form class="search" role="search" onSubmit=${search} onFocusIn=${() => setFocused(true)}
    onFocusOut=${(event) => event.currentTarget.contains(event.relatedTarget) || setFocused(false)}>
    <div class="search-field">
      <${Icon} name="search" />
      <input ref=${input} class="input" type="search" enterkeyhint="search" autocomplete="off" spellcheck=${false}
        aria-label="Find a job by its ID, or filter" aria-describedby=${noteId} aria-invalid=${isRefused ? "true" : undefined}
        placeholder="Job ID, or status:dead tag:customer:42" value=${draft} onInput=${(event) => change(event.currentTarget.value)} />
      <kbd class="not-on-phone" aria-hidden="true">/</kbd>
    </div>
    <div id=${noteId} class="search-note">
      <${ErrorState} error=${error} isInline />
      ${isRefused && html`<div class="problem search-problem" role="alert">
        <ul>${problems.map((problem) => html`<${Refused} key=${problem.term} problem=${problem} onReplace=${replace} />`)}</ul>
        <p>The search was not applied. Allowed: a job's ID, a status, a handler, and <${Examples} />.</p>
      </div>`}
      ${isFocused && !isRefused && !error && html`<p class="search-hint small muted">Terms: <${Examples} />. Press Enter to apply them.</p>`}
    </div>
  </form>`;
}

function Examples() {
  return EXAMPLES.map((example, index) => html`<span key=${example}>${index > 0 ? " " : ""}<code>${example}</code></span>`);
}

function Refused({ problem, onReplace }) {
  return html`<li><code>${visible(problem.term)}</code>: ${visible(problem.why)}.
    ${problem.instead && html` <button type="button" class="button button-small" onClick=${() => onReplace(problem)}>
      Use ${visible(problem.instead)}</button>`}</li>`;
}

/** Return the id if a job has it, null if none has, or undefined after another failure. */
async function existing(jobId, onError) {
  try {
    return (await get(["jobs", jobId])).id;
  } catch (error) {
    if (error.status === 404) return null;
    onError(error);
    return undefined;
  }
}

/** Every filter of the address, each with a button that removes it; also one that is not clear. */
function Terms({ filters, unclear, onRemove }) {
  const terms = termsOf(filters);
  if (terms.length + unclear.length === 0) return null;
  return html`<ul class="terms" aria-label="Active filters">
    ${terms.map(({ name, words, value }) => html`<li key=${name} class="term">
      ${words && html`<span class="term-name">${words}</span>`} <bdi>${visible(value)}</bdi>
      <${Remove} words=${`${words} ${visible(value)}`.trim()} onRemove=${() => onRemove(name)} />
    </li>`)}
    ${unclear.map(({ name, kind }) => html`<li key=${`${kind} ${name}`} class="term term-unknown">
      <${Icon} name="warning" /><span class="term-name">${kind} filter</span> <bdi>${visible(name)}</bdi>
      <${Remove} words=${`${kind} filter ${visible(name)}`} onRemove=${() => onRemove(name)} />
    </li>`)}
    <li><a class="small" href=${address(["jobs"])}>Clear all</a></li>
  </ul>`;
}

function Remove({ words, onRemove }) {
  return html`<button type="button" class="term-remove" aria-label=${`Remove filter: ${words}`} title="Remove this filter" onClick=${onRemove}>
    <${Icon} name="close" /></button>`;
}

function StatusPills({ filters, counts }) {
  const chosen = filters.status ?? "";
  const pill = (status, words) => html`<${StatusPill} key=${words} words=${words} count=${countInWords(counts, status)}
    to=${address(["jobs"], { ...filters, status })} isChosen=${chosen === status} />`;
  return html`<nav class="chips" aria-label="Status">
    ${pill("", "All")}${STATUSES.map((status) => pill(status, statusWord(status)))}
  </nav>`;
}

function MoreFilters({ filters, onSet }) {
  const text = (name, label, placeholder) => html`<${Committed} label=${label} placeholder=${placeholder}
    value=${filters[name]} onCommit=${(value) => onSet({ [name]: value })} />`;
  const time = (name, label) => html`<${Committed} label=${label} type="datetime-local" step="1"
    value=${inputTime(filters[name])} onCommit=${(value) => onSet({ [name]: instantOf(value) })} />`;
  return html`<div class="filter-more">
    <div class="fields">
      ${text("schedule_id", "Schedule", "its ID")}${text("tenant", "Tenant")}${text("tag", "Tag", "key:value")}
      ${text("error_type", "Error", "its type, such as TimeoutError")}${text("idempotency_key", "Idempotency key")}
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
