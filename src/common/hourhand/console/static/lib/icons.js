// Pictures, drawn in the colour of the text beside them. They are decoration: words say the same.
import { html } from "./html.js";

const LINES = {
  overview: "M3 13a9 9 0 1 1 18 0M12 13l4-4M5 19h14",
  jobs: "M4 6h16M4 12h16M4 18h10",
  schedules: "M5 5h14v15H5zM5 10h14M9 3v4M15 3v4",
  deadLetters: "M4 6h16v12H4zM4 7l8 6 8-6",
  calendars: "M5 5h14v15H5zM5 10h14M9 3v4M15 3v4M9 14l6 3M15 14l-6 3",
  plus: "M12 5v14M5 12h14",
  close: "M6 6l12 12M18 6L6 18",
  copy: "M9 9h11v11H9zM5 15H4V4h11v1",
  check: "M5 12.5l4.5 4.5L19 7.5",
  refresh: "M20 11a8 8 0 1 0-2.3 6M20 5v6h-6",
  play: "M8 5l11 7-11 7z",
  pause: "M8 5v14M16 5v14",
  sun: "M12 8a4 4 0 1 0 0 8 4 4 0 0 0 0-8zM12 2v3M12 19v3M2 12h3M19 12h3M5 5l2 2M17 17l2 2M5 19l2-2M17 7l2-2",
  moon: "M20 14A8 8 0 0 1 10 4a8 8 0 1 0 10 10z",
  contrast: "M12 3a9 9 0 1 0 0 18zM12 3a9 9 0 0 1 0 18",
  keyboard: "M3 7h18v10H3zM7 14h10M7 10.5h.01M11 10.5h.01M15 10.5h.01",
  search: "M11 4a7 7 0 1 0 0 14 7 7 0 0 0 0-14zM16 16l5 5",
  warning: "M12 4l9 16H3zM12 10v4M12 17h.01",
  back: "M15 5l-7 7 7 7",
  forward: "M9 5l7 7-7 7",
  down: "M6 9l6 6 6-6",
  link: "M10 14a4 4 0 0 0 6 0l3-3a4 4 0 0 0-6-6l-1 1M14 10a4 4 0 0 0-6 0l-3 3a4 4 0 0 0 6 6l1-1",
  clock: "M12 3a9 9 0 1 0 0 18 9 9 0 0 0 0-18zM12 7v5l3.5 2",
  edit: "M4 20h4L19 9l-4-4L4 16zM13 7l4 4",
  trash: "M5 7h14M10 7V4h4v3M7 7l1 13h8l1-13",
  offline: "M4 4l16 16M8.5 12.5a5 5 0 0 1 3.6-1.4M5 9a10 10 0 0 1 4-2.3M14 6.4A10 10 0 0 1 19 9M15 12a5 5 0 0 1 .6.5M12 17h.01",
  handlers: "M8 4H6a2 2 0 0 0-2 2v3a3 3 0 0 1-2 3 3 3 0 0 1 2 3v3a2 2 0 0 0 2 2h2M16 4h2a2 2 0 0 1 2 2v3a3 3 0 0 0 2 3 3 3 0 0 0-2 3v3a2 2 0 0 1-2 2h-2",
  limits: "M4 5h16l-6.2 7.4V18l-3.6 2v-7.6z",
  inbox: "M4 13l3-8h10l3 8v6H4zM4 13h5l1 3h4l1-3h5",
};

/** Show a line drawing; `name` is a key of LINES. */
export function Icon({ name }) {
  return html`<svg class="icon" viewBox="0 0 24 24" aria-hidden="true" focusable="false">
    <path d=${LINES[name]} />
  </svg>`;
}

/** The product's mark: a clock's hands. */
export function Logo() {
  return html`<svg class="logo" viewBox="0 0 32 32" aria-hidden="true" focusable="false">
    <circle cx="16" cy="16" r="14" /><path d="M16 8v8l5.5 3.2" />
  </svg>`;
}
