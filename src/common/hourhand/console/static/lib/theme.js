// The theme: light, dark, or that of the system. The choice is kept.
import { createStore } from "./store.js";

/** "auto", "light" or "dark". */
export const themeStore = createStore("auto", { keptAs: "theme" });

const NEXT = { auto: "light", light: "dark", dark: "auto" };
const listeners = new Set();
const system = matchMedia("(prefers-color-scheme: dark)");

/** Take the kept choice into the page, and follow it from now on. */
export function startTheme() {
  apply(themeStore.get());
  themeStore.listen(apply);
  system.addEventListener("change", announce);
}

/** Switch from "auto" to "light" to "dark" and back to "auto". */
export function nextTheme() {
  themeStore.set(NEXT[themeStore.get()] ?? "auto");
}

/** Call `listener` when colours change: what is drawn on a canvas must be drawn again. */
export function onColoursChanged(listener) {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

/** Return a colour of the style sheet, such as "--accent", as the page has it now. */
export function colour(name) {
  const probe = document.createElement("span");
  probe.style.color = `var(${name})`;
  document.body.append(probe);
  const value = getComputedStyle(probe).color;
  probe.remove();
  return value;
}

function apply(theme) {
  if (theme === "auto") delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = theme;
  announce();
}

function announce() {
  for (const listener of [...listeners]) listener();
}
