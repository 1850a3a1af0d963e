// Preact, its hooks and htm bound to it, as the one module that the views import.
import { h } from "../vendor/preact.mjs";
import htm from "../vendor/htm.mjs";

export * from "../vendor/preact.mjs";
export * from "../vendor/hooks.mjs";

/** Markup as a tagged template. A value in `${}` becomes text or an attribute, never markup. */
export const html = htm.bind(h);
