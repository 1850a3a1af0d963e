"""Whether the jobs of schedules that are due in one minute are made before they are due.

The scheduler runs in virtual time: each request of a port lasts `ROUND_TRIP_SECONDS`, one after
the other, and nothing else takes time. Ticks come once a minute and step back while one leads.
Other jobs, due every few seconds, tell whether the schedules make them late.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from bench.schedule_rig import HANDLER, Rig
from bench.schedules_scale import DUE_AT
from bench.targets import all_ok, at_most
from hourhand.domain.schedules.schedule import ScheduleDefinition

ROUND_TRIP_SECONDS = 0.006
"""Of a DynamoDB or SQS call within a region, a write or a small read."""

MINUTE = timedelta(minutes=1)
FIRST_TICK = DUE_AT - timedelta(minutes=9, seconds=1)
"""The one four minutes later is a second too early to see what is due: the worst phase."""

LOST_TICK = FIRST_TICK + timedelta(minutes=5)
"""The first that sees them, where one is lost."""

SUBMITTED_AT = DUE_AT - timedelta(minutes=15)

OTHERS_FROM, OTHERS_UNTIL = DUE_AT - timedelta(minutes=3), DUE_AT + timedelta(minutes=10)
OTHERS_EVERY = timedelta(seconds=5)
MAX_TICKS = 40


CLIENT_SECONDS = 0.0014
"""CPU of boto3 for one conditional write, where nothing else runs meanwhile (measured)."""

THREADS = 8
SENDS_SHARED = {"queues.send": 0.1}
WRITES_SHARED = {**SENDS_SHARED, "jobs.put": 1 / THREADS, "schedules.write": 1 / THREADS}
"""What a request would last if a page's visits shared theirs: ten messages to a batch, writes by
threads of the adapter. This is not built: the rows show what it would bring."""


@dataclass(frozen=True, slots=True)
class Rush:
    """So many schedules due at `DUE_AT`, and how long a function may run.

    ``supposing`` names in words what is not as usual: ``loses_tick`` (nobody leads the first tick
    that could see them), another ``round_trip_seconds``, or ``shares`` of it.
    """

    due: int
    function_seconds: float
    supposing: str = ""
    loses_tick: bool = False
    round_trip_seconds: float = ROUND_TRIP_SECONDS
    shares: Mapping[str, float] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """What the row is called."""
        supposed = f"; {self.supposing}" if self.supposing else ""
        return f"{self.due:,} due, {self.function_seconds:.0f} s{supposed}"


_CLIENT = ROUND_TRIP_SECONDS + CLIENT_SECONDS
_THREADS = f"if also writes by {THREADS} threads"

RUSHES = (
    Rush(0, 900.0),
    Rush(1_000, 900.0),
    Rush(10_000, 900.0),
    Rush(10_000, 900.0, "boto3's own 1.4 ms on top", round_trip_seconds=_CLIENT),
    Rush(10_000, 900.0, "a tick is lost", loses_tick=True),
    Rush(20_000, 900.0),
    Rush(1_000, 60.0),
    Rush(10_000, 60.0),
    Rush(10_000, 900.0, "if sends ten to a request", shares=SENDS_SHARED),
    Rush(10_000, 900.0, _THREADS, shares=WRITES_SHARED),
    Rush(10_000, 900.0, f"{_THREADS}; a tick is lost", loses_tick=True, shares=WRITES_SHARED),
    Rush(20_000, 900.0, _THREADS, shares=WRITES_SHARED),
)
ISSUE = Rush(10_000, 900.0)
"""What the issue asks for: it must be in time, and make nobody late."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of a rush. Times in seconds; ``ahead``: before it was due, the last one sent."""

    rush: Rush
    ticks: int
    requests: int
    seconds: float
    ahead: float
    late: int
    others_late: int
    others_latest: float


def play(rush: Rush) -> Outcome:
    """Let minutes pass until everything was sent."""
    rig = Rig(SUBMITTED_AT)
    others = _submit_others(rig)
    hourly = ScheduleDefinition(expressions=("0 * * * *",), handler=HANDLER)
    for number in range(rush.due):
        rig.put(f"due-{number}", hourly, next_at=DUE_AT)
    rig.ledger.reset()
    rig.ledger.seconds_a_request, rig.ledger.shares = rush.round_trip_seconds, rush.shares
    ticks, seconds = 0, 0.0
    next_tick = FIRST_TICK
    while len(rig.ledger.sent) < rush.due + len(others) and ticks < MAX_TICKS:
        if next_tick == LOST_TICK and rush.loses_tick:
            next_tick += MINUTE
        rig.clock.advance_to(next_tick)
        rig.tick(rush.function_seconds)
        ticks += 1
        seconds += (rig.clock.now() - next_tick).total_seconds()
        # While one leads, those that EventBridge starts step back.
        while next_tick <= rig.clock.now():
            next_tick += MINUTE
    return _outcome(rush, rig, others, ticks, seconds)


def _submit_others(rig: Rig) -> dict[str, datetime]:
    """Submit the other jobs; return by id when each is due."""
    others = {}
    due_at = OTHERS_FROM
    while due_at < OTHERS_UNTIL:
        others[rig.submit(due_at).id] = due_at
        due_at += OTHERS_EVERY
    return others


def _outcome(
    rush: Rush, rig: Rig, others: dict[str, datetime], ticks: int, seconds: float
) -> Outcome:
    sent = rig.ledger.sent
    ahead = [(DUE_AT - at).total_seconds() for job_id, at in sent.items() if job_id not in others]
    # What was not sent at all within the bound counts as sent now.
    missing = [(DUE_AT - rig.clock.now()).total_seconds()] * (rush.due - len(ahead))
    ahead += missing
    behind = [(sent.get(i, rig.clock.now()) - at).total_seconds() for i, at in others.items()]
    return Outcome(
        rush=rush,
        ticks=ticks,
        requests=rig.ledger.requests.total(),
        seconds=seconds,
        ahead=min(ahead, default=0.0),
        late=sum(one < 0 for one in ahead),
        others_late=sum(one > 0 for one in behind),
        others_latest=max(0.0, *behind),
    )


def _row(outcome: Outcome) -> list[Any]:
    rush = outcome.rush
    return [
        rush.name,
        outcome.ticks,
        outcome.requests,
        round(outcome.seconds, 1),
        round(outcome.ahead, 1) if rush.due else "",
        outcome.late,
        outcome.others_late,
        round(outcome.others_latest, 1),
    ]


def run() -> dict[str, Any]:
    """Play each rush on stores of its own."""
    outcomes = [play(rush) for rush in RUSHES]
    asked = next(one for one in outcomes if one.rush == ISSUE)
    what = f"{ISSUE.due:,} schedules due in one minute:"
    must = [
        at_most(f"{what} their jobs that are made late", asked.late, 0),
        at_most(f"{what} other jobs that are made late by them", asked.others_late, 0),
    ]
    return {
        "asks": "When many schedules are due in the same minute, are their jobs created in time?",
        "columns": [
            "a rush, function's time",
            "ticks",
            "requests",
            "tick s",
            "last ahead s",
            "late",
            "others late",
            "by s",
        ],
        "rows": [_row(one) for one in outcomes],
        "notes": [
            f"{ROUND_TRIP_SECONDS * 1000:g} ms a request, one after the other, without CPU "
            "(see schedules-scale). The first tick that reads them is 241 s before they are due.",
            "The rows with *if* assume features that do not exist, and show their effect.",
        ],
        "must": must,
        "ok": all_ok(must),
    }
