// What is said of the nodes of a graph. Pure.
import { count, counted } from "../lib/format.js";
import { statusWord } from "../lib/badges.js";

/** The states of a node, in the order in which they need attention. */
export const NODE_STATES = [
  "DEAD", "EXPIRED", "CANCELLED", "RETRYING", "RUNNING", "ENQUEUED", "PENDING", "WAITING", "SKIPPED", "SUCCEEDED",
];

const FAILED = ["DEAD", "CANCELLED", "EXPIRED"];

/** By trigger rule: when the node runs. */
const RULES = {
  all_success: "all nodes before it succeeded",
  all_failed: "all nodes before it failed",
  all_done: "all nodes before it ended, however they did",
  all_skipped: "all nodes before it were skipped",
  one_success: "one node before it succeeded",
  one_failed: "one node before it failed",
  one_done: "one node before it succeeded or failed",
  none_failed: "no node before it failed",
  none_failed_min_one_success: "no node before it failed, and one succeeded",
  none_skipped: "no node before it was skipped",
  all_done_min_one_success: "none before it was skipped, and one succeeded",
  always: "at once, without waiting",
};

/** By `on_failure`: what a failure of the node means for the nodes after it. */
const FAILURES = {
  fail: "the nodes after it see a failure",
  ignore: "the nodes after it see a success, with the result null",
  continue: "the nodes after it run at once, whatever their rules",
  remove: "it does not count for the nodes after it",
};

/** Return the names of the nodes whose job, or map, failed. */
export function failedNodes(nodes) {
  return Object.keys(nodes).filter((name) => FAILED.includes(nodes[name].status));
}

/** Return how many nodes are in each state: [[state, number], ...], without states of none. */
export function stateCounts(nodes) {
  const all = Object.values(nodes);
  const numbers = NODE_STATES.map((state) => [state, all.filter(({ status }) => status === state).length]);
  return numbers.filter(([, number]) => number > 0);
}

/** Return the states of all nodes as words: "12 nodes: 1 dead, 6 skipped, 5 succeeded". */
export function summaryWords(nodes) {
  const parts = stateCounts(nodes).map(([state, number]) => `${count(number)} ${statusWord(state).toLowerCase()}`);
  return `${counted(Object.keys(nodes).length, "node")}: ${parts.join(", ")}`;
}

/** Return when a node runs, as words after "It runs". */
export function ruleWords({ when, after }) {
  if (after.length === 0) return "at the start of the graph";
  return when === "always" ? RULES.always : `when ${RULES[when] ?? when}`;
}

/** Return what the failure of a node means; empty for the usual. */
export function failureWords({ on_failure: mode }) {
  return mode === "fail" ? "" : `If it fails, ${FAILURES[mode] ?? mode}`;
}

/** Return why a node was skipped, as a sentence; empty if it was not. `when` may be unknown. */
export function reasonWords({ reason, when }) {
  if (reason === "upstream_failed") return "It was skipped, because a node before it failed.";
  if (reason === "rule") return `It was skipped by its trigger rule${when ? `, ${when}` : ""}.`;
  return "";
}

/** Return the counts of a map or a batch as words: "297 of 300 succeeded, 2 failed, 1 open". */
export function childWords({ total, succeeded, failed }) {
  const open = total - succeeded - failed;
  const parts = [`${count(succeeded)} of ${count(total)} succeeded`];
  if (failed > 0) parts.push(`${count(failed)} failed`);
  if (open > 0) parts.push(`${count(open)} not ended`);
  return parts.join(", ");
}
