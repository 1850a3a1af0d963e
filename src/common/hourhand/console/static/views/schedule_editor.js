// Creating and changing a schedule: a form or JSON, with a preview of its scheduled times.
import { html, useEffect, useRef, useState } from "../lib/html.js";
import { get, put } from "../lib/api.js";
import {
  confirmAction, EmptyState, ErrorState, FieldProblems, JsonEditor, Loading, Page, TextField, toast,
} from "../lib/components.js";
import { parseExact, pretty } from "../lib/exact_json.js";
import { visible } from "../lib/format.js";
import { jsonFault } from "../lib/json_fault.js";
import { usePolled, useReachable } from "../lib/live.js";
import { address, navigate } from "../lib/router.js";
import { definitionOf, draftOf, faultsOf, readDraft, strayFaults } from "./schedule_definition.js";
import { ScheduleForm } from "./schedule_form.js";
import { useLeaveWarning } from "./schedule_leaving.js";
import { Preview, usePreview } from "./schedule_preview.js";

export const routes = [
  { pattern: "/new-schedule", view: NewView, section: "schedules" },
  { pattern: "/schedules/:id/edit", view: EditView, section: "schedules" },
];

const TAKEN = "is taken by another schedule: choose another ID, or edit that schedule";
const CHANGED = "The schedule was changed since you opened it. If you save, your definition replaces that change.";
const DELETED = "The schedule was deleted since you opened it. If you save, it is created again.";

function NewView({ query }) {
  const from = query.get("from");
  if (from) return html`<${Loaded} id=${from} title="New schedule" isNew />`;
  const definition = { expression: "", handler: query.get("handler") ?? "", timezone: ownZone() };
  return html`<${Editor} title="New schedule" definition=${definition} />`;
}

function EditView({ id }) {
  return html`<${Loaded} id=${id} title=${`Edit ${visible(id)}`} />`;
}

/** The editor with a schedule that is there: to be changed, or copied for a new one. */
function Loaded({ id, title, isNew = false }) {
  const { data, error, isLoading, refresh } = usePolled(
    (signal) => get(["schedules", id], { signal, exactFields: ["payload"] }),
    `edited ${id}`,
    { everyMilliseconds: 0 },
  );
  if (data) return html`<${Editor} title=${title} definition=${definitionOf(data)} current=${isNew ? null : data} />`;
  return html`<${Page} title=${title}>
    ${isLoading && html`<${Loading} />`}
    ${error?.status === 404
      ? html`<${EmptyState} title="This schedule does not exist" icon="search">
          <p><a href=${address(["schedules"])}>Show all schedules</a></p><//>`
      : html`<${ErrorState} error=${error} onRetry=${refresh} />`}
  <//>`;
}

/** `current` is the schedule that is replaced; null creates a new one. */
function Editor({ title, definition, current = null }) {
  const [written, setWritten] = useState(() => ({ id: current?.id ?? "", draft: draftOf(definition), jsonText: null }));
  const [refusal, setRefusal] = useState({ error: null, faults: [], count: 0 });
  const [isBusy, setBusy] = useState(false);
  const [isDirty, setDirty] = useState(false);
  const isReachable = useReachable();
  const read = readWritten(written);
  const preview = usePreview(read);
  const faults = [...read.faults, ...preview.faults, ...refusal.faults];
  useLeaveWarning(isDirty);
  useFirstFault(refusal.count);
  const change = (changes) => {
    setWritten((before) => ({ ...before, ...changes }));
    setRefusal({ ...refusal, error: null, faults: [] });
    setDirty(true);
  };
  const save = async () => {
    setBusy(true);
    try {
      await putChecked({ id: written.id.trim(), read, current, onPut: () => setDirty(false) });
    } catch (error) {
      setRefusal({ error, faults: error.errors ?? [], count: refusal.count + 1 });
    }
    setBusy(false);
  };
  const actions = html`<${ModeSwitch} written=${written} read=${read} change=${change} />
    <a class="button" href=${current ? address(["schedules", current.id]) : address(["schedules"])}>Cancel</a>
    <button type="submit" form="schedule-form" class="button button-primary" disabled=${isBusy || !isReachable}>${isBusy ? "Saving …" : "Save"}</button>`;
  return html`<${Page} title=${title} actions=${actions}>
    <div class="schedule-editor">
      <form id="schedule-form" class="schedule-form" novalidate onSubmit=${(event) => { event.preventDefault(); save(); }}>
        <${Refused} error=${refusal.error} faults=${faults} isJson=${written.jsonText !== null} />
        ${!current && html`<${TextField} label="ID" hint="Letters A to Z and a to z, digits, _ and -. The ID cannot be changed later."
          value=${written.id} error=${faultsOf(faults, "id")[0]} onChange=${(id) => change({ id })} required />`}
        ${written.jsonText === null
          ? html`<${ScheduleForm} draft=${written.draft} isNew=${!current} faults=${faults}
              onChange=${(draft) => change({ draft })} />`
          : html`<${JsonEditor} label="Definition" text=${written.jsonText} onChange=${(jsonText) => change({ jsonText })} />`}
      </form>
      <${Preview} preview=${preview} timezone=${read.definition.timezone ?? "UTC"} />
    </div>
  <//>`;
}

