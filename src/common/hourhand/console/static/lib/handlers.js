// The registered handlers: read once, since they change with a deployment only.
import { useEffect, useState } from "./html.js";
import { get } from "./api.js";
import { createStore, useStore } from "./store.js";

const handlersStore = createStore([]);
let asked = null;

/** Return the handlers as the API lists them; an empty list until they are read. */
export function useHandlers() {
  useEffect(() => { ask(); }, []);
  return useStore(handlersStore);
}

/** Return whether a handler is one that every worker has, of a graph, a batch or a compensation: the API does not list it. */
export function isBuiltIn(name) {
  return name.startsWith("hourhand.");
}

/** Return a handler by its name, with its payload's schema; null until it is read, and if there is none. */
export function useHandler(name) {
  const [found, setFound] = useState(null);
  useEffect(() => {
    if (!name || isBuiltIn(name)) return undefined;
    const ending = new AbortController();
    get(["handlers", name], { signal: ending.signal }).then(setFound, () => {});
    return () => ending.abort();
  }, [name]);
  return found?.name === name ? found : null;
}

/** Resolve to the names of the handlers; to none if they cannot be read. */
export async function handlerNames() {
  await ask();
  return handlersStore.get().map(({ name }) => name);
}

function ask() {
  asked ??= get(["handlers"])
    .then((answer) => handlersStore.set(answer.handlers))
    .catch(() => { asked = null; });
  return asked;
}
