"""Definitions of schedules as they are looked up, and when they fire.

Their calendars are read and their rules compiled; both are kept for a while.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import TYPE_CHECKING

from hourhand.domain.errors import FieldError, NotFound, Unavailable
from hourhand.domain.schedules.nominal_times import DatedRule
from hourhand.domain.schedules.rule import (
    EARLIEST,
    MAX_EXCLUDED_EXPRESSIONS,
    MAX_EXCLUSIONS,
    MAX_WORK,
    BadExpression,
    ExcludedExpression,
    Exclusion,
    Rule,
    Work,
)
from hourhand.domain.schedules.schedule import Calendar, CalendarName, Schedule, ScheduleDefinition
from hourhand.domain.ticks.timings import Timings
from hourhand.ports import Found
from hourhand.ports.calendar_store import CalendarStore
from hourhand.ports.clock import Clock
from hourhand.ports.schedule_store import ScheduleStore
from hourhand.ports.telemetry import Telemetry
from hourhand.services.optional import read_readable

if TYPE_CHECKING:
    from hourhand.domain.schedules.recurrence import Recurrence

COMPILED_RULES = 2_000
"""Rules kept compiled: about 10 MB, and more than are due in a minute in most installations."""

HEAVY_ENTRIES = 10
HEAVY_RULES = 100
"""Of rules with more expressions and exclusions than that so many are kept: 50 MB at the most."""

MAX_SECONDS_A_VISIT = 3.0
"""What one visit of a schedule may take, however slow the processor is."""

KNOWN_CALENDARS = 1_000
"""Calendars kept; when there are more, all are read again."""


@dataclass(frozen=True, slots=True)
class _Known:
    """A calendar as it was read, and when, by the monotonic clock."""

    calendar: Calendar
    read_at: float


def _keep_compiled() -> Callable[[Rule], Recurrence]:
    keep_light = lru_cache(maxsize=COMPILED_RULES)(_compile)
    keep_heavy = lru_cache(maxsize=HEAVY_RULES)(_compile)

    def find(rule: Rule) -> Recurrence:
        is_heavy = len(rule.expressions) + len(rule.exclude) > HEAVY_ENTRIES
        return keep_heavy(rule) if is_heavy else keep_light(rule)

    return find


def _compile(rule: Rule) -> Recurrence:
    # A tick that finds no schedule due, and a cold start, go without the 15 ms that this takes.
    from hourhand.domain.schedules.recurrence import compile_rule  # noqa: PLC0415

    return compile_rule(rule)


@dataclass(slots=True)
class CompiledRules:
    """Says when a definition fires.

    A calendar is read again once it is older than `Timings.control_cache`; `ScheduleWalk` allows
    for that much.
    """

    calendars: CalendarStore
    clock: Clock
    timings: Timings
    telemetry: Telemetry
    _known: dict[str, _Known] = field(default_factory=dict, init=False)
    _compile: Callable[[Rule], Recurrence] = field(default_factory=_keep_compiled, init=False)

    def of(self, definition: ScheduleDefinition) -> Recurrence:
        """Return when ``definition`` fires, the exclusions of its calendars included.

        A calendar that does not exist excludes nothing, which is logged. Raises `BadExpression`
        where the rule cannot be compiled, or excludes too much to be computed; `Unavailable`.
        """
        calendars = self._read(definition.calendars) if definition.calendars else {}
        missing = [name for name in definition.calendars if name not in calendars]
        if missing:
            self.telemetry.warning(
                "A schedule names calendars that do not exist. They exclude nothing.",
                calendars=missing,
            )
        rule = rule_of(definition, calendars)
        _require_bounded(rule)
        return self._compile(rule)

    def of_what_is_left(self, definition: ScheduleDefinition) -> Recurrence | None:
        """Return when ``definition`` fires; one that is broken as if it excluded nothing.

        So each of its nominal times has its reason. ``None``: not even that can be computed.
        """
        for each in (definition, replace(definition, exclude=())):
            with suppress(BadExpression):
                return self.of(each)
        return None

    def since_cursor(
        self, store: ScheduleStore, schedule: Schedule, present: DatedRule
    ) -> tuple[DatedRule, ...]:
        """Return the rules that were in force since the cursor of ``schedule``, ``present`` last.

        A former one that is gone, or that cannot be computed, is passed over.
        """
        rules: list[DatedRule] = []
        for each in schedule.former:
            definition = store.get_definition(schedule.id, each.definition)
            recurrence = self.of_what_is_left(definition) if definition else None
            if definition and recurrence and each.until > schedule.cursor:
                rules.append(DatedRule(definition, recurrence, each.until))
        return (*rules, present)

    def work(self, may_go_on: Callable[[], bool]) -> Work:
        """Return what one visit may spend: work and time of its own, while ``may_go_on``."""
        return self.work_within(MAX_WORK, MAX_SECONDS_A_VISIT, may_go_on)

    def work_within(
        self, units: int, seconds: float, may_go_on: Callable[[], bool] = lambda: True
    ) -> Work:
        """Return so much work, which is over after ``seconds`` and when ``may_go_on`` says no."""
        deadline = self.clock.monotonic() + seconds
        return Work(units, lambda: self.clock.monotonic() < deadline and may_go_on())

    def missing_calendars(self, definition: ScheduleDefinition) -> tuple[str, ...]:
        """Return the names of calendars that ``definition`` shares and that do not exist."""
        if not definition.calendars:
            return ()
        calendars = self._read(definition.calendars)
        return tuple(name for name in definition.calendars if name not in calendars)

    def forget(self) -> None:
        """Read every calendar again before it is used next."""
        self._known.clear()

    def _read(self, names: Sequence[str]) -> dict[str, Calendar]:
        read_at = self.clock.monotonic()
        oldest = read_at - self.timings.control_cache.total_seconds()
        wanted = [n for n in names if n not in self._known or self._known[n].read_at < oldest]
        if wanted:
            found = self._read_all(wanted)
            if len(self._known) + len(found) > KNOWN_CALENDARS:
                self.forget()
                found = self._read_all(names)
            for name in wanted:
                self._known.pop(name, None)
            self._known.update({n: _Known(calendar, read_at) for n, calendar in found.items()})
        return {name: self._known[name].calendar for name in names if name in self._known}

    def _read_all(self, names: Sequence[str]) -> Mapping[str, Calendar]:
        found = self.calendars.get_calendars(names)
        found.require_all_known()
        return found


def rule_of(definition: ScheduleDefinition, calendars: dict[str, Calendar]) -> Rule:
    """Return the rule of ``definition``, with what its calendars exclude in place of their names.

    A definition without an anchor has no rate of its own; a rate that a calendar excludes is
    counted from 1970 on.
    """
    exclude: list[Exclusion] = []
    for excluded in definition.exclude:
        if not isinstance(excluded, CalendarName):
            exclude.append(excluded)
        elif excluded.name in calendars:
            exclude += calendars[excluded.name].exclude
    return Rule(
        expressions=definition.expressions,
        timezone=definition.timezone,
        anchor=definition.anchor or EARLIEST,
        dst_gap=definition.dst_gap,
        dst_fold=definition.dst_fold,
        exclude=tuple(dict.fromkeys(exclude)),
    )


def _require_bounded(rule: Rule) -> None:
    """Raise `BadExpression` for more exclusions than a tick has the time to go through."""
    expressions = sum(isinstance(each, ExcludedExpression) for each in rule.exclude)
    if expressions > MAX_EXCLUDED_EXPRESSIONS:
        raise _too_many(expressions, "expressions", MAX_EXCLUDED_EXPRESSIONS)
    if len(rule.exclude) > MAX_EXCLUSIONS:
        raise _too_many(len(rule.exclude), "entries", MAX_EXCLUSIONS)


def _too_many(count: int, what: str, most: int) -> BadExpression:
    message = (
        f"must have at most {most:,} {what} together with its calendars, and they have {count:,}"
    )
    detail = (
        f"The schedule and its calendars exclude {count:,} {what}; at most {most:,} are allowed."
    )
    return BadExpression(detail, errors=(FieldError("exclude", message),))


def require_live(schedule: Schedule | None, schedule_id: str) -> Schedule:
    """Return ``schedule``. Raises `NotFound` where it is not there or was deleted."""
    if schedule is None or schedule.deleted_at is not None:
        raise NotFound(f"There is no schedule {schedule_id}.")
    return schedule


def definition_of(store: ScheduleStore, schedule: Schedule) -> ScheduleDefinition:
    """Return the present definition of ``schedule``.

    Raises `Unavailable` where it is gone: a later write of the schedule names another one.
    """
    definition = store.get_definition(schedule.id, schedule.definition)
    if definition is None:
        raise Unavailable(f"The definition of schedule {schedule.id} is missing; try again.")
    return definition


def read_definitions(
    store: ScheduleStore,
    schedules: Iterable[Schedule],
    note: Callable[[str, Exception], None] | None = None,
) -> Found[str, ScheduleDefinition]:
    """Return the present definitions of ``schedules`` by the ids of these.

    With ``note`` those that cannot be understood are left out, as `read_readable` does.
    """
    names = {schedule.id: schedule.definition for schedule in schedules}

    def read(schedule_ids: Sequence[str]) -> Found[str, ScheduleDefinition]:
        found = store.get_definitions([(each, names[each]) for each in schedule_ids])
        by_schedule = {schedule_id: each for (schedule_id, _), each in found.items()}
        return Found(by_schedule, found.left)

    if not names:
        return Found()
    return read(list(names)) if note is None else read_readable(list(names), read, note)
