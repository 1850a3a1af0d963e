// JSON without loss. JavaScript would read 12345678901234567890 as another number, and 1.0 as 1;
// a payload that is read, shown, edited and sent again must stay what it was.

const hasExactNumbers = typeof JSON.rawJSON === "function";

/** Parse; numbers that JavaScript would write in another way are kept as raw JSON values. */
export function parseExact(text) {
  if (!hasExactNumbers) return JSON.parse(text);
  return JSON.parse(text, (_key, value, context) => {
    if (typeof value !== "number" || context?.source === undefined) return value;
    return String(value) === context.source ? value : JSON.rawJSON(context.source);
  });
}

/** Whether a value is a number of `parseExact` that is kept as it was written. */
export function isRawNumber(value) {
  return hasExactNumbers && JSON.isRawJSON(value);
}

/** Return a value as JSON for people. */
export function pretty(value) {
  return JSON.stringify(value, null, 2);
}
