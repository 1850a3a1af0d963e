// Counts beside the names of sections: dead jobs, jobs that failed and are retried, and paused handlers.
import { html, useEffect } from "./html.js";
import { aboutStore } from "./about.js";
import { get } from "./api.js";
import { usePolled } from "./live.js";
import { PauseCount } from "./pauses.js";
import { createStore, useStore } from "./store.js";

const MOST_SHOWN = 99;
const MILLISECONDS = 5000;
/** Against a deployed API, what is read costs money. */
const DEPLOYED_MILLISECONDS = 60_000;

/** By section: which jobs are counted, and what they are called. */
const COUNTED = {
  jobs: { filters: { status: "RETRYING" }, words: "failing", tone: "warning" },
  "dead-letters": { filters: { status: "DEAD", discarded: false }, words: "dead", tone: "bad" },
};

/** By section: the number that the open view shows. The count beside its name is then the same, and as old. */
const shownCounts = createStore({});

/** While a view shows all that is counted for `section`, let the navigation show its `number`; null: it does not. */
export function useShownCount(section, number) {
  useEffect(() => {
    if (number === null) return undefined;
    shownCounts.set({ ...shownCounts.get(), [section]: number });
    return () => shownCounts.set({ ...shownCounts.get(), [section]: null });
  }, [section, number]);
}

/** The number of what needs attention in a section; nothing if there is none, or none is counted. */
export function NavCount({ section }) {
  const known = useStore(shownCounts)[section] ?? null;
  if (section === "handlers") return html`<${PauseCount} />`;
  return Object.hasOwn(COUNTED, section) && html`<${Count} ...${COUNTED[section]} known=${known} />`;
}

function Count({ filters, words, tone, known }) {
  const everyMilliseconds = useStore(aboutStore).endpoint ? DEPLOYED_MILLISECONDS : MILLISECONDS;
  const load = (signal) => get(["jobs"], { query: { ...filters, limit: MOST_SHOWN + 1 }, signal });
  const { data } = usePolled(load, `count of ${words}`, { everyMilliseconds });
  const number = known ?? data?.jobs.length ?? 0;
  if (number === 0) return null;
  // A page may be short: then there are at least so many.
  const isMore = known === null && (number > MOST_SHOWN || data.next_cursor !== null);
  const shown = number > MOST_SHOWN ? `${MOST_SHOWN}+` : String(number);
  const title = `${isMore ? "at least " : ""}${number} ${words}`;
  return html`<span class=${`nav-count nav-count-${tone}`} title=${title}>${shown}<span class="sr-only"> ${words}</span></span>`;
}
