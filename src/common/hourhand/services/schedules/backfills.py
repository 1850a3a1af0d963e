"""Asking for a backfill: past nominal times of a schedule, run on purpose."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING

from hourhand.domain.errors import (
    FieldError,
    InvalidInput,
    Unavailable,
    WrittenByNewer,
    WrongState,
)
from hourhand.domain.groups.overlap import OverlapPolicy
from hourhand.domain.schedules.backfills import (
    MAX_ACTIVE_BACKFILLS,
    MAX_BACKFILL_TIMES,
    MAX_RUNNING,
    NominalTimes,
    list_nominal_times,
)
from hourhand.domain.schedules.changes import add_backfill
from hourhand.domain.schedules.schedule import (
    Backfill,
    BackfillOrder,
    Schedule,
    ScheduleDefinition,
    ScheduleEventKind,
)
from hourhand.ports.clock import Clock
from hourhand.ports.randomness import Randomness
from hourhand.ports.schedule_store import ScheduleStore, Written
from hourhand.ports.telemetry import Telemetry
from hourhand.services.schedules.backfill_work import BACKFILL_KEPT, BackfillWork
from hourhand.services.schedules.compiled_rules import CompiledRules, definition_of, require_live
from hourhand.services.schedules.history import with_event

if TYPE_CHECKING:
    from hourhand.api.requests import BackfillInput

MAX_LOST_RACES = 10
"""How often a schedule may change between the read and the write before the request fails."""

REPORTED_FIRES = 100
"""How many of its nominal times a report names."""


@dataclass(frozen=True, slots=True)
class BackfillReport:
    """What a backfill will run, or would (``dry_run``).

    ``first`` and ``last`` are its earliest and its latest nominal time, ``fires`` the first
    hundred in the order in which they are run. ``backfill`` is absent where none was begun.
    """

    backfill: Backfill | None
    first: datetime | None
    last: datetime | None
    total: int
    fires: tuple[datetime, ...]
    dry_run: bool


@dataclass(frozen=True, slots=True)
class BackfillService:
    """Begins backfills, and takes their first step; the visits of their schedules do the rest."""

    schedules: ScheduleStore
    recurrences: CompiledRules
    work: BackfillWork
    clock: Clock
    randomness: Randomness
    telemetry: Telemetry

    def start(self, schedule_id: str, request: BackfillInput, *, actor: str) -> BackfillReport:
        """Begin a backfill, or say what it would run. A range without nominal times begins none.

        Raises `NotFound`, `InvalidInput` for a range that is not of the past or holds too many,
        `WrongState` where too many backfills are under way, `Unavailable`.
        """
        now = self.clock.now()
        _require_past(request, now)
        schedule = require_live(self.schedules.get(schedule_id), schedule_id)
        definition = definition_of(self.schedules, schedule)
        found = list_nominal_times(
            self.recurrences.of(definition), definition, request.start, request.end
        )
        _require_few(found)
        if request.dry_run or not found.times:
            return _report(None, request, found.times)
        _require_room(schedule)
        backfill = self._new(schedule, request, len(found.times), now)
        if not self.schedules.write_backfill(backfill, previous=None):
            raise Unavailable("The id of the backfill was taken; try again.")
        # Without this second write no visit works at the backfill, and its record expires.
        schedule = self._add(schedule, backfill, actor)
        self.telemetry.info(
            "A backfill was started.",
            schedule_id=schedule_id,
            backfill_id=backfill.id,
            total=backfill.total,
            actor=actor,
        )
        backfill = self._step(schedule, definition, backfill, actor)
        return _report(backfill, request, found.times)

    def _step(
        self, schedule: Schedule, definition: ScheduleDefinition, backfill: Backfill, actor: str
    ) -> Backfill:
        """Make the first jobs at once; what fails here is done by the next tick."""
        now = self.clock.now()
        try:
            return self.work.step(schedule, definition, backfill, now=now, actor=actor)[0]
        except (Unavailable, WrittenByNewer) as error:
            self.telemetry.warning(
                "A backfill was started. Its first jobs are left to the next tick.",
                schedule_id=schedule.id,
                backfill_id=backfill.id,
                reason=error.detail,
            )
            return backfill

    def _new(
        self, schedule: Schedule, request: BackfillInput, total: int, now: datetime
    ) -> Backfill:
        max_active = request.max_active
        if request.overlap is OverlapPolicy.ALLOW and "max_active" not in request.model_fields_set:
            max_active = MAX_RUNNING
        return Backfill(
            id=self.randomness.nonce(),
            schedule_id=schedule.id,
            sequence=1,
            write_id=self.randomness.nonce(),
            definition=schedule.definition,
            start=request.start,
            end=request.end,
            total=total,
            created_at=now,
            overlap=request.overlap,
            order=request.order,
            max_active=max_active,
            reprocess=request.reprocess,
            note=request.note or "",
            keep_until=now + BACKFILL_KEPT,
        )

    def _add(self, schedule: Schedule, backfill: Backfill, actor: str) -> Schedule:
        """Have the visits of the schedule work at the backfill; return it as it stands then."""
        for _ in range(MAX_LOST_RACES):
            _require_room(schedule)
            now = self.clock.now()
            after = with_event(
                self.schedules,
                schedule,
                add_backfill(schedule, backfill.id, now=now, write_id=self.randomness.nonce()),
                ScheduleEventKind.BACKFILL_STARTED,
                actor,
                backfill.note,
                now,
            )
            answer = self.schedules.write(after, previous=schedule.sequence)
            if isinstance(answer, Written):
                return after
            schedule = require_live(answer.current, schedule.id)
        raise Unavailable(
            f"Schedule {schedule.id} changed too often during the request; try again."
        )


def _require_past(request: BackfillInput, now: datetime) -> None:
    if request.start >= request.end:
        raise _invalid("to", "must be after from")
    if request.end > now:
        raise _invalid("to", "must not be in the future: the schedule runs future times itself")


def _require_few(found: NominalTimes) -> None:
    if found.is_least or found.total > MAX_BACKFILL_TIMES:
        most = "more than " if found.is_least else ""
        raise _invalid(
            "from",
            f"must be nearer to its end: the range has {most}{found.total:,} scheduled times, and "
            f"a backfill has at most {MAX_BACKFILL_TIMES:,}",
        )


def _require_room(schedule: Schedule) -> None:
    if len(schedule.backfills) >= MAX_ACTIVE_BACKFILLS:
        raise WrongState(
            f"Schedule {schedule.id} has {MAX_ACTIVE_BACKFILLS} backfills under way, which is the "
            "maximum. Wait for one to end."
        )


def _report(
    backfill: Backfill | None, request: BackfillInput, times: Sequence[datetime]
) -> BackfillReport:
    ordered = times[::-1] if request.order is BackfillOrder.NEWEST else times
    return BackfillReport(
        backfill=backfill,
        first=times[0] if times else None,
        last=times[-1] if times else None,
        total=len(times),
        fires=tuple(ordered[:REPORTED_FIRES]),
        dry_run=request.dry_run,
    )


def _invalid(name: str, message: str) -> InvalidInput:
    return InvalidInput("The backfill is invalid.", errors=(FieldError(name, message),))
