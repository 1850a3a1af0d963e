// The log of a job: the lines of its handler and of its worker, page by page, or followed while it runs.
import { html, useEffect, useRef, useState } from "../lib/html.js";
import { get } from "../lib/api.js";
import { CopyButton, ErrorState, Loading, LongText } from "../lib/components.js";
import { count, counted, local, localClock, utc, visible } from "../lib/format.js";
import { usePolled } from "../lib/live.js";

const LINES_A_PAGE = 200;
const FOLLOW_MILLISECONDS = 2000;
const LAST_LINES_MILLISECONDS = 5000;
const MESSAGE_CHARACTERS = 2000;
/** Empty pages that one reading goes through before it leaves the rest to the button. */
const MOST_REQUESTS = 5;

const TONES = { WARNING: "text-warning", ERROR: "text-bad", CRITICAL: "text-bad" };

/** Show the newest lines, or the oldest. `isOpen`: the job has not ended, so its log may grow. */
export function Logs({ jobId, isOpen }) {
  const [order, setOrder] = useState("newest");
  const [chosen, setChosen] = useState(null);
  const [older, setOlder] = useState(null);
  // Until the user chooses, the log is followed while the job may add to it.
  const isFollowing = (chosen ?? isOpen) && order === "newest" && older === null;
  const { data, error, isLoading, refresh } = usePolled(
    (signal) => readLines(jobId, order, null, signal), `log of ${jobId}, ${order}`,
    { everyMilliseconds: isFollowing ? FOLLOW_MILLISECONDS : 0 },
  );
  const lines = [...(data?.lines ?? []), ...(older?.lines ?? [])];
  const cursor = older ? older.cursor : data?.cursor;
  useLastLines(isOpen, refresh);
  const sort = (by) => {
    setOlder(null);
    setOrder(by);
  };
  const follow = () => {
    setChosen(!isFollowing);
    if (isFollowing) return;
    sort("newest");
    refresh();
  };
  return html`<section class="card" aria-label="Log">
    <div class="card-header"><h2>Log</h2>
      <span class="log-tools">
        <span class="segmented" role="group" aria-label="Order">
          ${["newest", "oldest"].map((one) => html`<button key=${one} type="button" class="button button-small" aria-pressed=${order === one}
            onClick=${() => sort(one)}>${one === "newest" ? "Newest first" : "Oldest first"}</button>`)}
        </span>
        <button type="button" class="button button-small" aria-pressed=${isFollowing} onClick=${follow}
          title="Read the newest lines every ${FOLLOW_MILLISECONDS / 1000} s">${isFollowing ? "Following" : "Follow"}</button>
        ${lines.length > 0 && html`<${CopyButton} text=${() => textOf(lines)} label="these lines" />`}
      </span>
    </div>
    <div class="card-body">
      <${ErrorState} error=${error} isInline onRetry=${refresh} />
      ${isLoading && !data && html`<${Loading} rows=${3} />`}
      ${data && lines.length === 0 && html`<${NoLines} isMore=${Boolean(cursor)} isOpen=${isOpen} />`}
      ${lines.length > 0 && html`<ol class="log" tabindex="0" aria-label="Lines of the log">
        ${lines.map((line, index) => html`<${Line} key=${`${line.at} ${index}`} line=${line} />`)}
      </ol>`}
      ${data && html`<${More} jobId=${jobId} order=${order} cursor=${cursor} shown=${lines.length}
        onMore=${(page) => setOlder({ lines: [...(older?.lines ?? []), ...page.lines], cursor: page.cursor })} />`}
    </div>
  </section>`;
}

/** Read once more after the job has ended: its last lines may be stored some seconds later. */
function useLastLines(isOpen, refresh) {
  const wasOpen = useRef(isOpen);
  useEffect(() => {
    const hasEnded = wasOpen.current && !isOpen;
    wasOpen.current = isOpen;
    if (!hasEnded) return undefined;
    const timer = setTimeout(refresh, LAST_LINES_MILLISECONDS);
    return () => clearTimeout(timer);
  }, [isOpen]);
}

/** Read one page of lines; pages may be empty, so it reads on until there is a line. */
async function readLines(jobId, order, cursor, signal) {
  for (let made = 0; ; made += 1) {
    const page = await get(["jobs", jobId, "logs"], { query: { order, limit: LINES_A_PAGE, cursor }, signal });
    cursor = page.next_cursor;
    if (page.lines.length > 0 || cursor === null || made + 1 >= MOST_REQUESTS) return { lines: page.lines, cursor };
  }
}

function Line({ line: { at, level, message, attempt, fields } }) {
  const pairs = Object.entries(fields ?? {}).map(([name, value]) => `${name}=${typeof value === "string" ? value : JSON.stringify(value)}`);
  return html`<li class=${`log-line ${TONES[level] ?? ""}`}>
    <time class="log-time" dateTime=${at} title=${`${local(at)}\n${utc(at)}`}>${localClock(at)}<span class="muted">.${utc(at).slice(20, 23)}</span></time>
    <span class="log-level">${visible(level ?? "")}</span>
    <span class="log-attempt muted" title="Attempt">${attempt == null ? "" : `#${attempt}`}</span>
    <span class="log-message"><${LongText} text=${message} most=${MESSAGE_CHARACTERS} />
      ${pairs.length > 0 && html` <bdi class="log-fields muted">${visible(pairs.join(" "))}</bdi>`}</span>
  </li>`;
}

function NoLines({ isMore, isOpen }) {
  if (isMore) return html`<p class="muted">No line was found so far. The log goes on.</p>`;
  return html`<p class="muted">${isOpen ? "No lines yet." : "No lines are kept."} What a handler logs through <code>ctx.logger</code> appears here.</p>`;
}

function More({ jobId, order, cursor, shown, onMore }) {
  const [isReading, setReading] = useState(false);
  const [error, setError] = useState(null);
  const read = async () => {
    setReading(true);
    setError(null);
    try {
      onMore(await readLines(jobId, order, cursor));
    } catch (failure) {
      setError(failure);
    }
    setReading(false);
  };
  if (shown === 0 && !cursor) return null;
  return html`<${ErrorState} error=${error} isInline />
    <p class="log-more"><span class="muted small">${shown > 0 ? `${counted(shown, "line")} shown${cursor ? "" : "; there are no more"}` : ""}</span>
      ${cursor && html`<button type="button" class="button button-small" disabled=${isReading} onClick=${read}>
        ${isReading ? "Reading …" : `Read ${count(LINES_A_PAGE)} ${order === "newest" ? "older" : "newer"} lines`}</button>`}</p>`;
}

function textOf(lines) {
  return lines.map(({ at, level, attempt, message }) => `${at} ${level} ${attempt == null ? "" : `#${attempt} `}${message}`).join("\n");
}
