// The token that `hourhand console` requires in each request. A local cloud requires none.
// sessionStorage belongs to one tab and one origin, port included; a cookie would be sent to every port.
const KEY = "hourhand-console-token";
const HEADER = "x-hourhand-console-token";
const ASK = "token?";
const WAIT_MILLISECONDS = 500;

export const TOKEN_PROBLEM = "urn:hourhand:console_token";

/** The other tabs of this origin: a link that opens in a new tab has no storage of its own yet. */
const tabs = new BroadcastChannel("hourhand-console");

/** Take the token out of the address bar, now and when a new address is pasted into the tab. */
export function startAccess() {
  takeToken();
  addEventListener("hashchange", () => takeToken() && location.reload());
  tabs.addEventListener("message", ({ data }) => {
    const token = sessionStorage.getItem(KEY);
    if (data === ASK && token) tabs.postMessage({ token });
  });
}

/** Return the headers that a request to this page's own server needs. */
export function accessHeaders() {
  const token = sessionStorage.getItem(KEY);
  return token ? { [HEADER]: token } : {};
}

/** Forget a token that was refused, so that this tab gives it to no other tab. */
export function forgetToken() {
  sessionStorage.removeItem(KEY);
}

/** Ask the other tabs for the token. Resolves to whether one of them had it. */
export function askOtherTabs() {
  return new Promise((resolve) => {
    const limit = setTimeout(() => finish(null), WAIT_MILLISECONDS);
    const listen = ({ data }) => data?.token && finish(data.token);
    const finish = (token) => {
      clearTimeout(limit);
      tabs.removeEventListener("message", listen);
      if (token) sessionStorage.setItem(KEY, token);
      resolve(token !== null);
    };
    tabs.addEventListener("message", listen);
    tabs.postMessage(ASK);
  });
}

function takeToken() {
  const token = new URLSearchParams(location.hash.slice(1)).get("token");
  if (token === null) return false;
  sessionStorage.setItem(KEY, token);
  history.replaceState(history.state, "", location.pathname + location.search);
  return true;
}
