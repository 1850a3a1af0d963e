"""The tick's part in recurring work: visits the schedules that are due, and no other."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial
from typing import TYPE_CHECKING, Any

from hourhand.domain.errors import (
    HourhandError,
    QuotaExceeded,
    Unavailable,
    WrittenByNewer,
)
from hourhand.domain.jobs.job import TICK
from hourhand.domain.schedules.schedule import Schedule, ScheduleDefinition
from hourhand.domain.times import to_ms
from hourhand.ports.schedule_store import DUE_SHARDS, ScheduleStore
from hourhand.ports.telemetry import Telemetry
from hourhand.services.optional import log_newer, read_readable, reason_of
from hourhand.services.schedules.compiled_rules import read_definitions
from hourhand.services.schedules.recompute import ScheduleWalk

if TYPE_CHECKING:
    from hourhand.services.schedules.visit import Materialiser, Visit

PAGE = 100
"""Schedules read and visited at a time: what one BatchGetItem takes."""

VISITS_AT_ONCE = 10
"""Visits whose messages are sent together: one call of SQS takes as many."""

MAX_LEFT_FOR_LAST = 100
"""Backfills, and long searches, that one tick leaves until every schedule had its visit. What is
beyond them is done at once, or when its schedule is due."""

CATCH_UP_A_TICK = 1_000
"""Missed times, at least, that a tick makes for a schedule once every other one had its visit."""

MAX_PAGES = 1_000
"""Pages of one shard in one tick; the rest is due at the next one, too."""


@dataclass(slots=True)
class VisitCounts:
    """What a pass over the due schedules did.

    ``backfilling``: visits of schedules with backfills. ``unfinished``: visits whose search for the
    next nominal time is long, and the schedules as they were stored. ``behind``: those that missed
    more times than their visit made.
    """

    visited: int = 0
    failed: int = 0
    recomputed: int = 0
    is_complete: bool = True
    backfilling: list[Visit] = field(default_factory=list)
    unfinished: list[tuple[Visit, Schedule]] = field(default_factory=list)
    behind: list[tuple[Visit, Schedule]] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class ScheduleSweep:
    """Visits due schedules. Its work grows with those that are due, not with those stored."""

    schedules: ScheduleStore
    materialiser: Materialiser
    walk: ScheduleWalk
    telemetry: Telemetry

    def run(
        self, *, now: datetime, horizon: datetime, may_go_on: Callable[[], bool]
    ) -> VisitCounts:
        """Visit every schedule with something due until ``horizon``.

        Never raises if a store does not answer: this is logged, and the next tick continues.
        """
        counts = VisitCounts()
        for shard in shards_in_turn(now):
            with self._telling(counts):
                self._visit_shard(shard, now, horizon, may_go_on, counts)
        with self._telling(counts):
            self._finish(counts.backfilling, now, may_go_on, counts)
            self._catch_up(counts, now, horizon, may_go_on)
            self._search_on(counts, may_go_on)
        if counts.is_complete:
            with self._telling(counts):
                counts.recomputed = self.walk.step(may_go_on, now)
        self.telemetry.count("schedules_visited", counts.visited)
        if not counts.is_complete:
            self.telemetry.count("schedule_sweeps_incomplete")
        return counts

    def _catch_up(
        self, counts: VisitCounts, now: datetime, horizon: datetime, may_go_on: Callable[[], bool]
    ) -> None:
        """Make more missed times of the policy ``all``, after every schedule had its visit."""
        for visit, schedule in counts.behind:
            after, room = schedule, CATCH_UP_A_TICK
            with self._told(schedule.id, counts):
                while may_go_on() and room > 0 and after.next_at == now:
                    visited = self.materialiser.visit(
                        after,
                        visit.definition,
                        now=now,
                        horizon=horizon,
                        actor=TICK,
                        searches_on=False,
                        room=room,
                    )
                    after, room = visited.schedule, room - len(visited.jobs) if visited.jobs else 0

    def _search_on(self, counts: VisitCounts, may_go_on: Callable[[], bool]) -> None:
        """Make the long searches, after every schedule had its visit."""
        for visit, after in counts.unfinished:
            if not may_go_on():
                # How far each search came is stored.
                return
            with self._told(after.id, counts):
                self.materialiser.search_on(visit, after, may_go_on)

    @contextmanager
    def _telling(self, counts: VisitCounts) -> Iterator[None]:
        """Log what a store did not answer and continue: one shard must not stop the others."""
        try:
            yield
        except WrittenByNewer as newer:
            counts.is_complete = False
            log_newer(self.telemetry, newer)
        except Unavailable as error:
            counts.is_complete = False
            self.telemetry.warning(
                "Some schedules could not be read. The next tick continues.",
                reason=error.detail,
            )
        except Exception as error:  # noqa: BLE001 - one shard must not stop the others
            counts.is_complete = False
            self.telemetry.count("schedule_visits_failed")
            self.telemetry.warning(
                "Some schedules could not be read. The next tick continues.",
                reason=reason_of(error),
            )

    def _visit_shard(
        self,
        shard: int,
        now: datetime,
        horizon: datetime,
        may_go_on: Callable[[], bool],
        counts: VisitCounts,
    ) -> None:
        position: Mapping[str, Any] | None = None
        for _ in range(MAX_PAGES):
            if not may_go_on():
                counts.is_complete = False
                return
            page = self.schedules.read_due(shard, until=horizon, position=position, limit=PAGE)
            self._visit_page([due.schedule_id for due in page.due], now, horizon, may_go_on, counts)
            position = page.next
            if position is None:
                return
        counts.is_complete = False

    def _visit_page(
        self,
        schedule_ids: Sequence[str],
        now: datetime,
        horizon: datetime,
        may_go_on: Callable[[], bool],
        counts: VisitCounts,
    ) -> None:
        note = partial(self._tell_failed, counts)
        found = read_readable(schedule_ids, self.schedules.get_many, note)
        due = [s for s in found.values() if s.next_at is not None and s.next_at <= horizon]
        definitions = read_definitions(self.schedules, due, self._tell_unreadable)
        # Those whose definition only a newer version reads are logged already.
        due = [schedule for schedule in due if schedule.id not in definitions.newer]
        for start in range(0, len(due), VISITS_AT_ONCE):
            if not may_go_on():
                counts.is_complete = False
                return
            self._visit_together(
                due[start : start + VISITS_AT_ONCE],
                definitions,
                now,
                horizon,
                may_go_on,
                counts,
            )

    def _visit_together(
        self,
        due: Sequence[Schedule],
        definitions: Mapping[str, ScheduleDefinition],
        now: datetime,
        horizon: datetime,
        may_go_on: Callable[[], bool],
        counts: VisitCounts,
    ) -> None:
        """Visit some; their messages share requests. One bad schedule must not stop the others."""
        visits: list[Visit] = []
        for schedule in due:
            with self._told(schedule.id, counts):
                definition = definitions.get(schedule.id)
                if definition is None:
                    raise HourhandError("Its definition is missing.")
                visits.append(
                    self.materialiser.begin(
                        schedule,
                        definition,
                        now=now,
                        horizon=horizon,
                        actor=TICK,
                        may_go_on=may_go_on,
                    )
                )
        self.materialiser.send(visits, TICK)
        at_once: list[Visit] = []
        for visit in visits:
            can_wait = bool(visit.decision.schedule.backfills)
            can_wait = can_wait and len(counts.backfilling) < MAX_LEFT_FOR_LAST
            (counts.backfilling if can_wait else at_once).append(visit)
        self._finish(at_once, now, may_go_on, counts)

    def _finish(
        self,
        visits: Sequence[Visit],
        now: datetime,
        may_go_on: Callable[[], bool],
        counts: VisitCounts,
    ) -> None:
        for visit in visits:
            with self._told(visit.schedule.id, counts):
                after = self.materialiser.finish(visit, now=now, actor=TICK, may_go_on=may_go_on)
                counts.visited += 1
                if visit.decision.orders and visit.decision.schedule.next_at == now:
                    counts.behind.append((visit, after))
                if visit.decision.must_search_on and len(counts.unfinished) < MAX_LEFT_FOR_LAST:
                    counts.unfinished.append((visit, after))

    @contextmanager
    def _told(self, schedule_id: str, counts: VisitCounts) -> Iterator[None]:
        """Log a failure of one schedule and continue; the next tick visits it again."""
        try:
            yield
        except WrittenByNewer as newer:
            log_newer(self.telemetry, newer)
        except QuotaExceeded as over:
            self.telemetry.info(
                "A schedule waits for a quota.", schedule_id=schedule_id, reason=over.detail
            )
        except Exception as error:  # noqa: BLE001 - the last resort, logged
            self._tell_failed(counts, schedule_id, error)

    def _tell_unreadable(self, schedule_id: str, error: Exception) -> None:
        self.telemetry.warning(
            "The definition of a schedule could not be read.",
            schedule_id=schedule_id,
            reason=reason_of(error),
        )

    def _tell_failed(self, counts: VisitCounts, schedule_id: str, error: Exception) -> None:
        counts.failed += 1
        self.telemetry.warning(
            "A schedule could not be visited; the next tick tries again.",
            schedule_id=schedule_id,
            error=type(error).__name__,
            reason=str(error),
        )
        self.telemetry.count("schedule_visits_failed")


def shards_in_turn(now: datetime) -> list[int]:
    """Return every shard, each minute another one first: none starves where time is short."""
    first = to_ms(now) // 60_000 % DUE_SHARDS
    return [(first + place) % DUE_SHARDS for place in range(DUE_SHARDS)]
