"""What a tick does about schedules: by those that are due, and not by those that are stored.

The services run over memory stores; what these do themselves is left out. A request is a round
trip to AWS: one PutItem, one Query page, a batch of 10 messages, a batch of 100 keys.
"""

from __future__ import annotations

import gc
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from bench.schedule_rig import HANDLER, Rig
from bench.targets import all_ok, at_most
from hourhand.domain.schedules.schedule import ScheduleDefinition
from hourhand.ports.schedule_store import DUE_SHARDS

BEFORE = datetime(2026, 1, 5, 8, 55, 30, tzinfo=UTC)
DUE_AT = datetime(2026, 1, 5, 9, 0, tzinfo=UTC)
FAR = DUE_AT + timedelta(hours=6)
ZONES = ("UTC", "Europe/Berlin", "America/New_York", "Asia/Tokyo", "Australia/Lord_Howe")
MAX_GROWTH = 1.10
"""How much more requests a due schedule may cost where more are stored, or more are due."""

MAX_CPU_GROWTH = 2.0
"""The same of CPU time, which two processes share here."""

COUNTED = {
    "query": "schedules.read_due",
    "batch get": ("schedules.get_many", "schedules.get_definitions"),
    "put job": "jobs.put",
    "send": "queues.send",
    "write": "schedules.write",
}


@dataclass(frozen=True, slots=True)
class Load:
    """So many schedules in the store, so many of them due in one minute.

    ``own_rules``: no two of those due share a rule, so that each is compiled.
    """

    stored: int
    due: int
    own_rules: bool = False

    @property
    def name(self) -> str:
        """What the row is called."""
        return f"{self.stored:,} stored, {self.due:,} due" + (", own rules" * self.own_rules)


LOADS = (
    Load(100_000, 0),
    Load(1_000, 1_000),
    Load(10_000, 1_000),
    Load(100_000, 1_000),
    Load(100_000, 100),
    Load(100_000, 10_000),
    Load(100_000, 10_000, own_rules=True),
)


@dataclass(frozen=True, slots=True)
class Measured:
    """One visit of all that is due."""

    load: Load
    requests: Counter[str]
    cpu_seconds: float

    @property
    def total(self) -> int:
        """All requests."""
        return sum(self.requests.values())

    @property
    def per_due(self) -> float:
        """Requests for each schedule that was due."""
        return self.total / self.load.due if self.load.due else 0.0

    @property
    def cpu_us_per_due(self) -> float:
        """Microseconds of CPU for each schedule that was due, boto3's own not included."""
        return self.cpu_seconds / self.load.due * 1e6 if self.load.due else 0.0


def definitions(load: Load) -> Iterator[ScheduleDefinition]:
    """Yield as many definitions as are due, each firing at `DUE_AT`."""
    shared = [
        ScheduleDefinition(expressions=(expression,), handler=HANDLER, timezone=zone)
        for zone in ZONES
        for expression in ("0 * * * *", "*/15 * * * *", "*/30 * * * *", "0,15,30,45 * * * *")
    ]
    for number in range(load.due):
        yield _own(number) if load.own_rules else shared[number % len(shared)]


def _own(number: int) -> ScheduleDefinition:
    """Return a definition whose hours are 9 and, bit by bit, those that ``number`` names."""
    others = [hour for hour in range(24) if hour != DUE_AT.hour]
    hours = [hour for place, hour in enumerate(others) if number >> place & 1]
    expression = f"0 {','.join(map(str, [DUE_AT.hour, *hours]))} * * *"
    return ScheduleDefinition(expressions=(expression,), handler=HANDLER)


def fill(rig: Rig, load: Load) -> None:
    """Store the schedules of ``load``."""
    for number, definition in enumerate(definitions(load)):
        rig.put(f"due-{number}", definition, next_at=DUE_AT)
    idle = ScheduleDefinition(expressions=("0 15 * * *",), handler=HANDLER)
    for number in range(load.stored - load.due):
        rig.put(f"idle-{number}", idle, next_at=FAR)


def measure(load: Load) -> Measured:
    """Fill a store and visit what is due once."""
    rig = Rig(BEFORE)
    fill(rig, load)
    # The stored schedules are in our memory here; no scheduler has them for its garbage collector.
    gc.collect()
    gc.freeze()
    visited, cpu_seconds = rig.visit_due()
    gc.unfreeze()
    made = len(rig.jobs.jobs())
    if visited != load.due or made != load.due:
        raise RuntimeError(f"{load.name}: visited {visited}, made {made}")
    return Measured(load, Counter(rig.ledger.requests), cpu_seconds)


def _row(measured: Measured) -> list[Any]:
    places = [(p,) if isinstance(p, str) else p for p in COUNTED.values()]
    return [
        measured.load.name,
        measured.total,
        *(sum(measured.requests[name] for name in names) for names in places),
        round(measured.per_due, 3),
        round(measured.cpu_seconds, 3),
        round(measured.cpu_us_per_due),
    ]


def growth(measured: list[Measured]) -> dict[str, float]:
    """Return how the work grew: for the same number due, and per due for the same number stored.

    What a tick asks whoever is due (its queries, the walk) is left out of the latter.
    """
    plain = [one for one in measured if one.load.due and not one.load.own_rules]
    same_due = sorted(
        (one for one in plain if one.load.due == 1_000), key=lambda one: one.load.stored
    )
    same_stored = sorted(
        (one for one in plain if one.load.stored == 100_000), key=lambda one: one.load.due
    )
    idle = next(one.total for one in measured if not one.load.due)
    per_due = [(one.total - idle) / one.load.due for one in same_stored]
    return {
        "requests, 100 times as many stored": _growth([one.total for one in same_due]),
        "requests per due, 100 times as many due": _growth(per_due),
        "cpu, 100 times as many stored": _growth([one.cpu_seconds for one in same_due]),
        "cpu per due, 100 times as many due": _growth([o.cpu_us_per_due for o in same_stored]),
    }


def _growth(values: Sequence[float]) -> float:
    return round(values[-1] / values[0], 3)


def run() -> dict[str, Any]:
    """Measure each load on stores of its own."""
    measure(Load(200, 100))  # Imports and caches of the interpreter.
    measured = [measure(load) for load in LOADS]
    grown = growth(measured)
    must = [
        at_most(
            f"Growth of {name}",
            ratio,
            MAX_GROWTH if name.startswith("requests") else MAX_CPU_GROWTH,
            " times",
        )
        for name, ratio in grown.items()
    ]
    return {
        "asks": "Does a tick work for the schedules that are due, or for all that are stored?",
        "columns": [
            "one tick's visits",
            "requests",
            *COUNTED,
            "requests per due",
            "cpu s",
            "cpu us per due",
        ],
        "rows": [_row(one) for one in measured],
        "growth": grown,
        "notes": [
            f"A tick that finds nothing due also makes {DUE_SHARDS} queries and one read. CPU is "
            "that of the services alone, without boto3 and stores."
        ],
        "must": must,
        "ok": all_ok(must),
    }
