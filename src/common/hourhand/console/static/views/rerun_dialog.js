// The question before a part of a graph, or of a durable run, runs again: the API lists first what that includes.
import { html, useEffect, useState } from "../lib/html.js";
import { Dialog, ErrorState, Loading, toast } from "../lib/components.js";
import { ProductionNote } from "../lib/environment.js";
import { counted, visible } from "../lib/format.js";
import { useReachable } from "../lib/live.js";

/**
 * Ask, with a preview. `send(fields)` posts the request, with {dry_run: true} for the preview; `noun` and
 * `verb` are the words for what runs again, and for running it. `hasResult(name)`: whether a name that is not
 * reset has a result to keep; what has none is tried again, as in any redrive. `onClose(isDone)`. `children`: further choices.
 */
export function RerunDialog({ title, noun, verb, send, hasResult, onClose, children }) {
  const [plan, setPlan] = useState(null);
  const [error, setError] = useState(null);
  const [isBusy, setBusy] = useState(false);
  const isReachable = useReachable();
  useEffect(() => {
    send({ dry_run: true }).then(setPlan, setError);
  }, []);
  const run = async (event) => {
    event.preventDefault();
    setBusy(true);
    setError(null);
    try {
      await send({});
      toast(`${counted(plan.reset.length, noun)} ${plan.reset.length === 1 ? "runs" : "run"} again.`);
      onClose(true);
    } catch (failure) {
      setError(failure);
      setBusy(false);
    }
  };
  const kept = plan?.kept.filter(hasResult) ?? [];
  const tried = plan?.kept.filter((name) => !hasResult(name)) ?? [];
  return html`<${Dialog} title=${title} isBusy=${isBusy} onClose=${() => onClose(false)}>
    <form onSubmit=${run}>
      <div class="dialog-words">
        ${!plan && !error && html`<${Loading} rows=${3} />`}
        ${plan && html`<${Names} names=${plan.reset} title=${`${counted(plan.reset.length, noun)} will run again`} />
          ${tried.length > 0 && html`<${Names} names=${tried} title=${`${counted(tried.length, noun)} without a result ${tried.length === 1 ? "is" : "are"} tried again`} />`}
          <${Names} names=${kept} title=${keptWords(kept.length, noun)} />`}
        ${children}
        <${ProductionNote} />
      </div>
      <${ErrorState} error=${error} isInline />
      <div class="dialog-actions">
        <button type="button" class="button" data-first-focus disabled=${isBusy} onClick=${() => onClose(false)}>Back</button>
        <button type="submit" class="button button-primary" disabled=${isBusy || !plan || !isReachable}>
          ${isBusy ? "Working …" : plan ? `${verb} ${counted(plan.reset.length, noun)}` : verb}</button>
      </div>
    </form>
  <//>`;
}

function keptWords(number, noun) {
  return number === 0 ? `No ${noun} keeps its result` : `${counted(number, noun)} ${number === 1 ? "keeps its result" : "keep their results"}`;
}

function Names({ names, title }) {
  return html`<section class="rerun-names" aria-label=${title}>
    <h3>${title}</h3>
    ${names.length > 0 && html`<ul class="tags" tabindex="0">${names.map((name) => html`<li key=${name} class="tag"><bdi>${visible(name)}</bdi></li>`)}</ul>`}
  </section>`;
}
