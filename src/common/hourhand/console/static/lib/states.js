// What a view shows when it has nothing to show: not yet, nothing there, something failed.
import { TOKEN_PROBLEM } from "./access.js";
import { html } from "./html.js";
import { visible } from "./format.js";
import { Icon } from "./icons.js";

/** While the first answer is awaited. */
export function Loading({ rows = 6 }) {
  return html`<div class="skeleton" role="status" aria-label="Loading">
    ${Array.from({ length: rows }, (_, index) => html`<div key=${index} class="skeleton-row"></div>`)}
  </div>`;
}

/** Nothing there: `title` says what, the children why, and what one can do about it. */
export function EmptyState({ title, icon = "inbox", children }) {
  return html`<div class="empty">
    <${Icon} name=${icon} />
    <h2>${title}</h2>
    <div class="empty-text">${children}</div>
  </div>`;
}

/** What went wrong, in the API's words. `onRetry` adds a button; `isInline` takes less room. */
export function ErrorState({ error, onRetry, isInline = false }) {
  if (!error) return null;
  const advice = adviceOn(error);
  return html`<div class=${isInline ? "problem" : "problem problem-large"} role="alert">
    <${Icon} name="warning" />
    <div class="problem-text">
      <strong>${visible(error.title ?? "Something failed in this page")}</strong>
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
    return "Open the address that hourhand console printed. It contains the token that this page needs.";
  }
  if (error.status === 429) return "There are too many requests at the moment; it goes on by itself.";
  if (error.status === 403 && !error.type) return "The credentials that the console signs with do not allow this.";
  return null;
}
