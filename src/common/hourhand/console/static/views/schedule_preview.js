// The scheduled times of a definition that is not saved yet, computed by the server.
import { html, useEffect, useState } from "../lib/html.js";
import { post } from "../lib/api.js";
import { ErrorState, Time, TextField } from "../lib/components.js";
import { inputTime, instantOf, visible } from "../lib/format.js";
import { withoutPrefix } from "./schedule_definition.js";
import { localWords, shortUtc } from "./schedule_words.js";

const PAUSE_MILLISECONDS = 300;
const FEW_FIRES = 10;
const MANY_FIRES = 50;

const NOTHING = { fires: [], warnings: [], faults: [], error: null, isAsked: false };

/**
 * Request the next times of the draft, a moment after its last change.
 *
 * Returns {fires, warnings, faults, error, isAsked, isStale, after, setAfter, count, setCount}:
 * faults of fields are those of the definition; until an answer comes, the last one stays.
 */
export function usePreview({ definition, faults }) {
  const [after, setAfter] = useState("");
  const [count, setCount] = useState(FEW_FIRES);
  const body = JSON.stringify(bodyOf(definition, after, count));
  const canAsk = faults.length === 0 && hasExpression(definition);
  const [answer, setAnswer] = useState({ ...NOTHING, body: null });
  useEffect(() => {
    if (!canAsk) {
      setAnswer({ ...NOTHING, body });
      return undefined;
    }
    const ending = new AbortController();
    const timer = setTimeout(async () => {
      const result = await ask(body, ending.signal);
      if (!ending.signal.aborted) setAnswer((before) => ({ ...(result.error ? before : NOTHING), ...result, isAsked: true, body }));
    }, PAUSE_MILLISECONDS);
    return () => {
      clearTimeout(timer);
      ending.abort();
    };
  }, [body, canAsk]);
  return { ...answer, isStale: canAsk && answer.body !== body, after, setAfter, count, setCount };
}

async function ask(body, signal) {
  try {
    const { fires, warnings } = await post(["schedules", "preview"], JSON.parse(body), { signal });
    return { fires, warnings, faults: [], error: null };
  } catch (error) {
    const faults = withoutPrefix(error.errors ?? [], "schedule.");
    // The fields show these faults already.
    return faults.length > 0 ? { fires: [], warnings: [], faults, error: null } : { faults: [], error };
  }
}

/** The next scheduled times of the draft, with the server's warnings. */
export function Preview({ preview, timezone }) {
  return html`<section class="card preview" aria-label="Preview" aria-busy=${preview.isStale}>
    <div class="card-header"><h2>Next scheduled times</h2></div>
    <div class="card-body">
      <${TextField} label="After (your time)" type="datetime-local" step="1" value=${inputTime(preview.after)}
        hint="Empty means now. Choose a later time to see the effect of a clock change."
        onChange=${(picked) => preview.setAfter(instantOf(picked))} />
      <${ErrorState} error=${preview.error} isInline />
      ${preview.warnings.map((warning) => html`<p key=${warning} class="notice">${visible(warning)}</p>`)}
      <${Fires} preview=${preview} timezone=${timezone} />
    </div>
  </section>`;
}

function Fires({ preview, timezone }) {
  const { fires, count, setCount } = preview;
  if (fires.length === 0) return html`<p class="muted" role="status">${wordsForNone(preview)}</p>`;
  return html`<p class="sr-only" role="status">Next: ${localWords(fires[0].local)} in ${timezone}</p>
    <ol class=${`fires preview-fires ${preview.isStale ? "is-stale" : ""}`}>
      ${fires.map((fire) => html`<li key=${fire.at}>
        <span class="fire-local">${localWords(fire.local)} <span class="muted small">${visible(timezone)}</span></span>
        <span class="fire-utc muted small">${shortUtc(fire.at)} · <${Time} at=${fire.at} /></span>
        ${fire.note && html`<p class="notice">${visible(fire.note)}</p>`}
      </li>`)}
    </ol>
    ${count === FEW_FIRES && fires.length === FEW_FIRES && html`<button type="button" class="button button-small"
      onClick=${() => setCount(MANY_FIRES)}>Show ${MANY_FIRES}</button>`}`;
}

function wordsForNone({ isAsked, isStale, faults, error }) {
  if (isStale) return "Loading …";
  if (faults.length > 0) return "Correct the marked fields to see the next scheduled times.";
  if (isAsked && !error) return "This schedule has no scheduled times.";
  return "Enter an expression to see the next scheduled times.";
}

function hasExpression({ expression }) {
  return typeof expression === "string" ? expression.trim() !== "" : Array.isArray(expression) && expression.length > 0;
}

/** The payload says nothing about times, and may be large. */
function bodyOf(definition, after, count) {
  const { payload, ...rule } = definition;
  if (rule.handler === "" || rule.handler === null) delete rule.handler;
  return { schedule: rule, count, ...(after === "" ? {} : { after }) };
}
