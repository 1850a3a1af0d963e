// Live data: a view reads its data again at an interval, unless refreshing is paused or the tab is hidden.
import { useEffect, useRef, useState } from "./html.js";
import { connectionStore, get } from "./api.js";
import { createStore, useStore } from "./store.js";

const MOST_MILLISECONDS_APART = 30_000;
const RECONNECT_MILLISECONDS = [2000, 3000, 5000, 10_000];

/** Whether views refresh by themselves; the switch in the header sets it. */
export const liveStore = createStore(true);

const clock = createStore(Date.now());
setInterval(() => document.hidden || clock.set(Date.now()), 1000);
document.addEventListener("visibilitychange", () => clock.set(Date.now()));

/** When each view on the page last read its data, in milliseconds. */
const readTimes = new Map();

/** Return when the oldest data on the page were read, in milliseconds; null if there are none. */
export function oldestReadTime() {
  return readTimes.size === 0 ? null : Math.min(...readTimes.values());
}

/** Return whether the API answers. What changes something is disabled while it does not. */
export function useReachable() {
  return useStore(connectionStore).isReachable;
}

/** Ask now whether the API answers; any request's answer changes `connectionStore`. */
export function checkConnection() {
  return get(["health"]).catch(() => {});
}

/** While the API does not answer, ask again until it does. The views then read their data again. */
export function startReconnecting() {
  let timer = null;
  const ask = async (tries) => {
    clearTimeout(timer);
    if (!document.hidden) await checkConnection();
    if (connectionStore.get().isReachable) return;
    const wait = RECONNECT_MILLISECONDS[Math.min(tries, RECONNECT_MILLISECONDS.length - 1)];
    timer = setTimeout(() => ask(tries + 1), wait);
  };
  connectionStore.listen(({ isReachable }) => {
    clearTimeout(timer);
    if (!isReachable) timer = setTimeout(() => ask(1), RECONNECT_MILLISECONDS[0]);
  });
  window.addEventListener("online", () => connectionStore.get().isReachable || ask(1));
}

/** Return the time in milliseconds, updated each second: for times such as "3 s ago". */
export function useNow() {
  return useStore(clock);
}

/**
 * Load now, whenever `key` or `version` changes, and every `everyMilliseconds` while live, shown and not held.
 *
 * `load(signal)` returns a promise. A new `key` asks for other data, a new `version` for newer data: until they
 * come, the last ones stay. Returns {data, error, isLoading, refresh}: after a failure the last data stay, the
 * error is shown beside them, and the time to the next try grows. If the API gave no answer and there are data,
 * there is no error: the shell shows that the console is offline.
 */
export function usePolled(load, key, { everyMilliseconds = 3000, isHeld = false, version = "" } = {}) {
  const isLive = useStore(liveStore);
  const [state, setState] = useState({ key, data: null, error: null, isLoading: true });
  const [asked, setAsked] = useState(0);
  const latest = useRef(load);
  latest.current = load;
  const loaded = useRef(null);
  useEffect(() => () => readTimes.delete(latest), []);
  const repeatMilliseconds = isLive && !isHeld ? everyMilliseconds : 0;

  useEffect(() => {
    const wanted = `${key} ${version} ${asked}`;
    return startPolling({
      load: (signal) => latest.current(signal),
      repeatMilliseconds,
      // Switching live refresh on or off does not read again data that was just read.
      isLoaded: () => loaded.current === wanted,
      onData(data) {
        loaded.current = wanted;
        readTimes.set(latest, Date.now());
        setState({ key, data, error: null, isLoading: false });
      },
      onError: (error) =>
        setState((old) => ({ key, data: old.key === key ? old.data : null, error, isLoading: false })),
    });
  }, [key, version, asked, repeatMilliseconds]);

  const isCurrent = state.key === key;
  const data = isCurrent ? state.data : null;
  const error = isCurrent ? state.error : null;
  return {
    data,
    error: data && error?.isWithoutAnswer ? null : error,
    isLoading: !isCurrent || state.isLoading,
    refresh: () => setAsked((count) => count + 1),
  };
}

/** Load, report, and load again after `repeatMilliseconds` (0: never). Returns the function that ends it. */
function startPolling({ load, repeatMilliseconds, isLoaded, onData, onError }) {
  const ending = new AbortController();
  let timer = null;
  let failures = 0;
  let isAsking = false;
  const schedule = () => {
    const wait = Math.min(repeatMilliseconds * 2 ** Math.min(failures, 5), MOST_MILLISECONDS_APART);
    if (repeatMilliseconds) timer = setTimeout(look, Math.max(wait, repeatMilliseconds));
  };
  const look = async () => {
    if (document.hidden && isLoaded()) return schedule();
    isAsking = true;
    try {
      const data = await load(ending.signal);
      if (ending.signal.aborted) return;
      failures = 0;
      onData(data);
    } catch (error) {
      if (ending.signal.aborted) return;
      failures += 1;
      onError(error);
    }
    isAsking = false;
    schedule();
  };
  const wake = () => {
    if (document.hidden || isAsking || !(repeatMilliseconds || failures)) return;
    clearTimeout(timer);
    look();
  };
  document.addEventListener("visibilitychange", wake);
  const stopListening = connectionStore.listen(({ isReachable }) => isReachable && wake());
  if (isLoaded()) schedule();
  else look();
  return () => {
    ending.abort();
    clearTimeout(timer);
    document.removeEventListener("visibilitychange", wake);
    stopListening();
  };
}
