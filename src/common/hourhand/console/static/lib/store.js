// A value that several parts of the page share. A change of it notifies them.
import { useEffect, useState } from "./html.js";

/** Make a store. `keptAs` names it in the browser's storage, where that is allowed. */
export function createStore(initial, { keptAs } = {}) {
  let value = keptAs ? recall(keptAs, initial) : initial;
  const listeners = new Set();
  return {
    get: () => value,
    set(next) {
      if (Object.is(next, value)) return;
      value = next;
      if (keptAs) keep(keptAs, next);
      for (const listener of [...listeners]) listener(next);
    },
    listen(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
  };
}

/** Return a store's value, updated whenever it changes. */
export function useStore(store) {
  const [value, setValue] = useState(() => store.get());
  useEffect(() => {
    setValue(() => store.get());
    return store.listen((next) => setValue(() => next));
  }, [store]);
  return value;
}

function recall(name, initial) {
  try {
    return JSON.parse(localStorage.getItem(`hourhand.${name}`)) ?? initial;
  } catch {
    return initial; // Storage is forbidden, or holds what is not ours.
  }
}

function keep(name, value) {
  try {
    localStorage.setItem(`hourhand.${name}`, JSON.stringify(value));
  } catch {
    // The value then lasts until the page closes.
  }
}
