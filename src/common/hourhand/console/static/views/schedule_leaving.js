// Whether this console may change anything, and the question before unsaved changes are lost.
import { useEffect } from "../lib/html.js";
import { aboutStore } from "../lib/about.js";
import { confirmAction } from "../lib/components.js";
import { navigate } from "../lib/router.js";

/** Return whether this console may change anything: a read-only one may not. */
export function mayChange() {
  return !aboutStore.get().read_only;
}

/** While there are changes, ask before the page is left: for another site, or by one of its links. */
export function useLeaveWarning(hasChanges) {
  useEffect(() => {
    // A read-only console has no changes to lose.
    if (!hasChanges || !mayChange()) return undefined;
    const letTheBrowserAsk = (event) => event.preventDefault();
    // Before the router, which ignores events that are prevented.
    window.addEventListener("click", askFirst, { capture: true });
    window.addEventListener("beforeunload", letTheBrowserAsk);
    return () => {
      window.removeEventListener("click", askFirst, { capture: true });
      window.removeEventListener("beforeunload", letTheBrowserAsk);
    };
  }, [hasChanges]);
}

async function askFirst(event) {
  const link = event.target.closest?.("a[href]");
  const opensElsewhere = event.button !== 0 || event.ctrlKey || event.metaKey || event.shiftKey || event.altKey;
  if (!link || link.target || link.origin !== location.origin || opensElsewhere) return;
  event.preventDefault();
  const isSure = await confirmAction({
    title: "Leave without saving?",
    body: "Your changes are not saved.",
    label: "Leave",
    isDangerous: true,
    run: async () => true,
  });
  if (isSure) navigate(link.pathname + link.search);
}
