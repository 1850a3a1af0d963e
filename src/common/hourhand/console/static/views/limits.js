// The limits of all handlers: how many jobs may run at a time, how many do, and how many wait.
import { html } from "../lib/html.js";
import { collectPage } from "../lib/api.js";
import { Changes, EmptyState, Time } from "../lib/components.js";
import { count, counted, visible } from "../lib/format.js";
import { address } from "../lib/router.js";
import { declaredOf, routes as limitRoutes } from "./limit.js";
import { askToChange, askToPause, askToResume } from "./limit_actions.js";
import { Fill, LimitBadge } from "./limit_badges.js";
import { eachWords, isChanged, numberWords, pausedKeys, stateOf, waitingWords } from "./limit_words.js";
import { FilteredTable, NamedList } from "./named_list.js";

export const routes = [{ pattern: "/limits", view: LimitsView, section: "limits" }, ...limitRoutes];

const LIMITS_A_PAGE = 50;
const REFRESH_MILLISECONDS = 4000;
/** Each limit of a page costs up to 20 reads, and more where dead holders are looked up. */
const DEPLOYED_MILLISECONDS = 30_000;
const HANDLERS_SHOWN = 3;
const STATES = [["", "any"], ["full", "full"], ["waiting", "jobs wait"], ["paused", "paused"], ["changed", "changed number"]];

const IS_IN_STATE = {
  full: (limit) => stateOf(limit) === "full",
  waiting: (limit) => limit.waiting > 0,
  paused: (limit) => stateOf(limit) === "paused" || pausedKeys(limit).length > 0,
  changed: isChanged,
};

function LimitsView({ query }) {
  return html`<${NamedList} title="Limits" plural="limits" query=${query} none=${NoLimits}
    read=${(page) => collectPage(["limits"], "limits", { ...page, limit: LIMITS_A_PAGE })}
    everyMilliseconds=${REFRESH_MILLISECONDS} deployedMilliseconds=${DEPLOYED_MILLISECONDS}>
    ${(data, refresh) => html`<${FilteredTable} data=${data} noun="limit" query=${query} placeholder="name or handler" states=${STATES}
      caption="Limits by name" columns=${columnsOf(refresh)} nameOf=${({ name }) => name} textsOf=${({ name, handlers }) => [name, ...handlers]}
      isInState=${(limit, state) => IS_IN_STATE[state]?.(limit) ?? true} />
    <p class="muted small">A limit is declared in code, with <code>@job(limits=[…])</code>. No list of keys is kept, so of a limit with keys the
      figures are known for one key at a time: open it, and name the key. Of a rate they are not known: its jobs have start times.</p>`}
  <//>`;
}

function NoLimits() {
  return html`<${EmptyState} title="No handler has a limit" icon="limits">
    <p>A limit bounds how many jobs run at a time, or start in a period, over all workers. A job that finds it full waits, and starts
      when a job before it ends. Declare limits in the code of a handler:</p>
    <pre class="limit-example" tabindex="0">${EXAMPLE}</pre>
    <p>Here you then see how full each limit is, and which jobs wait. You can change its number and pause it while jobs run.</p>
  <//>`;
}

const EXAMPLE = `@job("sync-account", limits=[
    Concurrency(1, key="payload.account"),   # one at a time of each account
    Rate(100, per=60, name="bank"),          # 100 starts a minute
])`;

function columnsOf(refresh) {
  return [
    { title: "Limit", cell: (limit) => html`<${Name} limit=${limit} />` },
    { title: "Kind", cell: (limit) => html`<${Kind} limit=${limit} />` },
    { title: "Running", className: "cell-fill", cell: (limit) => html`<${Fill} limit=${limit} />` },
    { title: "Waiting", isNumber: true, cell: (limit) => html`<${Waiting} limit=${limit} />` },
    { title: "Oldest waits since", className: "nowrap", cell: ({ oldest_waiting_at: at }) => html`<${Time} at=${at} />` },
    { title: "Actions", className: "cell-actions changes", cell: (limit) => html`<${QuickActions} limit=${limit} refresh=${refresh} />` },
  ];
}

function Name({ limit }) {
  const { name, handlers } = limit;
  const others = handlers.length - HANDLERS_SHOWN;
  return html`<span class="limit-name"><span class="limit-title"><a href=${address(["limits", name])}>${visible(name)}</a> <${LimitBadge} limit=${limit} /></span>
    <bdi class="muted small">${visible(handlers.slice(0, HANDLERS_SHOWN).join(", "))}${others > 0 ? ` and ${count(others)} more` : ""}</bdi></span>`;
}

/** The kind of a limit and its number; the number in the code, if an operator set another one. */
function Kind({ limit }) {
  const { kind, max, declared_max: declared, overrides } = limit;
  const each = eachWords(limit);
  const keys = Object.keys(overrides).length;
  return html`<span class="limit-kind"><span>${kind === "rate" ? "Rate" : "Concurrency"}</span>
    <span class="muted small">${numberWords(limit, max)}${each && `, ${visible(each)}`}</span>
    ${max !== declared && html`<span class="text-warning small">in the code: ${count(declared)}</span>`}
    ${keys > 0 && html`<span class="muted small">${counted(keys, "key")} with ${keys === 1 ? "its own number" : "their own numbers"}</span>`}</span>`;
}

function Waiting({ limit: { waiting } }) {
  if (waiting === null) return html`<span class="muted none">–</span>`;
  return waiting > 0 ? html`<strong>${waitingWords(waiting)}</strong>` : html`<span class="muted">0</span>`;
}

function QuickActions({ limit, refresh }) {
  const ask = (question) => async () => {
    const declared = await declaredOf(limit);
    if (await question({ limit, onFull: declared?.on_full })) refresh();
  };
  const name = visible(limit.name);
  const button = (verb, question) => html`<button type="button" class="button button-small" aria-label=${`${verb} ${name}`}
    title=${`${verb} ${name}`} onClick=${ask(question)}>${verb} …</button>`;
  return html`<${Changes} label=${`Actions on ${name}`} className="quick-actions">
    ${limit.kind === "concurrency" && (limit.max === 0 ? button("Resume", askToResume) : button("Pause", askToPause))}
    ${button("Change", askToChange)}
  <//>`;
}
