// The frame of a view: its title (in the tab too), its actions, and the live switch.
import { html, useEffect, useRef } from "./html.js";
import { Icon } from "./icons.js";
import { liveStore } from "./live.js";
import { address, canGoBack } from "./router.js";
import { useStore } from "./store.js";

/** A view. `title` is text; `heading` may be markup in its place; `actions` stand beside it. */
export function Page({ title, heading, actions, children, className = "" }) {
  const element = useRef(null);
  useEffect(() => { document.title = `${title} · Hourhand`; }, [title]);
  useEffect(() => {
    // After a step within the console, a screen reader continues at the new view's title.
    if (canGoBack()) element.current?.focus({ preventScroll: true });
  }, []);
  return html`<div class=${`page ${className}`}>
    <header class="page-header">
      <h1 tabindex="-1" ref=${element}>${heading ?? title}</h1>
      <div class="page-actions">${actions}</div>
    </header>
    ${children}
  </div>`;
}

/** The switch between live and paused; `heldBecause` says why a view waits by itself. */
export function LiveSwitch({ onRefresh, heldBecause }) {
  const isLive = useStore(liveStore);
  const words = !isLive ? "Paused" : heldBecause ? "Waiting" : "Live";
  const title = isLive ? heldBecause ?? "This view refreshes automatically. Click to pause (p)" : "Automatic refresh is paused. Click to resume (p)";
  return html`<span class="live">
    <button type="button" class=${`button button-small live-${words.toLowerCase()}`} aria-pressed=${isLive}
      aria-label=${`Live refresh: ${words}`} title=${title} onClick=${() => liveStore.set(!isLive)}>
      <span class="live-dot" aria-hidden="true"></span>${words}
    </button>
    ${onRefresh && html`<button type="button" class="button-icon" aria-label="Refresh now" title="Refresh now (r)"
      onClick=${onRefresh}><${Icon} name="refresh" /></button>`}
  </span>`;
}

/** Newer and older pages of a listing by cursor; both are addresses. */
export function Pager({ cursor, nextCursor, segments, query }) {
  if (!cursor && !nextCursor) return null;
  return html`<nav class="pager" aria-label="Pages">
    ${cursor && html`<a class="button" href=${address(segments, { ...query, cursor: "" })}>Newest</a>`}
    ${cursor && canGoBack() && html`<button type="button" class="button" onClick=${() => history.back()}>
      <${Icon} name="back" />Newer</button>`}
    ${nextCursor && html`<a class="button" href=${address(segments, { ...query, cursor: nextCursor })}>
      Older<${Icon} name="forward" /></a>`}
  </nav>`;
}
