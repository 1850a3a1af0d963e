// The shell: navigation, the view that the address names, and what stands in front of all views.
import { html, render, useEffect, useErrorBoundary } from "./lib/html.js";
import { startAccess } from "./lib/access.js";
import { startAbout } from "./lib/about.js";
import { OfflineBanner, Page } from "./lib/components.js";
import { NavCount } from "./lib/counts.js";
import { DialogHost } from "./lib/dialog.js";
import { EnvironmentBar, startEnvironment } from "./lib/environment.js";
import { Icon, Logo } from "./lib/icons.js";
import { KeyHelp, showHelp, startKeys, useKey } from "./lib/keys.js";
import { liveStore, startReconnecting } from "./lib/live.js";
import { address, match, navigate, startRouter, useLocation } from "./lib/router.js";
import { ErrorState } from "./lib/states.js";
import { useStore } from "./lib/store.js";
import { nextTheme, startTheme, themeStore } from "./lib/theme.js";
import { Toasts } from "./lib/toast.js";
import { routes as overviewRoutes } from "./views/overview.js";
import { routes as jobsRoutes } from "./views/jobs.js";
import { routes as jobRoutes } from "./views/job.js";
import { routes as submitRoutes } from "./views/job_submit.js";
import { routes as scheduleRoutes } from "./views/schedules.js";
import { routes as deadLetterRoutes } from "./views/dead_letters.js";
import { routes as calendarRoutes } from "./views/calendars.js";
import { routes as handlerRoutes } from "./views/handlers.js";
import { routes as limitRoutes } from "./views/limits.js";

/** Each route: {pattern, view, section}. A view gets the pattern's segments and `query`. */
const ROUTES = [
  ...overviewRoutes,
  ...jobsRoutes,
  ...jobRoutes,
  ...submitRoutes,
  ...scheduleRoutes,
  ...deadLetterRoutes,
  ...calendarRoutes,
  ...handlerRoutes,
  ...limitRoutes,
];

const SECTIONS = [
  { name: "overview", title: "Overview", to: address([""]), icon: "overview", keys: "g o" },
  { name: "jobs", title: "Jobs", to: address(["jobs"]), icon: "jobs", keys: "g j" },
  { name: "schedules", title: "Schedules", to: address(["schedules"]), icon: "schedules", keys: "g s" },
  { name: "handlers", title: "Handlers", to: address(["handlers"]), icon: "handlers", keys: "g h" },
  { name: "limits", title: "Limits", to: address(["limits"]), icon: "limits", keys: "g l" },
  { name: "dead-letters", title: "Dead letters", to: address(["dead-letters"]), icon: "deadLetters", keys: "g d" },
  { name: "calendars", title: "Calendars", to: address(["calendars"]), icon: "calendars", keys: "g c" },
];

const THEME_WORDS = { auto: "As the system", light: "Light", dark: "Dark" };
const THEME_ICONS = { auto: "contrast", light: "sun", dark: "moon" };

function App() {
  const { path, query } = useLocation();
  const found = ROUTES.map((route) => ({ route, segments: match(route.pattern, path) })).find((r) => r.segments);
  for (const section of SECTIONS) {
    useKey(section.keys, `go to ${section.title.toLowerCase()}`, () => navigate(section.to));
  }
  useKey("n", "submit a job", () => navigate(address(["submit"])));
  useKey("p", "pause or resume refreshing", () => liveStore.set(!liveStore.get()));
  useKey("t", "switch between light, dark and the system's colours", nextTheme);
  return html`
    <${EnvironmentBar} />
    <${Sidebar} current=${found?.route.section} />
    <main id="main" tabindex="-1">
      <${OfflineBanner} />
      <${Guarded} key=${path}>
        ${found
          ? html`<${found.route.view} ...${found.segments} query=${query} />`
          : html`<${NotFound} />`}
      <//>
    </main>
    <${DialogHost} /><${KeyHelp} /><${Toasts} />`;
}

/** Shows the error of a view that fails in its place; the rest of the page stays usable. */
function Guarded({ children }) {
  const [error, reset] = useErrorBoundary((failure) => console.error(failure));
  if (!error) return children;
  const shown = { title: "This view failed", detail: `${error.message}. This is a bug in the console.` };
  return html`<${ErrorState} error=${shown} onRetry=${reset} />`;
}

function Sidebar({ current }) {
  const theme = useStore(themeStore);
  return html`<header class="sidebar">
    <a class="brand" href=${address([""])}><${Logo} /><span>Hourhand</span></a>
    <nav aria-label="Main">
      ${SECTIONS.map(({ name, title, to, icon, keys }) => html`<a key=${name} href=${to} class="nav-link"
        title=${`${title} (${keys})`} aria-current=${name === current ? "page" : undefined}>
        <${Icon} name=${icon} /><span>${title}</span><${NavCount} section=${name} /></a>`)}
    </nav>
    <div class="sidebar-foot">
      <button type="button" class="button-icon" onClick=${nextTheme}
        aria-label=${`Colours: ${THEME_WORDS[theme]}`} title=${`Colours: ${THEME_WORDS[theme]} (t)`}>
        <${Icon} name=${THEME_ICONS[theme]} />
      </button>
      <button type="button" class="button-icon not-on-phone" onClick=${showHelp} aria-label="Keyboard shortcuts" title="Keyboard shortcuts (?)">
        <${Icon} name="keyboard" />
      </button>
      <a class="docs-link not-on-phone" href="/v1/docs" target="_blank" rel="noreferrer">API docs</a>
    </div>
  </header>`;
}

function NotFound() {
  return html`<${Page} title="This page does not exist">
    <p>The console has no page at this address. <a href=${address([""])}>Go to the overview</a>.</p>
  <//>`;
}

/** Shown instead of every view if the server refuses this tab. */
function NoAccess() {
  useEffect(() => { document.title = "No access · Hourhand"; }, []);
  return html`<main id="main"><div class="page">
    <h1>This tab has no access to the console</h1>
    <p>Open the address that <code>hourhand console</code> printed. It ends in a token, which changes at each start.</p>
  </div></main>`;
}

startTheme();
startAccess();
startRouter();
startKeys();
startReconnecting();
const hasAccess = await startAbout();
if (hasAccess) startEnvironment();
render(html`<${hasAccess ? App : NoAccess} />`, document.getElementById("app"));
