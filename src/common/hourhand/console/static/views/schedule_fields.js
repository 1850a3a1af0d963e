// The fields of the schedule editor: what each is called, what it means and what may be chosen.
// `path` is the field's place in the API's definition; its errors come back under the same name.
// `standard` is what the server takes where nothing is said.

const HANDLERS_OWN = "as its handler says";

/** What everybody fills in. */
export const COMMON_FIELDS = [
  {
    path: "expression",
    label: "Expression",
    input: "lines",
    rows: 2,
    hint: "Cron of five fields, cron(…) as AWS has it, rate(5 minutes) or at(2027-01-01T09:00); one a line",
    isRequired: true,
  },
  { path: "timezone", label: "Time zone", input: "zone", placeholder: "UTC" },
  { path: "handler", label: "Handler", input: "handler", isRequired: true },
  {
    path: "payload",
    label: "Payload",
    input: "code",
    rows: 5,
    hint: "JSON, the same for each of its jobs",
  },
  { path: "note", label: "Note", input: "text", isWide: true, hint: "For the people who come after you" },
];

/** Everything else, by what it is about. */
export const MORE_GROUPS = [
  {
    title: "Bounds and exclusions",
    fields: [
      { path: "start_at", label: "Starts at", input: "time" },
      { path: "end_at", label: "Ends at", input: "time" },
      {
        path: "exclude",
        label: "Excluded",
        input: "lines",
        rows: 3,
        hint: "One a line: 2026-12-25, a range 2026-12-28 .. 2026-12-31, an expression, or a calendar's name",
      },
      {
        path: "max_occurrences",
        label: "At most",
        input: "number",
        unit: "occurrences",
        placeholder: "no bound",
      },
      {
        path: "jitter_seconds",
        label: "Jitter",
        input: "number",
        unit: "s",
        standard: "0",
        hint: "Each starts later by up to this much, always by the same for the same time",
      },
      {
        path: "anchor",
        label: "Anchor of rates",
        input: "time",
        hint: "From when rate(…) counts; empty: from the start, else from when it was first put",
      },
    ],
  },
  {
    title: "When the clocks change",
    fields: [
      {
        path: "dst_gap",
        label: "A time that a day lacks",
        input: "choice",
        standard: "next_valid",
        choices: [
          ["next_valid", "next_valid: at the gap's end"],
          ["shift", "shift: later by the gap's length"],
          ["skip", "skip: not on this day"],
        ],
      },
      {
        path: "dst_fold",
        label: "A time that a day has twice",
        input: "choice",
        standard: "first",
        choices: [
          ["first", "first: the first time only"],
          ["second", "second: the second time only"],
          ["both", "both: twice"],
        ],
      },
    ],
  },
  {
    title: "Missed, overlapping, failed",
    fields: [
      {
        path: "misfire.policy",
        label: "Missed in an outage or pause",
        input: "choice",
        standard: "latest",
        choices: [
          ["latest", "latest: the newest one runs"],
          ["all", "all: each runs, in order"],
          ["earliest", "earliest: the oldest one runs"],
          ["skip", "skip: none runs"],
        ],
      },
      {
        path: "misfire.window_seconds",
        label: "Missed at most so long ago",
        input: "number",
        unit: "s",
        standard: "86400",
      },
      {
        path: "overlap",
        label: "While one still runs",
        input: "choice",
        standard: "skip",
        choices: [
          ["skip", "skip: the new one does not run"],
          ["allow", "allow: both run"],
          ["buffer_one", "buffer_one: one waits"],
          ["buffer_all", "buffer_all: they wait in line"],
          ["cancel_other", "cancel_other: the old one is asked to stop"],
        ],
      },
      {
        path: "max_running",
        label: "Run at once",
        input: "number",
        placeholder: "1",
        hint: "Under overlap allow, empty means any number",
      },
      { path: "buffer_limit", label: "Wait in line", input: "number", standard: "100" },
      {
        path: "pause_on_failure",
        label: "Pause when a job of it ends DEAD",
        input: "check",
      },
    ],
  },
  {
    title: "Its jobs",
    fields: [
      {
        path: "priority",
        label: "Priority",
        input: "choice",
        choices: [["", HANDLERS_OWN], ["high", "high"], ["medium", "medium"], ["low", "low"]],
      },
      {
        path: "timeout_seconds",
        label: "Time-out",
        input: "number",
        unit: "s",
        placeholder: HANDLERS_OWN,
      },
      {
        path: "retry.max_attempts",
        label: "Attempts",
        input: "number",
        placeholder: HANDLERS_OWN,
        hint: "The first try and all retries",
      },
      {
        path: "retry.backoff",
        label: "Backoff",
        input: "choice",
        choices: [
          ["", HANDLERS_OWN],
          ["exponential", "exponential: base, twice, four times, …"],
          ["linear", "linear: base, twice, three times, …"],
          ["fixed", "fixed: base each time"],
          ["sidekiq", "sidekiq: n⁴ + 15 s"],
        ],
      },
      {
        path: "retry.base_seconds",
        label: "Backoff base",
        input: "number",
        unit: "s",
        placeholder: HANDLERS_OWN,
      },
      {
        path: "retry.max_delay_seconds",
        label: "Longest backoff",
        input: "number",
        unit: "s",
        placeholder: HANDLERS_OWN,
      },
      {
        path: "retry.jitter",
        label: "Backoff jitter",
        input: "choice",
        choices: [
          ["", HANDLERS_OWN],
          ["none", "none"],
          ["additive", "additive: up to 0.5 s more"],
          ["full", "full: anything up to the delay"],
        ],
      },
      {
        path: "on_lost",
        label: "When its worker vanishes",
        input: "choice",
        choices: [
          ["", HANDLERS_OWN],
          ["retry", "retry: run it again"],
          ["dead", "dead: end it DEAD"],
        ],
      },
      {
        path: "retention_seconds",
        label: "Kept after the end",
        input: "number",
        unit: "s",
        placeholder: HANDLERS_OWN,
      },
      { path: "tenant", label: "Tenant", input: "text" },
      {
        path: "tags",
        label: "Tags",
        input: "lines",
        rows: 2,
        hint: "One \"key: value\" a line",
      },
    ],
  },
  {
    title: "History",
    fields: [
      {
        path: "keep.succeeded",
        label: "Succeeded ones told of",
        input: "number",
        standard: "100",
      },
      { path: "keep.failed", label: "Failed ones told of", input: "number", standard: "100" },
    ],
  },
];

/** Expressions to begin with. */
export const EXAMPLE_EXPRESSIONS = [
  ["every 5 minutes", "rate(5 minutes)"],
  ["hourly", "@hourly"],
  ["daily at 06:00", "0 6 * * *"],
  ["weekdays at 06:00", "0 6 * * MON-FRI"],
  ["last day of the month", "0 6 L * *"],
];
