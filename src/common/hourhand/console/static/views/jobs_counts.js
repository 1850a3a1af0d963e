// How many jobs of each status match the other filters. Counting is bounded, and says where it ended.
import { html, useState } from "../lib/html.js";
import { aboutStore } from "../lib/about.js";
import { collectPage, MOST_COUNTED } from "../lib/api.js";
import { count } from "../lib/format.js";
import { usePolled } from "../lib/live.js";
import { useStore } from "../lib/store.js";

const MOST_REQUESTS = 5;
/** So few jobs are one request, which may be repeated more often. */
const FEW = 200;
const FEW_MILLISECONDS = 4000;
const MANY_MILLISECONDS = 30_000;
/** Against a deployed API, what is read costs money. */
const DEPLOYED_MILLISECONDS = 60_000;

/**
 * Count the jobs that pass `filters` without their status. Returns {data, refresh}: `data` is what
 * `countInWords` takes, null until they are counted.
 */
export function useStatusCounts(filters) {
  const { status: _, ...others } = filters;
  const isDeployed = Boolean(useStore(aboutStore).endpoint);
  const [isFew, setFew] = useState(false);
  const load = async (signal) => {
    const counts = await countJobs(others, signal);
    setFew(counts.isWhole && counts.all <= FEW);
    return counts;
  };
  const local = isFew ? FEW_MILLISECONDS : MANY_MILLISECONDS;
  const everyMilliseconds = isDeployed ? DEPLOYED_MILLISECONDS : local;
  return usePolled(load, JSON.stringify(others), { everyMilliseconds });
}

/** Return {byStatus, all, isWhole}. Not whole: each number is the least that there are. */
async function countJobs(query, signal) {
  const read = (more) => collectPage(["jobs"], "jobs", {
    query: { ...query, ...more }, limit: MOST_COUNTED, mostRequests: MOST_REQUESTS, signal,
  });
  const { items, nextCursor } = await read({});
  const byStatus = {};
  for (const { status } of items) byStatus[status] = (byStatus[status] ?? 0) + 1;
  if (nextCursor && !query.discarded) {
    // Dead jobs that are not discarded have an index of their own, in which old ones are found as well.
    const dead = await read({ status: "DEAD", discarded: false });
    byStatus.DEAD = Math.max(byStatus.DEAD ?? 0, dead.items.length);
  }
  return { byStatus, all: items.length, isWhole: !nextCursor };
}

/** Return {shown, title} for a status ("": all); null where nothing is known. */
export function countInWords(counts, status) {
  if (!counts) return null;
  const number = status === "" ? counts.all : counts.byStatus[status] ?? 0;
  if (counts.isWhole) return { shown: count(number), title: "" };
  if (number >= MOST_COUNTED) return { shown: `${count(MOST_COUNTED)}+`, title: `${count(MOST_COUNTED)} or more` };
  if (number === 0) return null;
  return { shown: `${count(number)}+`, title: `${count(number)} or more: counting stopped after the newest ${count(counts.all)} jobs` };
}

/** A link to the jobs of one status, with their number. */
export function StatusPill({ words, count: counted, to, isChosen }) {
  return html`<a class="chip" href=${to} aria-current=${isChosen ? "true" : undefined} title=${counted?.title || undefined}>
    ${words}${counted && html` <span class="chip-count">${counted.shown}</span>`}</a>`;
}
