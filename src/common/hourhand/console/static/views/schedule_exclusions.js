// Exclusions as lines of text, one each, and back: for the editors of schedules and calendars.
const RANGE = /^(\S+)\s*\.\.\s*(\S+)$/;

/** Return exclusions as lines; a range of dates or times is `from .. to`. */
export function exclusionLines(exclusions) {
  return (exclusions ?? [])
    .map((one) => (typeof one === "string" ? oneLine(one) : `${one.from} .. ${one.to}`))
    .join("\n");
}

/** Return the exclusions of the lines. The server validates them, and names a faulty one by its place. */
export function parseExclusions(text) {
  return linesOf(text).map((line) => {
    const range = RANGE.exec(line);
    return range === null ? line : { from: range[1], to: range[2] };
  });
}

/** Return an exclusion as people read it. */
export function describeExclusion(exclusion) {
  if (typeof exclusion === "string") return exclusion;
  return `${withoutZeros(exclusion.from)} to ${withoutZeros(exclusion.to)}`;
}

/** Return the lines of a text that hold anything, without the space around them. */
export function linesOf(text) {
  return text
    .split("\n")
    .map((line) => line.trim())
    .filter((line) => line !== "");
}

/** Return a text on one line, so that it stays one entry among others. */
export function oneLine(text) {
  return text.replace(/\s+/g, " ").trim();
}

function withoutZeros(time) {
  return time.replace(/(:00)?\.000Z$/, "Z");
}
