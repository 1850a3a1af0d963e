// The fields of the schedule editor: what each is called, what it means and what may be chosen.
// `path` is the field's place in the API's definition; its errors come back under the same name.
// `standard` is the server's default.

const HANDLERS_OWN = "handler's default";

/** The fields that every schedule needs. */
export const COMMON_FIELDS = [
  {
    path: "expression",
    label: "Expression",
    input: "lines",
    rows: 2,
    hint: "Five-field cron, cron(…) in the AWS dialect, rate(5 minutes), every(2 weeks) or at(2027-01-01T09:00). One per line.",
    isRequired: true,
  },
  { path: "timezone", label: "Time zone", input: "zone", placeholder: "UTC" },
  { path: "handler", label: "Handler", input: "handler", isRequired: true },
  {
    path: "payload",
    label: "Payload",
    input: "code",
    rows: 5,
    hint: "JSON, the same for every job of the schedule",
  },
  { path: "note", label: "Note", input: "text", isWide: true, hint: "What the schedule is for, or why it is paused" },
];

/** All other fields, by topic. */
export const MORE_GROUPS = [
  {
    title: "Bounds and exclusions",
    fields: [
      { path: "start_at", label: "Starts at", input: "time" },
      { path: "end_at", label: "Ends at", input: "time" },
      {
        path: "exclude",
        label: "Excluded times",
        input: "lines",
        rows: 3,
        hint: "One per line: 2026-12-25, a range 2026-12-28 .. 2026-12-31, an expression, or a calendar's name",
      },
      {
        path: "max_occurrences",
        label: "Maximum occurrences",
        input: "number",
        placeholder: "no limit",
      },
      {
        path: "expires_after_seconds",
        label: "Start within",
        input: "number",
        unit: "s",
        placeholder: "no limit",
        hint: "A run that has not started this long after its scheduled time is cancelled.",
      },
      {
        path: "jitter_seconds",
        label: "Jitter",
        input: "number",
        unit: "s",
        standard: "0",
        hint: "Delays each job by up to this much. The delay of one scheduled time never changes.",
      },
      {
        path: "anchor",
        label: "Anchor",
        input: "time",
        hint: "The time from which rate(…) and every(…) count. Empty: the start time, or else the time of creation.",
      },
    ],
  },
  {
    title: "When the clocks change",
    fields: [
      {
        path: "dst_gap",
        label: "If the local time is skipped",
        input: "choice",
        standard: "next_valid",
        choices: [
          ["next_valid", "next_valid: run at the end of the gap"],
          ["shift", "shift: run later by the length of the gap"],
          ["skip", "skip: do not run on this day"],
        ],
      },
      {
        path: "dst_fold",
        label: "If the local time occurs twice",
        input: "choice",
        standard: "first",
        choices: [
          ["first", "first: run the first time only"],
          ["second", "second: run the second time only"],
          ["both", "both: run both times"],
        ],
      },
    ],
  },
  {
    title: "Missed, overlapping and failed runs",
    fields: [
      {
        path: "misfire.policy",
        label: "Runs missed in an outage or pause",
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
        label: "Misfire window",
        input: "number",
        unit: "s",
        standard: "86400",
      },
      {
        path: "overlap",
        label: "If the previous run is still active",
        input: "choice",
        standard: "skip",
        choices: [
          ["skip", "skip: the new run is skipped"],
          ["allow", "allow: both run"],
          ["buffer_one", "buffer_one: one run waits"],
          ["buffer_all", "buffer_all: all runs wait, in order"],
          ["cancel_other", "cancel_other: the active run is asked to stop"],
        ],
      },
      {
        path: "max_running",
        label: "Maximum running at once",
        input: "number",
        placeholder: "1",
        hint: "With overlap allow, empty means no limit",
      },
      { path: "buffer_limit", label: "Maximum waiting", input: "number", standard: "100" },
      {
        path: "pause_on_failure",
        label: "Pause the schedule when one of its jobs dies",
        input: "check",
      },
    ],
  },
  {
    title: "Job policies",
    fields: [
      {
        path: "priority",
        label: "Priority",
        input: "choice",
        choices: [["", HANDLERS_OWN], ["high", "high"], ["medium", "medium"], ["low", "low"]],
      },
      {
        path: "timeout_seconds",
        label: "Time limit",
        input: "number",
        unit: "s",
        placeholder: HANDLERS_OWN,
      },
      {
        path: "retry.max_attempts",
        label: "Attempts",
        input: "number",
        placeholder: HANDLERS_OWN,
        hint: "The first attempt and all retries",
      },
      {
        path: "retry.backoff",
        label: "Backoff",
        input: "choice",
        choices: [
          ["", HANDLERS_OWN],
          ["exponential", "exponential: 1, 2, 4, … times the base"],
          ["linear", "linear: 1, 2, 3, … times the base"],
          ["fixed", "fixed: always the base"],
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
        label: "Maximum backoff",
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
          ["full", "full: a random part of the delay"],
        ],
      },
      {
        path: "on_lost",
        label: "If its worker is lost",
        input: "choice",
        choices: [
          ["", HANDLERS_OWN],
          ["retry", "retry: it is retried"],
          ["dead", "dead: it ends dead"],
        ],
      },
      {
        path: "retention_seconds",
        label: "Retention after its end",
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
        hint: "One per line, as key: value",
      },
    ],
  },
  {
    title: "History",
    fields: [
      {
        path: "keep.succeeded",
        label: "Succeeded jobs listed",
        input: "number",
        standard: "100",
      },
      { path: "keep.failed", label: "Failed jobs listed", input: "number", standard: "100" },
    ],
  },
];

/** Examples of expressions, offered as buttons. */
export const EXAMPLE_EXPRESSIONS = [
  ["every 5 minutes", "rate(5 minutes)"],
  ["hourly", "@hourly"],
  ["daily at 06:00", "0 6 * * *"],
  ["weekdays at 06:00", "0 6 * * MON-FRI"],
  ["last day of the month", "0 6 L * *"],
];
