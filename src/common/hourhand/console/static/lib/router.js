// Addresses and views. The address holds the whole state of a view, so that a link can be shared.
import { useEffect, useState } from "./html.js";

const BASE = "/console";

const listeners = new Set();

/** Return the current address: `path` below the console's base, and `query` as URLSearchParams. */
export function here() {
  const path = location.pathname.startsWith(BASE) ? location.pathname.slice(BASE.length) : "";
  return { path: path || "/", query: new URLSearchParams(location.search) };
}

/**
 * Return the address of a view. Segments after the first are data and are encoded:
 * `address(["jobs", id])`. Values of `query` that are empty are left out.
 */
export function address(segments, query = {}) {
  const path = segments.map((segment) => encodeURIComponent(segment)).join("/");
  const given = Object.entries(query).filter(([, value]) => value !== "" && value != null);
  const search = new URLSearchParams(given).toString();
  return `${BASE}/${path}${search ? `?${search}` : ""}`;
}

/** Go to an address of `address`. `replace` leaves no step for the back button. */
export function navigate(target, { replace = false } = {}) {
  const depth = (history.state?.depth ?? 0) + (replace ? 0 : 1);
  history[replace ? "replaceState" : "pushState"]({ depth }, "", target);
  announce();
  if (!replace) window.scrollTo(0, 0);
}

/** Change some filters of this address; the others stay. A step for the back button each. */
export function changeQuery(changes, options) {
  const { path, query } = here();
  // Of a name that is given twice, the views read the first value.
  const first = [...query.keys()].map((name) => [name, query.get(name)]);
  const merged = { ...Object.fromEntries(first), ...changes };
  const segments = path.split("/").filter(Boolean).map(decodeSegment);
  navigate(address(segments, merged), options);
}

/** Whether the back button leads to another view of the console. */
export function canGoBack() {
  return (history.state?.depth ?? 0) > 0;
}

/** Return `here()`, updated whenever the address changes. */
export function useLocation() {
  const [place, setPlace] = useState(here);
  useEffect(() => {
    const update = () => setPlace(here());
    listeners.add(update);
    return () => listeners.delete(update);
  }, []);
  return place;
}

/** Return the named segments of `path` by a pattern such as `/jobs/:id`, or null. */
export function match(pattern, path) {
  const wanted = pattern.split("/").filter(Boolean);
  const given = path.split("/").filter(Boolean);
  if (wanted.length !== given.length) return null;
  const parameters = {};
  for (const [index, segment] of wanted.entries()) {
    if (segment.startsWith(":")) parameters[segment.slice(1)] = decodeSegment(given[index]);
    else if (segment !== given[index]) return null;
  }
  return parameters;
}

/** Let links and the back button change the view without reloading the page. */
export function startRouter() {
  window.addEventListener("popstate", announce);
  document.addEventListener("click", (event) => {
    const isPlain = event.button === 0 && !event.defaultPrevented;
    const hasModifier = event.metaKey || event.ctrlKey || event.shiftKey || event.altKey;
    const link = event.target.closest?.("a[href]");
    if (!isPlain || hasModifier || !link || link.target || link.hasAttribute("download")) return;
    const isOurs = link.origin === location.origin && link.pathname.startsWith(`${BASE}/`);
    if (!isOurs || link.getAttribute("href").startsWith("#")) return;
    event.preventDefault();
    navigate(link.pathname + link.search);
  });
}

function announce() {
  for (const listener of [...listeners]) listener();
}

function decodeSegment(segment) {
  try {
    return decodeURIComponent(segment);
  } catch {
    return segment; // A lone percent sign: no address of ours, and no job has such an id.
  }
}
