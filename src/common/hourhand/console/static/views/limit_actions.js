// The changes of a limit's numbers. Each one asks for confirmation, and says what will happen.
import { html, useState } from "../lib/html.js";
import { post, put, remove } from "../lib/api.js";
import { confirmAction, TextField } from "../lib/components.js";
import { count, counted, visible } from "../lib/format.js";
import { boundsOf, effectWords, hasKeys, numberWords, pauseWords, readNumber } from "./limit_words.js";

const SOON = "Workers know it within 30 seconds.";
const STAYS = "The number stays until it is restored, also after a deployment.";

/**
 * Ask for a new number. `asked`: {limit, key, onFull}; with a `key`, the number is that of this key, and
 * `limit` is what the API answers for it. Resolves to undefined if refused.
 */
export function askToChange({ limit, key, onFull }) {
  const wanted = { text: String(limit.max) };
  return confirmAction({
    title: `Change the number of ${nameOf(limit, key)}?`,
    body: html`<${NumberField} wanted=${wanted} limit=${limit} keyName=${key} onFull=${onFull} />
      <p class="muted small">${SOON} ${STAYS}</p>`,
    label: "Change",
    run: () => set(limit, key, numberOf(limit, wanted)),
    messageOf: (changed) => `${nameOf(limit, key)}: ${numberWords(limit, numberOf(limit, wanted))}.${grantedWords(changed)}`,
  });
}

/** Ask for a key and the number of this key alone. */
export function askToAddKey({ limit, onFull }) {
  const wanted = { text: String(limit.max), key: "" };
  return confirmAction({
    title: `Set the number of one key of ${visible(limit.name)}?`,
    body: html`<${KeyField} wanted=${wanted} limit=${limit} />
      <${NumberField} wanted=${wanted} limit=${limit} keyName="" onFull=${onFull} />
      <p class="muted small">${SOON} ${STAYS} At most 1,000 keys of all limits have numbers of their own.</p>`,
    label: "Set",
    run: () => {
      if (wanted.key === "") throw refusal("key", "is required");
      return set(limit, wanted.key, numberOf(limit, wanted));
    },
    messageOf: (changed) => `${nameOf(limit, wanted.key)}: ${numberWords(limit, numberOf(limit, wanted))}.${grantedWords(changed)}`,
  });
}

/** Ask whether to set the number to 0. */
export function askToPause({ limit, key, onFull }) {
  const own = key === undefined ? ownNumbers(limit) : "";
  return confirmAction({
    title: `Pause ${nameOf(limit, key)}?`,
    body: html`<p>${pauseWords(onFull)}${own}${lostNumber(limit, key)}</p>
      <p class="muted small">Workers may start jobs for 30 seconds more. The pause of a limit has no note and no end. To stop one handler
        with both, pause the handler.</p>`,
    label: "Pause",
    run: () => set(limit, key, 0),
    messageOf: () => `Paused ${nameOf(limit, key)}.`,
  });
}

/** Ask whether to remove the number 0: that of the code holds again. */
export function askToResume({ limit, key }) {
  return confirmAction({
    title: `Resume ${nameOf(limit, key)}?`,
    body: html`<p>${key === undefined
      ? `The number in the code holds again: ${numberWords(limit, limit.declared_max)}.`
      : "The key has no number of its own any more. That of all keys holds."}
      ${" "}Jobs that wait start: up to 1,000 at once, the others, and those of a limit with keys, with the next sweeps, one a minute. ${SOON}</p>`,
    label: "Resume",
    run: () => set(limit, key, null),
    messageOf: (changed) => `Resumed ${nameOf(limit, key)}.${grantedWords(changed)}`,
  });
}

/** Ask whether to remove the number of one key. */
export function askToRemoveKey({ limit, key }) {
  return confirmAction({
    title: `Remove the number of ${nameOf(limit, key)}?`,
    body: html`<p>The number of all keys holds for it again. If that is larger, waiting jobs start. ${SOON}</p>`,
    label: "Remove",
    run: () => set(limit, key, null),
    messageOf: (changed) => `Removed the number of ${nameOf(limit, key)}.${grantedWords(changed)}`,
  });
}

/** Ask whether to remove all numbers that were set. */
export function askToRestore({ limit }) {
  const keys = Object.keys(limit.overrides).length;
  return confirmAction({
    title: `Restore the numbers of ${visible(limit.name)}?`,
    body: html`<p>The number in the code holds again: ${numberWords(limit, limit.declared_max)}.${keys > 0
      ? ` ${keys === 1 ? "The number of one key is removed" : `The numbers of ${count(keys)} keys are removed`}.` : ""}
      ${" "}Jobs that run go on. ${SOON}</p>`,
    label: "Restore",
    run: () => remove(["limits", limit.name]),
    messageOf: (changed) => `Restored ${visible(limit.name)}.${grantedWords(changed)}`,
  });
}

