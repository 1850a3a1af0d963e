// Which API the console shows: the local one, or a deployed one behind `hourhand console`.
import { accessHeaders, askOtherTabs, forgetToken } from "./access.js";
import { createStore } from "./store.js";

/**
 * {endpoint: a deployed API's address, null for the local API; read_only: whether changes are refused;
 * is_production: whether the user said that it is production}.
 */
export const aboutStore = createStore({ endpoint: null, read_only: false, is_production: false });

/**
 * Read it once, at the start. Resolves to whether this tab may use the console. Without an answer the
 * page hides nothing: the views report that the API cannot be reached.
 */
export async function startAbout() {
  try {
    const about = (await read()) ?? ((await askOtherTabs()) ? await read() : null);
    if (about === null) return false;
    // Controls that change something have the class "changes", and the style sheet hides them.
    if (about.read_only) document.documentElement.dataset.readOnly = "";
    aboutStore.set(about);
  } catch {
    // No answer.
  }
  return true;
}

/** Return what the console's server says of its API, or null if it refuses this tab's token. */
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
