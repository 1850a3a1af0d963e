"""Recomputes every schedule after a calendar changed, or with new time zone data.

The walk continues from tick to tick at the position that is stored. Repeated work does no harm: a
schedule that was recomputed after the change is skipped.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial
from typing import TYPE_CHECKING

from hourhand.domain.errors import Unavailable, WrittenByNewer
from hourhand.domain.jobs.job import TICK
from hourhand.domain.schedules.rule import TZDATA_VERSION
from hourhand.domain.schedules.schedule import Calendar, Schedule, ScheduleDefinition, Walk
from hourhand.domain.ticks.timings import Timings
from hourhand.ports import Found
from hourhand.ports.calendar_store import CalendarStore
from hourhand.ports.randomness import Randomness
from hourhand.ports.schedule_store import ScheduleStore
from hourhand.ports.telemetry import Telemetry
from hourhand.services.optional import log_newer, read_readable
from hourhand.services.schedules.compiled_rules import CompiledRules, read_definitions
from hourhand.services.schedules.declarations import DeclaredSchedules, write_walk

if TYPE_CHECKING:
    from hourhand.services.schedules.operations import ScheduleService

SCHEDULES_A_PAGE = 100
"""Schedules looked at at a time: what one BatchGetItem takes."""

MAX_PAGES_A_STEP = 10_000
"""A million schedules; the next tick goes on after them."""

MAX_LOST_RACES = 20
"""How often others may write the record of the walk before we give up."""


@dataclass(slots=True)
class _Progress:
    """What became of one page.

    ``position``: the last schedule dealt with. ``is_unsettled``: some were recomputed so soon
    after a change of a calendar that another component may still use its old content; or were left
    to a newer version, and may be known again when the next pass comes to them.
    """

    position: str | None
    recomputed: int = 0
    is_unsettled: bool = False
    is_whole: bool = True


@dataclass(frozen=True, slots=True)
class ScheduleWalk:
    """Recomputes the schedules that a change concerns.

    ``recurrences`` are those that ``service`` uses. ``declared`` comes first: it works by the same
    record.
    """

    schedules: ScheduleStore
    calendars: CalendarStore
    recurrences: CompiledRules
    service: ScheduleService
    declared: DeclaredSchedules
    randomness: Randomness
    timings: Timings
    telemetry: Telemetry

    def step(self, may_go_on: Callable[[], bool], now: datetime) -> int:
        """Go on with the pass under way, or with a new one if one is wanted.

        Returns how many schedules were recomputed. ``may_go_on`` is asked before each schedule.
        Raises `Unavailable`; the next step goes on where this one was.
        """
        walk = self.declared.step(self.schedules.get_walk(), may_go_on, now)
        walk = None if walk is None else self._begin(walk)
        if walk is None:
            return 0
        self.recurrences.forget()
        recomputed = 0
        for _ in range(MAX_PAGES_A_STEP):
            page = self.schedules.list_schedules(after=walk.position, limit=SCHEDULES_A_PAGE)
            note = partial(self._tell, "A schedule could not be read. The recomputation skips it.")
            found = read_readable(page.names, self.schedules.get_many, note)
            live = [found[name] for name in page.names if name in found and found[name].is_live]
            progress = self._visit(walk, live, may_go_on, now)
            progress.is_unsettled = progress.is_unsettled or bool(found.newer)
            recomputed += progress.recomputed
            if progress.is_whole:
                progress.position = page.next
            stored = self._store(walk, progress)
            if stored is None or stored.running is None or not progress.is_whole:
                break
            walk = stored
        return recomputed

    def _begin(self, walk: Walk) -> Walk | None:
        """Return the pass to go on with; ``None``: there is none, or another began it."""
        is_of_now = walk.zone_data == TZDATA_VERSION
        if is_of_now and walk.running is not None:
            return walk
        if is_of_now and walk.wanted <= walk.finished:
            return None
        begun = replace(walk, running=walk.wanted, position=None, zone_data=TZDATA_VERSION)
        return write_walk(self.schedules, self.randomness, begun)

    def _visit(
        self,
        walk: Walk,
        live: Sequence[Schedule],
        may_go_on: Callable[[], bool],
        now: datetime,
    ) -> _Progress:
        note = partial(self._tell, "The definition of a schedule could not be read.")
        definitions = read_definitions(self.schedules, live, note)
        names = sorted({name for d in definitions.values() for name in d.calendars})
        calendars = self.calendars.get_calendars(names) if names else Found[str, Calendar]()
        settled = self._settled(definitions, calendars)
        progress = _Progress(walk.position, is_unsettled=bool(definitions.newer | calendars.newer))
        for schedule in live:
            if not may_go_on():
                progress.is_whole = False
                break
            settled_at = settled.get(schedule.id, schedule.effective_from)
            is_outdated = schedule.zone_data != TZDATA_VERSION
            if schedule.id in definitions.newer:
                progress.position = schedule.id
                continue
            if schedule.id not in definitions:
                self.telemetry.warning(
                    "A schedule could not be recomputed: its definition is missing.",
                    schedule_id=schedule.id,
                )
            elif is_outdated or settled_at > schedule.effective_from:
                if not self._recompute(schedule.id, progress):
                    break
                progress.is_unsettled = progress.is_unsettled or now < settled_at
            progress.position = schedule.id
        return progress

    def _settled(
        self, definitions: Mapping[str, ScheduleDefinition], calendars: Mapping[str, Calendar]
    ) -> dict[str, datetime]:
        """Return by schedule when every component knows the present content of its calendars."""
        spread = self.timings.control_cache + self.timings.stall_bound
        settled = {}
        for schedule_id, definition in definitions.items():
            known = [calendars[name] for name in definition.calendars if name in calendars]
            if known:
                settled[schedule_id] = max(calendar.updated_at for calendar in known) + spread
        return settled

    def _recompute(self, schedule_id: str, progress: _Progress) -> bool:
        """Recompute one schedule; ``False``: the walk must stop before it."""
        try:
            self.service.recompute(schedule_id, actor=TICK)
        except WrittenByNewer as newer:
            log_newer(self.telemetry, newer)
            progress.is_unsettled = True
            return True
        except Unavailable as error:
            self._tell(
                "The recomputation of schedules stopped. It continues later.", schedule_id, error
            )
            progress.is_whole = False
            return False
        except Exception as error:  # noqa: BLE001 - one schedule must not hold up the others
            self._tell("A schedule could not be recomputed.", schedule_id, error)
            return True
        progress.recomputed += 1
        return True

    def _store(self, walk: Walk, progress: _Progress) -> Walk | None:
        """Store how far it is; ``None``: another walks, or wants a walk, at the same time."""
        wanted = walk.wanted + 1 if progress.is_unsettled else walk.wanted
        after = replace(walk, position=progress.position, wanted=wanted)
        if progress.is_whole and progress.position is None and walk.running is not None:
            after = replace(after, running=None, finished=walk.running)
        return write_walk(self.schedules, self.randomness, after)

    def _tell(self, sentence: str, schedule_id: str, error: Exception) -> None:
        self.telemetry.warning(
            sentence, schedule_id=schedule_id, error=type(error).__name__, reason=str(error)
        )


def want_walk(schedules: ScheduleStore, randomness: Randomness) -> None:
    """Have every schedule looked at once more from the first to the last. Raises `Unavailable`."""
    for _ in range(MAX_LOST_RACES):
        walk = schedules.get_walk()
        if write_walk(schedules, randomness, replace(walk, wanted=walk.wanted + 1)):
            return
    raise Unavailable("The record of the recomputation changes too often; try again.")
