"""How long one visit of a minutely schedule takes after a year without visits."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from bench.item_size import item_size_bytes
from bench.schedule_rig import HANDLER, Rig
from bench.schedules_scale import BEFORE
from bench.targets import all_ok, at_most
from hourhand.aws.layout.schedules import schedule_to_item
from hourhand.domain.schedules.recurrence import ExcludedExpression
from hourhand.domain.schedules.schedule import Misfire, MisfirePolicy, Schedule, ScheduleDefinition

YEAR = timedelta(days=365)
LONGEST_WINDOW_SECONDS = 31_622_400
BUDGET_SECONDS = 27.5
"""Half of what a tick has that is to end before the next one."""

SCHEDULE_ID = "minutely"


@dataclass(frozen=True, slots=True)
class Case:
    """A minutely schedule after a year."""

    name: str
    definition: ScheduleDefinition


def _minutely(policy: MisfirePolicy, *, window_seconds: int, **fields: Any) -> ScheduleDefinition:
    misfire = Misfire(policy=policy, window_seconds=window_seconds)
    fields = {"expressions": ("* * * * *",), "timezone": "Europe/Berlin", **fields}
    return ScheduleDefinition(handler=HANDLER, misfire=misfire, **fields)


CASES = (
    Case("latest, within a day", _minutely(MisfirePolicy.LATEST, window_seconds=86_400)),
    *(
        Case(f"{policy}, within a year", _minutely(policy, window_seconds=LONGEST_WINDOW_SECONDS))
        for policy in MisfirePolicy
    ),
    Case(
        "latest, nights excluded",
        _minutely(
            MisfirePolicy.LATEST,
            window_seconds=86_400,
            exclude=(ExcludedExpression("* 0-5 * * *"),),
        ),
    ),
    Case(
        "latest, a rate",
        _minutely(
            MisfirePolicy.LATEST,
            window_seconds=86_400,
            expressions=("rate(1 minute)",),
            anchor=BEFORE - YEAR,
        ),
    ),
)


@dataclass(frozen=True, slots=True)
class Measured:
    """One visit after the outage."""

    case: Case
    cpu_seconds: float
    jobs: int
    accounted: int
    decided_until: datetime
    after: Schedule
    pages: int

    @property
    def is_through(self) -> bool:
        """Whether every nominal time of the outage was decided."""
        return self.decided_until >= BEFORE


def measure(case: Case) -> Measured:
    """Visit the schedule once."""
    rig = Rig(BEFORE)
    began = BEFORE - YEAR
    times = dict.fromkeys(("created_at", "updated_at", "effective_from", "cursor"), began)
    rig.put(SCHEDULE_ID, case.definition, next_at=began, **times)
    _, cpu_seconds = rig.visit_due()
    after = rig.schedules.get(SCHEDULE_ID)
    assert after is not None
    pages = rig.schedules.read_journal(SCHEDULE_ID, before=None, limit=1_000)
    entries = [*after.journal, *(entry for page in pages for entry in page.entries)]
    return Measured(
        case=case,
        cpu_seconds=cpu_seconds,
        jobs=len(rig.jobs.jobs()),
        accounted=sum(entry.count for entry in entries),
        decided_until=after.cursor,
        after=after,
        pages=len(pages),
    )


def _row(measured: Measured) -> list[Any]:
    return [
        measured.case.name,
        round(measured.cpu_seconds, 2),
        BUDGET_SECONDS,
        measured.jobs,
        measured.accounted,
        len(measured.after.journal),
        measured.pages,
        item_size_bytes(schedule_to_item(measured.after)),
        "yes" if measured.is_through else "no",
    ]


def run() -> dict[str, Any]:
    """Measure each policy."""
    measured = [measure(case) for case in CASES]
    longest = max(one.cpu_seconds for one in measured)
    what = "A minutely schedule after a year unvisited: CPU of the visit"
    must = [at_most(what, longest, BUDGET_SECONDS, " s")]
    return {
        "asks": "How long does a visit of a minutely schedule take after a year without visits?",
        "columns": [
            "a year without a visit",
            "cpu s",
            "allowed",
            "jobs",
            "nominal times",
            "rows kept",
            "pages",
            "item bytes",
            "through",
        ],
        "rows": [_row(one) for one in measured],
        "notes": [
            "all: at most fifty missed times wait at a time; the next visits create more as "
            "these end."
        ],
        "must": must,
        "ok": all_ok(must),
    }
