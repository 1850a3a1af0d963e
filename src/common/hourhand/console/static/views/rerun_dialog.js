// The question before a part of a graph, or of a durable run, runs again: the API lists first what that includes.
import { html, useEffect, useState } from "../lib/html.js";
import { Dialog, ErrorState, Loading, toast } from "../lib/components.js";
import { ProductionNote } from "../lib/environment.js";
import { counted, visible } from "../lib/format.js";
import { useReachable } from "../lib/live.js";

/**
 * Ask, with a preview. `send(fields)` posts the request, with {dry_run: true} for the preview; `noun` and
 * `verb` are the words for what runs again, and for running it. `onClose(isDone)`.
 */
export function RerunDialog({ title, noun, verb, send, onClose }) {
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
      const done = await send({});
      toast(`${counted((done.reset ?? plan.reset).length, noun)} ${verb === "Rerun" ? "run" : "are redriven"} again.`);
      onClose(true);
    } catch (failure) {
      setError(failure);
      setBusy(false);
    }
  };
  return html`<${Dialog} title=${title} isBusy=${isBusy} onClose=${() => onClose(false)}>
    <form onSubmit=${run}>
      <div class="dialog-words">
        ${!plan && !error && html`<${Loading} rows=${3} />`}
        ${plan && html`<${Names} names=${plan.reset} title=${`${counted(plan.reset.length, noun)} will run again`} />
          <${Names} names=${plan.kept} title=${keptWords(plan.kept.length, noun)} />`}
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
