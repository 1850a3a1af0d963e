// The children of a durable run: one row for each call that submitted some, with counts; its children when it is opened.
import { html, useState } from "../lib/html.js";
import { collectPage } from "../lib/api.js";
import { ErrorState, JobId, Loading, StatusBadge } from "../lib/components.js";
import { count, counted, visible } from "../lib/format.js";
import { usePolled } from "../lib/live.js";
import { childWords } from "./graph_words.js";

const CHILDREN_A_PAGE = 20;
const OPEN_MILLISECONDS = 4000;

/** Show the calls among `steps` that submitted children; nothing if there are none. `isOpen`: the run has not ended. */
export function Children({ job, steps, isOpen }) {
  const calls = steps.filter(({ of }) => of);
  if (calls.length === 0) return null;
  const all = { total: 0, succeeded: 0, failed: 0 };
  for (const { of } of calls) for (const name of Object.keys(all)) all[name] += of[name];
  return html`<section class="card children" aria-label="Children">
    <div class="card-header"><h2>Children</h2>
      <span class="muted small">${calls.length > 1 ? `${counted(calls.length, "call")}: ` : ""}${childWords(all)}</span></div>
    <ul class="card-body">
      ${calls.map((call) => html`<${Call} key=${call.path} job=${job} call=${call} isOpen=${isOpen} />`)}
    </ul>
  </section>`;
}

function Call({ job, call: { path, of, job_id: childId }, isOpen }) {
  const head = html`<span class="child-path"><bdi>${visible(path)}</bdi></span>
    <${CountsBar} of=${of} /><span class="child-counts small">${childWords(of)}</span>`;
  if (childId) return html`<li class="child-call child-single">${head}<${JobId} id=${childId} /></li>`;
  return html`<li><${Fold} head=${head}>
    <${CallChildren} jobId=${job.id} path=${path} failed=${of.failed} isOpen=${isOpen} /><//></li>`;
}

/** A fold that renders its children only while it is open, so that they are not read before. */
export function Fold({ head, children }) {
  const [isOpen, setOpen] = useState(false);
  return html`<details class="fold" onToggle=${(event) => setOpen(event.currentTarget.open)}>
    <summary class="child-call">${head}</summary>
    ${isOpen && children}
  </details>`;
}

/** How many of all succeeded, failed and have not ended, as a bar; words beside it say the same. */
export function CountsBar({ of: { total, succeeded, failed } }) {
  const part = (tone, number) => number > 0 && html`<span class=${`counts-${tone}`} style=${{ flexGrow: number }}></span>`;
  return html`<span class="counts-bar" aria-hidden="true">
    ${part("bad", failed)}${part("good", succeeded)}${part("open", total - succeeded - failed)}
  </span>`;
}

/** Show the children of one call, those that failed first, page by page. `failed`: how many did. */
export function CallChildren({ jobId, path, failed, isOpen }) {
  const [pages, setPages] = useState(1);
  const { data, error, isLoading, refresh } = usePolled(
    (signal) => readChildren({ jobId, path, failed, most: pages * CHILDREN_A_PAGE, signal }), `children of ${jobId}, ${path}`,
    { everyMilliseconds: isOpen ? OPEN_MILLISECONDS : 0, version: `${pages} ${failed} ${isOpen}` },
  );
  return html`<div class="call-children">
    <${ErrorState} error=${error} isInline onRetry=${refresh} />
    ${isLoading && !data && html`<${Loading} rows=${2} />`}
    ${data?.children.length === 0 && html`<p class="muted small">None is there yet.</p>`}
    ${data && html`<ol>${data.children.map((child) => html`<${Child} key=${child.id} child=${child} />`)}</ol>`}
    ${data?.isMore && html`<p class="log-more"><button type="button" class="button button-small"
      onClick=${() => setPages(pages + 1)}>Show ${count(CHILDREN_A_PAGE)} more children</button></p>`}
  </div>`;
}

/** Read `most` children of a call, the dead ones first. Returns {children, isMore}. */
async function readChildren({ jobId, path, failed, most, signal }) {
  const children = [];
  for (const status of failed > 0 ? ["DEAD", ""] : [""]) {
    const known = new Set(children.map(({ id }) => id));
    const { items, nextCursor } = await collectPage(["jobs", jobId, "children"], "children", {
      query: { path, status }, limit: most - children.length, signal, isExtra: ({ id }) => known.has(id),
    });
    children.push(...items.filter(({ id }) => !known.has(id)));
    if (children.length >= most || nextCursor) return { children: children.slice(0, most), isMore: nextCursor !== null || status !== "" };
  }
  return { children, isMore: false };
}

function Child({ child: { id, index, status, error } }) {
  return html`<li>
    <span class="muted small child-index">#${count(index)}</span><${StatusBadge} status=${status} /><${JobId} id=${id} />
    ${error && html`<span class="small child-error"><code class="text-bad">${visible(error.type)}</code> <bdi>${visible(error.message)}</bdi></span>`}
  </li>`;
}
