"""What the API returns of durable runs: their steps, their journals, and redrives of parts."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Annotated, Any

from hourhand.answers.answered import Answered
from hourhand.answers.children import ChildCounts
from hourhand.answers.jobs import ErrorSummary


class Step(Answered):
    """A recorded call of a durable run."""

    path: Annotated[str, "The name of the call within the run."]
    kind: Annotated[
        str,
        "`step`, `wait`, `callback`, `child`, `map`, `iterate` or `version`. A sleep is a `wait`.",
    ]
    status: Annotated[str, "`running`, `retrying`, `succeeded`, `failed` or `waiting`."]
    signal: Annotated[str | None, "Of a wait for a signal: its name."]
    started_at: datetime | None
    finished_at: datetime | None
    until: Annotated[datetime | None, "When a sleep ends, a wait times out, or a retry is due."]
    attempts: Annotated[int, "The tries of a step so far; the saves of an `iterate`."]
    result: Annotated[Any, "Null also where it is private or omitted."]
    omitted: Annotated[bool, "The result is larger than 4 KB, and is not in this answer."]
    error: ErrorSummary | None
    private: Annotated[bool, "The result is recorded, and is shown nowhere."]
    compensates: Annotated[bool, "The step has a compensation, which runs if the run fails."]
    job_id: Annotated[str | None, "Of a call that submitted one child job: its id."]
    of: Annotated[ChildCounts | None, "Of a call that submitted child jobs: how many it has."]


class Compensation(Answered):
    """The job that reverses the steps of a segment of a run."""

    job_id: str
    segment: Annotated[int, "How often the run had restarted, or been redriven with `fresh`."]
    status: str


class StepPage(Answered):
    """The calls of a run in its newest segment, ordered by when they were recorded."""

    steps: tuple[Step, ...]
    summary: Annotated[Mapping[str, int], "How many calls have each status, in the whole run."]
    next_cursor: str | None
    compensations: Annotated[tuple[Compensation, ...], "With the first page, oldest first."] = ()


class JournalChildren(Answered):
    """The children of a call, as a replay reads them. Their results are not in the journal."""

    key: str
    total: int
    handler: str
    is_map: bool
    is_abandoned: bool
    window: int | None
    tolerate: int | None
    min_success: int | None
    ends: Annotated[
        Mapping[str, int], "By the index: 0 for a success, or the round in which the child failed."
    ]


class JournalRecord(Answered):
    """A record of a journal, as a replay reads it."""

    path: str
    kind: str
    outcome: Annotated[str, "`X` started, `R` retrying, `W` waiting, `S`, `F` or `T` (timed out)."]
    round: int
    token: Annotated[int, "The fencing token of the invocation that wrote it."]
    index: Annotated[int, "The number of the record within that invocation."]
    attempts: int
    started_at: datetime | None
    finished_at: datetime | None
    until: datetime | None
    waits_for: Annotated[str, "Of a wait: `t` for a sleep, or `g` and the name of a signal."]
    signal_id: Annotated[str | None, "Of a wait: the signal that it returned."]
    result: Annotated[Any, "Null also where `omitted`."]
    error: ErrorSummary | None
    omitted: Annotated[bool, "The result is private, or too large for an answer."]
    compensates: bool
    children: Annotated[JournalChildren | None, "Of a call that submitted child jobs."]
    names: Annotated[
        Mapping[str, int] | None, "Of an `iterate`: how often its rows so far used each name."
    ]


class JournalPage(Answered):
    """The journal of a run in its newest segment, without secrets, for replays in tests."""

    job_id: str
    handler: str
    segment: int
    round: int
    payload: Any
    records: tuple[JournalRecord, ...]
    next_cursor: str | None


class Accepted(Answered):
    """A signal or the completion of a callback was recorded."""

    accepted: bool


class RedrivePlan(Answered):
    """Which recorded calls a redrive runs again.

    The calls in `kept` keep their results; those without one run as in any redrive.
    """

    reset: tuple[str, ...]
    kept: tuple[str, ...]
    new_keys: Annotated[bool, "Whether steps that run again get new idempotency keys."] = False
