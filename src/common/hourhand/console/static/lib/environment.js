// The environment: which installation the console shows, and whether that is production.
import { html } from "./html.js";
import { aboutStore, hostOf } from "./about.js";
import { connectionStore, get } from "./api.js";
import { visible } from "./format.js";
import { createStore, useStore } from "./store.js";

const NOT_KNOWN = { installation: null, stage: null, region: null, account: null };

/** {installation, stage, region, account}, as the API answers; each is null if it is not known. */
export const environmentStore = createStore(NOT_KNOWN);

/** Read it now, and again when the API answers after it did not: it may be another installation. */
export function startEnvironment() {
  const mark = () => document.documentElement.toggleAttribute("data-production", isProduction(environmentStore.get()));
  mark();
  environmentStore.listen(mark);
  connectionStore.listen(({ isReachable }) => isReachable && read());
  read();
}

/** Whether what is changed here is changed in production: the stage or the user's own context says so. */
function isProduction({ stage }) {
  return stage === "prod" || aboutStore.get().is_production === true;
}

/** Return the name of the installation for titles, or null for a local cloud. */
export function useInstallation() {
  const { installation, stage } = useStore(environmentStore);
  return stage === "local" ? null : installation;
}

/** A bar above all views: stage, installation, Region, account and host. */
export function EnvironmentBar() {
  const about = useStore(aboutStore);
  const environment = useStore(environmentStore);
  const { installation, region, account } = environment;
  const host = hostOf(about);
  const kind = isProduction(environment) ? "production" : environment.stage === "local" ? "local" : "deployed";
  const isNamed = installation && kind !== "local";
  return html`<aside class=${`environment environment-${kind}`} aria-label="Environment">
    <strong class="environment-stage">${kind === "production" ? "Production" : stageWords(environment, host)}</strong>
    ${isNamed && html`<span class="environment-name">${visible(installation)}</span>`}
    ${region && html`<span>${visible(region)}</span>`}
    ${account && html`<span class="environment-account" title="AWS account">
      <span class="environment-account-word">account </span>${accountWords(account)}</span>`}
    ${host && html`<span class="environment-host" title=${about.endpoint}>${host}</span>`}
    ${kind === "local" && !host && html`<span>on this machine</span>`}
    ${about.read_only && html`<span class="badge badge-warning">read-only</span>`}
  </aside>`;
}

/** A sentence for questions before a change, where it changes production; else nothing. */
export function ProductionNote() {
  const environment = useStore(environmentStore);
  const about = useStore(aboutStore);
  if (!isProduction(environment)) return null;
  const name = environment.installation ?? hostOf(about) ?? "an installation without a name";
  return html`<p class="dialog-production">This changes <strong>production</strong>: ${visible(name)}.</p>`;
}

async function read() {
  try {
    const { installation = null, stage = null, region = null, account = null } = await get(["health"]);
    environmentStore.set({ installation, stage, region, account });
  } catch {
    // The shell shows that the API cannot be reached; what was read before stays.
  }
}

function stageWords({ stage, installation }, host) {
  const known = { dev: "Development", local: "Local" }[stage];
  if (known) return known;
  if (stage) return visible(stage);
  return installation || host ? "Deployed" : "Not known";
}

/** Return "123456789012" in groups of four, as the AWS console shows it. */
function accountWords(account) {
  return visible(account).replace(/^(\d{4})(\d{4})(\d{4})$/, "$1-$2-$3");
}
