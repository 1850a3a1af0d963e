// The frame of a view: its title (in the tab too), its actions, and whether its data are live.
import { connectionStore } from "./api.js";
import { useInstallation } from "./environment.js";
import { localClock, relative, visible } from "./format.js";
import { html, useEffect, useRef, useState } from "./html.js";
import { Icon } from "./icons.js";
import { checkConnection, liveStore, oldestReadTime, useNow, useReachable } from "./live.js";
import { address, canGoBack } from "./router.js";
import { useStore } from "./store.js";

/**
 * A view. `title` is text; `heading` may be markup in its place, and `subtitle` is below it. `actions`
 * stand in the title's row, at the right: the switch of live refresh first, then what can be done.
 */
export function Page({ title, heading, subtitle, actions, children, className = "" }) {
  const element = useRef(null);
  const installation = useInstallation();
  useEffect(() => {
    document.title = [title, installation, "Hourhand"].filter(Boolean).join(" · ");
  }, [title, installation]);
  useEffect(() => {
    // After a step within the console, a screen reader continues at the new view's title.
    if (canGoBack()) element.current?.focus({ preventScroll: true });
  }, []);
  return html`<div class=${`page ${className}`}>
    <header class="page-header">
      <div class="page-title">
        <h1 tabindex="-1" ref=${element}>${heading ?? title}</h1>
        ${subtitle && html`<p class="page-subtitle">${subtitle}</p>`}
      </div>
      <div class="page-actions">${actions}</div>
    </header>
    ${children}
  </div>`;
}

const OLD_MILLISECONDS = 10_000;

/**
 * The switch between live and paused. It says when the data do not refresh, and how old they are then;
 * `heldBecause` says why a view does not refresh for now.
 */
export function LiveSwitch({ onRefresh, heldBecause }) {
  const isLive = useStore(liveStore);
  const isReachable = useReachable();
  const age = useAgeWords();
  const state = !isReachable ? "Offline" : !isLive ? "Paused" : heldBecause ? "On hold" : "Live";
  const titles = {
    Offline: "The API cannot be reached. This view refreshes as soon as the API answers",
    Paused: "Automatic refresh is paused. Click to resume (p)",
    "On hold": heldBecause,
    Live: "This view refreshes automatically. Click to pause (p)",
  };
  return html`<span class="live">
    <button type="button" class=${`button button-small live-${state.toLowerCase().replace(" ", "-")}`} aria-pressed=${isLive}
      aria-label=${`Live refresh: ${state}`} title=${titles[state]} onClick=${() => liveStore.set(!isLive)}>
      <span class="live-dot" aria-hidden="true"></span>${state}${state !== "Live" && age && html`<span class="live-age">${age}</span>`}
    </button>
    ${onRefresh && html`<button type="button" class="button-icon" aria-label="Refresh now" title="Refresh now (r)"
      onClick=${onRefresh}><${Icon} name="refresh" /></button>`}
  </span>`;
}

/** Shown above every view while the API does not answer: what that means, and how old the data are. */
export function OfflineBanner() {
  const { isReachable, detail } = useStore(connectionStore);
  const [isAsking, setAsking] = useState(false);
  useNow();
  if (isReachable) return null;
  const readAt = oldestReadTime();
  const tryAgain = async () => {
    setAsking(true);
    await checkConnection();
    setAsking(false);
  };
  return html`<div class="offline" role="alert">
    <${Icon} name="offline" />
    <p class="offline-text"><strong>The API cannot be reached.</strong> ${visible(detail)}${" "}
      ${readAt && html`The data on this page are from ${localClock(readAt)} (<${Age} />). `}
      Actions are disabled until the API answers.</p>
    <button type="button" class="button button-small" disabled=${isAsking} onClick=${tryAgain}>Try again</button>
  </div>`;
}

/** Controls that change something: hidden in a read-only console, disabled while the API is unreachable. */
export function Changes({ label, className = "", children }) {
  return html`<fieldset class=${`actions changes ${className}`} aria-label=${label} disabled=${!useReachable()}>${children}</fieldset>`;
}

/** Apart from the banner, so that a screen reader does not read an alert again each second. */
function Age() {
  return html`<span aria-live="off">${relative(new Date(oldestReadTime()).toISOString(), useNow())}</span>`;
}

function useAgeWords() {
  const now = useNow();
  const readAt = oldestReadTime();
  return readAt && now - readAt >= OLD_MILLISECONDS ? relative(new Date(readAt).toISOString(), now) : "";
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
