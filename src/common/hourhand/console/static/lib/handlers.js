// The registered handlers: read once, since they change with a deploy only.
import { useEffect } from "./html.js";
import { get } from "./api.js";
import { createStore, useStore } from "./store.js";

const handlersStore = createStore([]);
let asked = null;

/** Return the handlers as the API lists them; an empty list until they are read. */
export function useHandlers() {
  useEffect(() => { ask(); }, []);
  return useStore(handlersStore);
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
