// Where JSON is wrong, in the same words in every browser: theirs differ, and some give no position.

const SPACE = /[ \t\n\r]*/y;
const STRING = /"(?:[^"\\\u0000-\u001f]|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*"/y;
const NUMBER = /-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?(?![0-9a-zA-Z_.+-])/y;
const WORD = /(?:true|false|null)(?![0-9a-zA-Z_])/y;

const BAD_STRING = "This string is not closed, or contains a line break, a tab or a backslash that must be escaped";
const VALUE = "a value: a string in double quotes, a number, true, false, null, [ or {";
const EXPECTED = {
  value: VALUE,
  "first item": `${VALUE}, or ]`,
  "first name": "a name in double quotes, or }",
  name: "a name in double quotes",
  colon: "a colon",
};

/** Return null if `text` is JSON, else {message, line, column}: what is wrong and where (from 1). */
export function jsonFault(text) {
  if (isJson(text)) return null;
  if (text.trim() === "") return { message: "The JSON is empty. Write null for no value", line: 1, column: 1 };
  const { at, message } = findFault(text);
  const before = text.slice(0, at).split("\n");
  return { message, line: before.length, column: before.at(-1).length + 1 };
}

function isJson(text) {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

/** Walk through the text, with what is open on a stack, to the first thing that does not fit. */
function findFault(text) {
  const open = [];
  let at = 0;
  let wanted = "value";
  const take = (pattern) => {
    pattern.lastIndex = at;
    const found = pattern.exec(text);
    if (found) at += found[0].length;
    return Boolean(found);
  };
  for (;;) {
    take(SPACE);
    const next = text[at];
    if (wanted === "end" && open.length === 0) return { at, message: "Expected the end of the JSON" };
    if (next === undefined) return { at, message: "The JSON ends too early: a bracket or a quotation mark is still open" };
    const step = stepAt(next, wanted, open, take);
    if (!step && next === '"' && !["colon", "end"].includes(wanted)) return { at, message: BAD_STRING };
    if (!step) return { at, message: `Expected ${expectedOf(wanted, open)}` };
    if (step.isPunctuation) at += 1;
    wanted = step.wanted;
  }
}

/** Return what comes after `next`, or null where it does not fit; values are taken by the way. */
function stepAt(next, wanted, open, take) {
  if (wanted === "end") return afterValue(next, open);
  if (wanted === "colon") return next === ":" ? { wanted: "value", isPunctuation: true } : null;
  if (wanted === "name" || wanted === "first name") {
    if (next === "}" && wanted === "first name") return closing(open);
    return take(STRING) ? { wanted: "colon" } : null;
  }
  if (next === "]" && wanted === "first item") return closing(open);
  if (next === "[" || next === "{") {
    open.push(next);
    return { wanted: next === "[" ? "first item" : "first name", isPunctuation: true };
  }
  return take(STRING) || take(NUMBER) || take(WORD) ? { wanted: "end" } : null;
}

function afterValue(next, open) {
  const container = open.at(-1);
  if (next === ",") return { wanted: container === "[" ? "value" : "name", isPunctuation: true };
  return next === (container === "[" ? "]" : "}") ? closing(open) : null;
}

function closing(open) {
  open.pop();
  return { wanted: "end", isPunctuation: true };
}

function expectedOf(wanted, open) {
  if (wanted !== "end") return EXPECTED[wanted];
  return open.at(-1) === "[" ? "a comma or ]" : "a comma or }";
}
