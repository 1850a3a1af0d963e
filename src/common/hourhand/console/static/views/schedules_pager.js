// Pages of what is listed by name, not by age.
import { html } from "../lib/html.js";
import { Icon } from "../lib/components.js";
import { address, canGoBack } from "../lib/router.js";

/** The first, the previous and the next page of a listing by name; nothing if there is but one. */
export function NamePager({ cursor, nextCursor, segments }) {
  if (!cursor && !nextCursor) return null;
  return html`<nav class="pager" aria-label="Pages">
    ${cursor && html`<a class="button" href=${address(segments)}>First</a>`}
    ${cursor && canGoBack() && html`<button type="button" class="button" onClick=${() => history.back()}>
      <${Icon} name="back" />Previous</button>`}
    ${nextCursor && html`<a class="button" href=${address(segments, { cursor: nextCursor })}>
      Next<${Icon} name="forward" /></a>`}
  </nav>`;
}