/** Ask whether to give the jobs that wait for a rate new start times. */
export function askToRetime({ limit, key }) {
  return confirmAction({
    title: `Retime the waiting jobs of ${nameOf(limit, key)}?`,
    body: html`<p>Jobs that wait keep their order and get new start times by the present number, the first in 30 seconds. This also ends a
      hold by RateLimited, and forgets a cost that closed the rate for long.</p>`,
    label: "Retime",
    run: () => retime(limit, key),
    messageOf: ({ matched, changed, failed }) => `${count(changed)} of ${counted(matched, "waiting job")} moved.${failed === 0 ? "" : ` ${count(failed)} failed and keep their time.`}`,
  });
}

/** Retime call after call to the end. */
async function retime(limit, key) {
  const total = { matched: 0, changed: 0, failed: 0 };
  const keyed = key === undefined ? {} : { key };
  let cursor = null;
  do {
    const done = await post(["limits", limit.name, "retime"], cursor ? { ...keyed, cursor } : keyed);
    total.matched += done.matched;
    total.changed += done.changed;
    total.failed += done.failed.length;
    cursor = done.next_cursor;
  } while (cursor);
  return total;
}

/** Ask whether to free the slot that a DEAD job keeps. */
export function askToFree({ limit, jobId }) {
  return confirmAction({
    title: "Free the slot of this job?",
    body: html`<p class="job-named"><strong><bdi>${visible(limit.name)}</bdi></strong> <bdi class="mono small">${visible(jobId)}</bdi></p>
      <p>The job stays dead. The next waiting job starts, although this one did not succeed. To run this job first, redrive it instead.</p>`,
    label: "Free slot",
    isDangerous: true,
    run: () => post(["limits", limit.name, "free"], { job_id: jobId }),
    messageOf: () => "Slot freed.",
  });
}

function KeyField({ wanted, limit }) {
  const [key, setKey] = useState("");
  const change = (text) => {
    wanted.key = text;
    setKey(text);
  };
  return html`<${TextField} label="Key" hint=${`A value of ${visible(limit.key)}. 42 names the number and the text`}
    value=${key} onChange=${change} maxlength="256" />`;
}

/** The field of a number, and below it what will happen. */
function NumberField({ wanted, limit, keyName, onFull }) {
  const [text, setText] = useState(wanted.text);
  const change = (changed) => {
    wanted.text = changed;
    setText(changed);
  };
  const [lowest, highest] = boundsOf(limit);
  const number = readNumber(limit, text);
  const error = number === null ? `Must be a whole number from ${count(lowest)} to ${count(highest)}` : null;
  const label = limit.kind === "rate" ? "Starts in its period" : "Jobs at a time";
  const own = keyName === undefined ? ownNumbers(limit) : "";
  return html`<${TextField} label=${label} hint=${`In the code: ${count(limit.declared_max)}. ${limit.kind === "rate" ? "" : "0 pauses it"}`}
      value=${text} onChange=${change} error=${error} inputmode="numeric" />
    <p role="status">${number === null ? "" : `${effectWords(limit, number, onFull)}${own}`}</p>`;
}

/** Return that keys with numbers of their own do not follow that of all keys. */
function ownNumbers(limit) {
  const keys = Object.keys(limit.overrides);
  if (!hasKeys(limit) || keys.length === 0) return "";
  return ` ${counted(keys.length, "key")} with ${keys.length === 1 ? "a number of its own keeps it" : "numbers of their own keep them"}.`;
}

/** Return that a number that was set before is lost with a pause. */
function lostNumber({ max, declared_max: declared, overrides }, key) {
  if (key !== undefined) return Object.hasOwn(overrides, key) ? ` A resume removes the number of this key (${count(max)}).` : "";
  return max === declared ? "" : ` A resume restores the number in the code (${count(declared)}), not ${count(max)}.`;
}

function numberOf(limit, { text }) {
  const number = readNumber(limit, text);
  const [lowest, highest] = boundsOf(limit);
  if (number === null) throw refusal("max", `must be a whole number from ${count(lowest)} to ${count(highest)}`);
  return number;
}

function refusal(field, message) {
  return { title: "Not changed", detail: "Correct this field.", errors: [{ field, message }] };
}

function set(limit, key, number) {
  return put(["limits", limit.name], key === undefined ? { max: number } : { overrides: { [key]: number } });
}

function nameOf({ name }, key) {
  return key === undefined ? visible(name) : `${visible(name)} for the key ${visible(key)}`;
}

function grantedWords({ granted }) {
  return granted > 0 ? ` ${counted(granted, "waiting job")} may start.` : "";
}
