// Which API this is: the one of this machine, or a deployed one that `hourhand console` stands for.
import { accessHeaders, askOtherTabs, forgetToken } from "./access.js";
import { createStore } from "./store.js";

/** {endpoint: null for this machine's own, read_only: whether changes are refused}. */
export const aboutStore = createStore({ endpoint: null, read_only: false });

/**
 * Ask once, at the start. Resolves to whether this tab may use the console. Without an answer nothing
 * is hidden: the views report an API that cannot be reached.
 */
export async function startAbout() {
  try {
    const about = (await read()) ?? ((await askOtherTabs()) ? await read() : null);
    if (about === null) return false;
    // What changes something has the class "changes", and the style sheet hides it.
    if (about.read_only) document.documentElement.dataset.readOnly = "";
    aboutStore.set(about);
  } catch {
    // No answer.
  }
  return true;
}

/** Return what this is a console of, or null if it refuses this tab's token. */
async function read() {
  const answer = await fetch("/console/about.json", { headers: accessHeaders() });
  if (answer.ok) return answer.json();
  if (answer.status !== 403) throw new Error(`Status ${answer.status}`);
  forgetToken();
  return null;
}

/** Return the host of the deployed API, or null. */
export function hostOf({ endpoint }) {
  try {
    return endpoint ? new URL(endpoint).host : null;
  } catch {
    return endpoint;
  }
}
