// Counts beside the names of sections: dead jobs, and jobs that failed and are retried.
import { html } from "./html.js";
import { aboutStore } from "./about.js";
import { get } from "./api.js";
import { usePolled } from "./live.js";
import { useStore } from "./store.js";

const MOST_SHOWN = 99;
const MILLISECONDS = 5000;
/** Against a deployed API, what is read costs money. */
const DEPLOYED_MILLISECONDS = 60_000;

/** By section: which jobs are counted, and what they are called. */
const COUNTED = {
  jobs: { filters: { status: "RETRYING" }, words: "failing", tone: "warning" },
  "dead-letters": { filters: { status: "DEAD", discarded: false }, words: "dead", tone: "bad" },
};

/** The number of jobs of a section that need attention; nothing if there are none, or none is counted. */
export function NavCount({ section }) {
  return Object.hasOwn(COUNTED, section) && html`<${Count} ...${COUNTED[section]} />`;
}

function Count({ filters, words, tone }) {
  const everyMilliseconds = useStore(aboutStore).endpoint ? DEPLOYED_MILLISECONDS : MILLISECONDS;
  const load = (signal) => get(["jobs"], { query: { ...filters, limit: MOST_SHOWN + 1 }, signal });
  const { data } = usePolled(load, `count of ${words}`, { everyMilliseconds });
  const number = data?.jobs.length ?? 0;
  if (number === 0) return null;
  // A page may be short: then there are at least so many.
  const isMore = number > MOST_SHOWN || data.next_cursor !== null;
  const shown = number > MOST_SHOWN ? `${MOST_SHOWN}+` : String(number);
  const title = `${isMore ? "at least " : ""}${number} ${words}`;
  return html`<span class=${`nav-count nav-count-${tone}`} title=${title}>${shown}<span class="sr-only"> ${words}</span></span>`;
}
