// Which API this is: the one of this machine, or a deployed one that `hourhand console` stands for.
import { createStore } from "./store.js";

/** {endpoint: null for this machine's own, read_only: whether changes are refused}. */
export const aboutStore = createStore({ endpoint: null, read_only: false });

/** Ask once, at the start. Without an answer nothing is hidden: what is refused will be told. */
export async function startAbout() {
  try {
    const answer = await fetch("/console/about.json");
    if (!answer.ok) return;
    const about = await answer.json();
    // What changes something has the class "changes", and the style sheet hides it.
    if (about.read_only) document.documentElement.dataset.readOnly = "";
    aboutStore.set(about);
  } catch {
    // The views tell of an API that cannot be reached.
  }
}

/** Return the host of the deployed API, or null. */
export function hostOf({ endpoint }) {
  try {
    return endpoint ? new URL(endpoint).host : null;
  } catch {
    return endpoint;
  }
}
