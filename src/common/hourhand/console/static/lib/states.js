// What a view shows instead of data: loading, empty, or an error.
import { TOKEN_PROBLEM } from "./access.js";
import { html } from "./html.js";
import { visible } from "./format.js";
import { Icon } from "./icons.js";

/** Shown while the view waits for the first answer. */
export function Loading({ rows = 6 }) {
  return html`<div class="skeleton" role="status" aria-label="Loading">
    ${Array.from({ length: rows }, (_, index) => html`<div key=${index} class="skeleton-row"></div>`)}
  </div>`;
}

/** An empty view: `title` says what is missing; the children say why, and what to do next. */
export function EmptyState({ title, icon = "inbox", children }) {
  return html`<div class="empty">
    <${Icon} name=${icon} />
    <h2>${title}</h2>
    <div class="empty-text">${children}</div>
  </div>`;
}

/** An error, in the API's words. `onRetry` adds a button; `isInline` takes less room. */
export function ErrorState({ error, onRetry, isInline = false }) {
  if (!error) return null;
  const advice = adviceOn(error);
  return html`<div class=${isInline ? "problem" : "problem problem-large"} role="alert">
    <${Icon} name="warning" />
    <div class="problem-text">
      <strong>${visible(error.title ?? "The console failed")}</strong>
      <p>${visible(error.detail ?? error.message ?? String(error))}</p>
      ${advice && html`<p>${advice}</p>`}
      <${FieldProblems} errors=${error.errors ?? []} />
    </div>
    ${onRetry && html`<button type="button" class="button button-small" onClick=${onRetry}>Try again</button>`}
  </div>`;
}

/** The fields that a 422 names, one a line. */
export function FieldProblems({ errors }) {
  if (errors.length === 0) return null;
  return html`<ul>
    ${errors.map(({ field, message }) => html`<li key=${field + message}><code>${visible(field)}</code> ${visible(message)}</li>`)}
  </ul>`;
}

function adviceOn(error) {
  if (error.type === TOKEN_PROBLEM) {
    return "Open the address that the command hourhand console printed. It contains the token that this page needs.";
  }
  if (error.status === 429) return "The API is receiving too many requests. The console retries automatically.";
  if (error.status === 403 && !error.type) return "The AWS credentials that sign the console's requests do not allow this request.";
  return null;
}