/** The switch between the form and JSON; it converts what was written. */
function ModeSwitch({ written, read, change }) {
  const isJson = written.jsonText !== null;
  const hasFaults = read.faults.length > 0;
  const turn = () => {
    if (isJson) change({ draft: draftOf(read.definition), jsonText: null });
    else change({ jsonText: pretty(read.definition) });
  };
  return html`<button type="button" class="button" aria-pressed=${isJson} disabled=${hasFaults} onClick=${turn}
    title=${hasFaults ? "Correct the marked fields first" : "Show the same definition in the other form"}>${isJson ? "Form" : "JSON"}</button>`;
}

/** The server's error, with the faults that no field shows. */
function Refused({ error, faults, isJson }) {
  const stray = isJson ? faults.filter(({ field }) => field !== "id") : strayFaults(faults).filter(({ field }) => field !== "id");
  if (!error && stray.length === 0) return null;
  if (!error) return html`<div class="problem"><div class="problem-text"><${FieldProblems} errors=${stray} /></div></div>`;
  const { title, status, type } = error;
  return html`<${ErrorState} error=${{ title, status, type, detail: error.detail ?? error.message, errors: stray }} isInline />`;
}

/** Return the definition as it is written, and the faults found in it here. */
function readWritten({ draft, jsonText }) {
  if (jsonText === null) return readDraft(draft);
  const fault = jsonFault(jsonText);
  if (fault) return { definition: {}, faults: [{ field: "body", message: `must be JSON. ${fault.message}` }] };
  const definition = parseExact(jsonText);
  const isObject = typeof definition === "object" && definition !== null && !Array.isArray(definition);
  if (isObject) return { definition, faults: [] };
  return { definition: {}, faults: [{ field: "body", message: "must be a JSON object" }] };
}

/** Put a definition, unless it has faults, or would replace a change that its author has not seen. */
async function putChecked({ id, read, current, onPut }) {
  const missing = id === "" ? [{ field: "id", message: "is required" }] : [];
  const faults = [...missing, ...read.faults];
  if (faults.length > 0) throw refusal("Not saved: correct the marked fields.", faults);
  const found = await findSchedule(id);
  if (!current && found) {
    throw refusal("The ID is already taken.", [{ field: "id", message: TAKEN }]);
  }
  const run = async () => {
    const saved = await put(["schedules", id], withPauseNote(read.definition, found));
    onPut();
    return saved;
  };
  if (!current || (found && isSame(found, current))) {
    const saved = await run();
    toast(`Saved ${visible(saved.id)}.`);
    navigate(address(["schedules", saved.id]));
    return;
  }
  const saved = await confirmAction({
    title: found ? "Overwrite the other change?" : "Create the schedule again?",
    body: found ? CHANGED : DELETED,
    label: "Save my definition",
    isDangerous: true,
    run,
    messageOf: ({ id: savedId }) => `Saved ${visible(savedId)}.`,
  });
  if (saved) navigate(address(["schedules", id]));
}

/** Return what is sent: a note that was written over the note of a pause replaces that one. */
function withPauseNote(definition, found) {
  const isOver = found?.paused && definition.note !== undefined && definition.note !== (found.note ?? "");
  return isOver ? { paused: true, ...definition } : definition;
}

/** Whether the definition is unchanged. A revision does not say: a calendar's change creates one, too. */
function isSame(found, current) {
  return pretty(definitionOf(found)) === pretty(definitionOf(current));
}

async function findSchedule(id) {
  try {
    return await get(["schedules", id], { exactFields: ["payload"] });
  } catch (error) {
    if (error.status === 404) return null;
    throw error;
  }
}

function refusal(title, errors) {
  return { title, detail: "", errors };
}

/** After a refusal, go to the first field that is marked. */
function useFirstFault(count) {
  const shown = useRef(0);
  useEffect(() => {
    if (count > shown.current) document.querySelector("#schedule-form [aria-invalid]")?.focus();
    shown.current = count;
  }, [count]);
}

function ownZone() {
  return Intl.DateTimeFormat().resolvedOptions().timeZone || "UTC";
}
