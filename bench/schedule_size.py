"""The bytes of a schedule's own item through its life, and what its visits write for each job.

A visit writes the item, moves its entry in the index of those due (2 units), and now and then a
page of the journal. DynamoDB bills a write by the size of the item, in steps of 1 KB: the largest
of what was and what is.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

from bench.item_size import BUDGET_BYTES, item_size_bytes
from bench.schedule_rig import HANDLER, Rig
from bench.schedules_scale import BEFORE
from bench.small_jobs import SMALL_SCHEDULE_ID_BYTES
from bench.targets import all_ok, below
from hourhand.aws.layout.schedules import page_to_item, schedule_to_item
from hourhand.domain.callers import caller_key
from hourhand.domain.schedules.recurrence import ExcludedExpression
from hourhand.domain.schedules.schedule import (
    EVENT_NOTE_BYTES,
    Schedule,
    ScheduleDefinition,
    ScheduleEvent,
    ScheduleEventKind,
)
from hourhand.ports.schedule_store import JournalPage

SCHEDULE_ID = "s" * SMALL_SCHEDULE_ID_BYTES
DEFINITION = "d" * 32
"""As long as a name of a definition is."""

EVENT = ScheduleEvent(
    kind=ScheduleEventKind.RESUMED,
    at=BEFORE,
    sequence=1_000_000,
    actor=caller_key("alice"),
    note="x" * EVENT_NOTE_BYTES,
)
"""What a caller did last, with as much of a note as is kept."""

MINUTE = timedelta(minutes=1)
ENTRY_MOVED_UNITS = 2


@dataclass(frozen=True, slots=True)
class Case:
    """A rule, visited every so often so many times. ``is_small``: its item must be below 1 KB."""

    name: str
    expression: str
    every: timedelta
    visits: int
    is_small: bool = True
    fields: dict[str, Any] = field(default_factory=dict)


EVERYDAY = Case("every minute", "* * * * *", MINUTE, 120)
CASES = (
    Case("daily", "0 9 * * *", timedelta(days=1), 90),
    Case("hourly", "0 * * * *", timedelta(hours=1), 240),
    EVERYDAY,
    Case(
        "every minute, odd ones excluded",
        "* * * * *",
        MINUTE,
        240,
        fields={"exclude": (ExcludedExpression("1-59/2 * * * *"),)},
    ),
    Case("every 10 s", "rate(10 seconds)", MINUTE, 60),
    Case("every second", "rate(1 second)", MINUTE, 20, is_small=False),
)


@dataclass(frozen=True, slots=True)
class Size:
    """What one visit left and wrote."""

    entries: int
    bytes: int
    made: int
    units: int


def sizes_of_visits(case: Case) -> Iterator[Size]:
    """Yield what each visit left."""
    rig = Rig(BEFORE)
    definition = ScheduleDefinition(
        expressions=(case.expression,), handler=HANDLER, anchor=BEFORE, **case.fields
    )
    before = rig.put(
        SCHEDULE_ID, definition, revision=1_000, definition=DEFINITION, last_event=EVENT
    )
    pages = 0
    for _ in range(case.visits):
        rig.visit_due()
        after = rig.schedules.get(SCHEDULE_ID)
        assert after is not None
        written = rig.schedules.read_journal(SCHEDULE_ID, before=None, limit=1_000)
        new_pages = written[: len(written) - pages]
        pages = len(written)
        yield Size(
            entries=len(after.journal),
            bytes=item_size_bytes(schedule_to_item(after)),
            made=after.made - before.made,
            units=_units(before, after, new_pages),
        )
        before = after
        rig.clock.advance(case.every)


def _units(before: Schedule, after: Schedule, pages: tuple[JournalPage, ...]) -> int:
    if after.sequence == before.sequence:
        return 0
    sizes = [item_size_bytes(schedule_to_item(schedule)) for schedule in (before, after)]
    paged = [_kilobytes(item_size_bytes(page_to_item(after.id, page))) for page in pages]
    return _kilobytes(max(sizes)) + ENTRY_MOVED_UNITS + sum(paged)


def _kilobytes(size: int) -> int:
    return -(-size // BUDGET_BYTES)


def _row(case: Case, sizes: list[Size]) -> list[Any]:
    made = sum(size.made for size in sizes)
    return [
        case.name,
        max(size.bytes for size in sizes),
        BUDGET_BYTES if case.is_small else "",
        max(size.entries for size in sizes),
        made,
        round(sum(size.units for size in sizes) / made, 2),
    ]


def run() -> dict[str, Any]:
    """Visit each kind of schedule many times."""
    visited = [(case, list(sizes_of_visits(case))) for case in CASES]
    largest = max(size.bytes for case, sizes in visited if case.is_small for size in sizes)
    must = [below("A schedule's item at its largest", largest, BUDGET_BYTES, " bytes")]
    return {
        "asks": "Does a schedule's own item stay below 1 KB, however long it lives?",
        "columns": [
            "a schedule",
            "bytes at most",
            "budget",
            "rows of its journal",
            "jobs",
            "units a job",
        ],
        "rows": [_row(case, sizes) for case, sizes in visited],
        "notes": [
            "Units a job: the write units of the schedule's visits, pages included, divided by "
            "the number of created jobs. A schedule that runs every second has no such budget.",
        ],
        "must": must,
        "ok": all_ok(must),
    }
