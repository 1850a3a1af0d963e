// Lists of what has names: pages in the order of the names, and a filter of the page that is shown.
import { html } from "../lib/html.js";
import { aboutStore } from "../lib/about.js";
import { EmptyState, ErrorState, Icon, LiveSwitch, Loading, Page, SelectField, Table, TextField } from "../lib/components.js";
import { count, counted } from "../lib/format.js";
import { useKey } from "../lib/keys.js";
import { usePolled } from "../lib/live.js";
import { address, canGoBack, changeQuery } from "../lib/router.js";

/**
 * The page of a listing. `read` takes {cursor, signal} and returns a page, as `collectPage` does; `plural` is the
 * page's own address; `none`: what is shown of an empty listing. `children` is a function of the data and of what
 * reads it again.
 */
export function NamedList({ title, plural, query, read, everyMilliseconds, deployedMilliseconds, action, none, children }) {
  const cursor = query.get("cursor");
  const { data, error, isLoading, refresh } = usePolled(
    (signal) => read({ cursor, signal }),
    `${plural} ${cursor ?? ""}`,
    { everyMilliseconds: aboutStore.get().endpoint ? deployedMilliseconds ?? everyMilliseconds : everyMilliseconds },
  );
  useKey("r", "refresh", refresh);
  return html`<${Page} title=${title} actions=${html`<${LiveSwitch} onRefresh=${refresh} />${action}`}>
    <${ErrorState} error=${error} isInline onRetry=${refresh} />
    ${isLoading && html`<${Loading} />`}
    ${data && (data.items.length > 0 || cursor ? children(data, refresh) : html`<${none} />`)}
    ${data && html`<${Pager} cursor=${cursor} nextCursor=${data.nextCursor} segments=${[plural]} />`}
  <//>`;
}

/** The first, the previous and the next page; nothing if there is but one. */
function Pager({ cursor, nextCursor, segments }) {
  if (!cursor && !nextCursor) return null;
  return html`<nav class="pager" aria-label="Pages">
    ${cursor && html`<a class="button" href=${address(segments)}>First</a>`}
    ${cursor && canGoBack() && html`<button type="button" class="button" onClick=${() => history.back()}>
      <${Icon} name="back" />Previous</button>`}
    ${nextCursor && html`<a class="button" href=${address(segments, { cursor: nextCursor })}>
      Next<${Icon} name="forward" /></a>`}
  </nav>`;
}

/**
 * The rows of a page that match the words and the state in the address. `nameOf` returns what a row's page is
 * called, `textsOf` the texts in which the words are looked for.
 */
export function FilteredTable({ data, noun, query, placeholder, states, nameOf, textsOf, isInState, ...table }) {
  const words = query.get("q") ?? "";
  const state = query.get("state") ?? "";
  const rows = data.items.filter((item) => (state === "" || isInState(item, state))
    && textsOf(item).some((text) => text.toLowerCase().includes(words.toLowerCase())));
  const plural = `${noun}s`;
  useKey("/", "filter", () => document.getElementById("list-filter").querySelector("input")?.focus());
  return html`<div class="filter-row" id="list-filter">
      <${TextField} label="Filter" type="search" placeholder=${placeholder} value=${words}
        onChange=${(q) => changeQuery({ q }, { replace: true })} />
      <${SelectField} label="State" options=${states} value=${state}
        onChange=${(chosen) => changeQuery({ state: chosen }, { replace: true })} />
      <p class="muted small filter-count" role="status">${shownWords(rows.length, noun, data)}</p>
    </div>
    ${rows.length > 0
      ? html`<${Table} ...${table} rows=${rows} className=${`table-${plural}`} rowKey=${nameOf} rowHref=${(row) => address([plural, nameOf(row)])} />`
      : html`<${EmptyState} title=${`No ${noun} matches`} icon="search"><p><a href=${address([plural])}>Show all ${plural}</a></p><//>`}`;
}

function shownWords(shown, noun, { items, nextCursor }) {
  const all = shown === items.length ? counted(shown, noun) : `${count(shown)} of ${counted(items.length, noun)}`;
  return nextCursor ? `${all} on this page; there are more` : all;
}
