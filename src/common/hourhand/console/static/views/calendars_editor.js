// Creating and changing a calendar: its exclusions, one a line.
import { html, useState } from "../lib/html.js";
import { get, put } from "../lib/api.js";
import { EmptyState, ErrorState, Loading, Page, TextField, toast } from "../lib/components.js";
import { visible } from "../lib/format.js";
import { usePolled, useReachable } from "../lib/live.js";
import { address, navigate } from "../lib/router.js";
import { faultsOf, strayFaults } from "./schedule_definition.js";
import { exclusionLines, parseExclusions } from "./schedule_exclusions.js";
import { LinesField } from "./schedule_form.js";
import { useLeaveWarning } from "./schedule_leaving.js";

export const routes = [
  { pattern: "/new-calendar", view: NewView, section: "calendars" },
  { pattern: "/calendars/:name/edit", view: EditView, section: "calendars" },
];

const TAKEN = "is taken by another calendar: choose another name, or edit that calendar";
const FIELDS = ["name", "exclude", "note"];
const HINT =
  "One per line: a date 2026-12-25, a range 2026-12-28 .. 2026-12-31 or of two times with offsets," +
  " or an expression such as * * 24-26 12 *, which excludes every minute that it matches";

function NewView() {
  return html`<${Editor} title="New calendar" calendar=${null} />`;
}

function EditView({ name }) {
  const { data, error, isLoading, refresh } = usePolled(
    (signal) => get(["calendars", name], { signal }),
    `edited calendar ${name}`,
    { everyMilliseconds: 0 },
  );
  const title = `Edit ${visible(name)}`;
  if (data) return html`<${Editor} title=${title} calendar=${data} />`;
  return html`<${Page} title=${title}>
    ${isLoading && html`<${Loading} rows=${3} />`}
    ${error?.status === 404
      ? html`<${EmptyState} title="This calendar does not exist" icon="search">
          <p><a href=${address(["calendars"])}>Show all calendars</a></p><//>`
      : html`<${ErrorState} error=${error} onRetry=${refresh} />`}
  <//>`;
}

function Editor({ title, calendar }) {
  const [name, setName] = useState(calendar?.name ?? "");
  const [lines, setLines] = useState(exclusionLines(calendar?.exclude));
  const [note, setNote] = useState(calendar?.note ?? "");
  const [error, setError] = useState(null);
  const [isBusy, setBusy] = useState(false);
  const isReachable = useReachable();
  const before = [calendar?.name ?? "", exclusionLines(calendar?.exclude), calendar?.note ?? ""];
  useLeaveWarning([name, lines, note].some((text, index) => text !== before[index]));
  const save = async (event) => {
    event.preventDefault();
    setBusy(true);
    try {
      await putChecked(name.trim(), calendar, { exclude: parseExclusions(lines), note: note.trim() });
    } catch (failure) {
      setError(failure);
      setBusy(false);
    }
  };
  const faults = error?.errors ?? [];
  const back = calendar ? address(["calendars", calendar.name]) : address(["calendars"]);
  return html`<${Page} title=${title}>
    <form class="card calendar-form" novalidate onSubmit=${save}><div class="card-body fields">
      ${error && html`<div class="field-wide"><${ErrorState} error=${shownError(error, faults)} isInline /></div>`}
      ${!calendar && html`<${TextField} label="Name" hint="Letters A to Z and a to z, digits, _ and -. The name cannot be changed later."
        value=${name} error=${faultsOf(faults, "name")[0]} onChange=${setName} required isWide />`}
      <${LinesField} label="Excluded" hint=${HINT} rows=${8} value=${lines} error=${faultsOf(faults, "exclude")[0]} onChange=${setLines} />
      <${TextField} label="Note" value=${note} error=${faultsOf(faults, "note")[0]} onChange=${setNote} isWide />
      <p class="muted small field-wide">Schedules that use this calendar are recomputed within a few ticks.</p>
      <div class="dialog-actions field-wide">
        <a class="button" href=${back}>Cancel</a>
        <button type="submit" class="button button-primary" disabled=${isBusy || !isReachable}>${isBusy ? "Saving …" : "Save"}</button>
      </div>
    </div></form>
  <//>`;
}

/** The refusal, with the faults that no field shows. */
function shownError({ title, detail, message, status, type }, faults) {
  return { title, detail: detail ?? message, status, type, errors: strayFaults(faults, FIELDS) };
}

/** Put a calendar, unless it would replace a revision that its author has not seen. */
async function putChecked(name, calendar, body) {
  if (name === "") throw refusal("name", "is required");
  if (!calendar && (await exists(name))) throw refusal("name", TAKEN);
  await put(["calendars", name], body);
  toast(`Saved ${visible(name)}.`);
  navigate(address(["calendars", name]));
}

function refusal(field, message) {
  return { title: "Not saved: correct the marked fields.", detail: "", errors: [{ field, message }] };
}

async function exists(name) {
  try {
    await get(["calendars", name]);
    return true;
  } catch (error) {
    if (error.status === 404) return false;
    throw error;
  }
}
