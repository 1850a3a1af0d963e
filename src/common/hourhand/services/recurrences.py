"""When a definition fires: its calendars are looked up, its rule compiled, both kept a while."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING

from hourhand.domain.rule import EARLIEST, Exclusion, Rule
from hourhand.domain.schedules import Calendar, CalendarName, ScheduleDefinition
from hourhand.domain.timings import Timings
from hourhand.ports import Clock, Telemetry
from hourhand.schedule_ports import CalendarStore

if TYPE_CHECKING:
    from hourhand.domain.recurrence import Recurrence

COMPILED_RULES = 2_000
"""Rules kept compiled: some 10 MB, and more than are due in a minute in most installations."""

KNOWN_CALENDARS = 1_000
"""Calendars kept; when there are more, all are read anew."""


@dataclass(frozen=True, slots=True)
class _Known:
    """A calendar as it was read, and when, by the monotonic clock."""

    calendar: Calendar
    read_at: float


def _keep_compiled() -> Callable[[Rule], Recurrence]:
    return lru_cache(maxsize=COMPILED_RULES)(_compile)


def _compile(rule: Rule) -> Recurrence:
    # A tick that finds no schedule due, and a cold start, go without the 15 ms that this takes.
    from hourhand.domain.recurrence import compile_rule  # noqa: PLC0415

    return compile_rule(rule)


@dataclass(slots=True)
class Recurrences:
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

        A calendar that does not exist excludes nothing; it is told. Raises `BadExpression` where
        the rule cannot be compiled, `Unavailable`.
        """
        calendars = self._read(definition.calendars) if definition.calendars else {}
        missing = [name for name in definition.calendars if name not in calendars]
        if missing:
            self.telemetry.warning(
                "A schedule names calendars that do not exist; they exclude nothing.",
                calendars=missing,
            )
        return self._compile(rule_of(definition, calendars))

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
            found = self.calendars.get_calendars(wanted)
            if len(self._known) + len(found) > KNOWN_CALENDARS:
                self.forget()
                found = self.calendars.get_calendars(names)
            for name in wanted:
                self._known.pop(name, None)
            self._known.update({n: _Known(calendar, read_at) for n, calendar in found.items()})
        return {name: self._known[name].calendar for name in names if name in self._known}


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
