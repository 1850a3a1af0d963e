// A time relative to now. Hovering shows the full time, local and in UTC.
import { html } from "./html.js";
import { local, localShort, relative, utc } from "./format.js";
import { useNow } from "./live.js";

/**
 * Show the time `at` (in the API's form), or a dash. `form`: "relative" (default: "3 min ago"),
 * "local" ("21 Nov 2026, 09:00:00 CET"), "both". Hovering shows the local time and UTC.
 */
export function Time({ at, form = "relative" }) {
  const now = useNow();
  if (!at) return html`<span class="muted none">–</span>`;
  const title = `${local(at)}\n${utc(at)}`;
  const near = relative(at, now);
  if (form === "relative") return html`<time dateTime=${at} title=${title}>${near}</time>`;
  if (form === "local") return html`<time dateTime=${at} title=${title}>${local(at)}</time>`;
  return html`<time dateTime=${at} title=${title}>
    ${localShort(at)} <span class="muted">${near}</span>
  </time>`;
}
