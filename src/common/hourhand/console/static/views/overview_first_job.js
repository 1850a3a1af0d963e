// What an installation without jobs shows: a form for the first job, and the same as a command.
import { html, useEffect, useState } from "../lib/html.js";
import { aboutStore } from "../lib/about.js";
import { CopyButton } from "../lib/components.js";
import { visible } from "../lib/format.js";
import { useHandlers } from "../lib/handlers.js";
import { useStore } from "../lib/store.js";
import { emptyForm } from "./job_form.js";
import { SubmitForm } from "./job_submit.js";

/** Where `hourhand dev` serves, and the command looks, unless they are told otherwise. */
const USUAL_PORT = "8787";

/** Offer the first job, with the first registered handler until another is chosen. */
export function FirstJob() {
  const handlers = useHandlers();
  const { endpoint, read_only: isReadOnly } = useStore(aboutStore);
  const [form, setForm] = useState(() => emptyForm(""));
  const first = handlers[0]?.name ?? "";
  useEffect(() => {
    if (first) setForm((old) => (old.handler ? old : { ...old, handler: first }));
  }, [first]);
  const line = commandOf(form.handler || first || "HANDLER", form.payload, endpoint ?? localEndpoint());
  return html`<section class="first-job" aria-label="The first job">
    <div class="first-job-words">
      <h2>No jobs yet</h2>
      <p class="muted">A job is one run of a handler with a payload. Submit the first one here, or with the command line:</p>
      <div class="command"><code>${visible(line).split(" ").map((word, index) => html`<span key=${index}>${word}</span> `)}</code><${CopyButton} text=${line} label="the command" isQuiet /></div>
      <p class="muted small">The command prints the job as it runs. This page then shows whether jobs start on time, and what failed.</p>
    </div>
    ${!isReadOnly && html`<${SubmitForm} form=${form} setForm=${setForm} />`}
  </section>`;
}

/** Return the address of a local cloud, or null where the command finds it by itself. */
function localEndpoint() {
  return location.port === USUAL_PORT ? null : location.origin;
}

/** Return the command that submits the same job; the payload is quoted for a shell. */
function commandOf(handler, payload, endpoint) {
  const quoted = `'${payload.replace(/\s+/g, " ").replaceAll("'", "'\\''")}'`;
  return `hourhand jobs submit ${handler} ${quoted} --watch${endpoint ? ` --endpoint ${endpoint}` : ""}`;
}
