// What needs attention, at the top of the overview: the verdict, its three checks, and each finding with its cause.
import { html } from "../lib/html.js";
import { Badge } from "../lib/components.js";
import { localClock, visible } from "../lib/format.js";
import { verdictOf } from "./overview_verdict.js";

const SHAPES = { bad: "cross", warning: "sand", good: "check", neutral: "clock" };

/** Show the verdict on the window that `choice` changes. */
export function Verdict({ stats, holds, figures, points, windowWords, now, coveredSince, choice }) {
  const verdict = verdictOf({ stats, ...holds, figures, points, windowWords, now });
  const isPartly = coveredSince > figures.since;
  return html`<section class=${`verdict verdict-${verdict.tone}`} aria-label="Verdict">
    <div class="verdict-head">
      <${Badge} tone=${verdict.tone} shape=${verdict.shape}>${verdict.headline}<//>
      <span class="muted">in the ${windowWords}${isPartly ? `, of which the jobs since ${localClock(coveredSince)} were read` : ""}</span>
      ${choice}
    </div>
    ${verdict.findings.length > 0 && html`<ul class="findings" aria-label="Needs attention">
      ${verdict.findings.map((finding) => html`<${Finding} key=${finding.text} finding=${finding} />`)}
    </ul>`}
    <dl class="checks">
      ${verdict.checks.map(({ name, tone, text }) => html`<div key=${name} class=${`check-item check-${tone}`}>
        <dt><${Badge} tone=${tone} shape=${SHAPES[tone]}>${name}<//></dt><dd>${text}</dd>
      </div>`)}
    </dl>
  </section>`;
}

function Finding({ finding: { tone, text, to, label } }) {
  return html`<li class=${`finding finding-${tone}`}>
    <${Badge} tone=${tone} shape=${SHAPES[tone]}>${tone === "bad" ? "Act" : "Check"}<//>
    <bdi class="finding-text">${visible(text)}</bdi>
    ${to && html`<a class="button button-small" href=${to}>${label}</a>`}
  </li>`;
}
