"""The nominal times of a schedule within what its definition allows. Pure.

The next ones, the bounds of all, and those that may have jobs though nobody decided them.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import date, datetime, timedelta
from typing import TYPE_CHECKING

from hourhand.domain.schedules.jitter import MAX_WORK_A_LOOK
from hourhand.domain.schedules.journal import SETTLED_AFTER, job_times
from hourhand.domain.schedules.rule import LATEST, MAX_WORK, Fire, Found, GivenUp, Work
from hourhand.domain.schedules.schedule import Schedule, ScheduleDefinition
from hourhand.domain.times import floor_ms

if TYPE_CHECKING:
    from hourhand.domain.schedules.recurrence import Recurrence

_TICK = timedelta(milliseconds=1)

MAX_WORK_A_VIEW = 40_000
"""20,000 times with one excluding expression: about 20 ms, times a page of views."""

MAX_TIMES_A_DAY = 5_000
"""More than a rate of 20 seconds has; a month of such days is half the work of a preview."""

FIRST_TIMES_OF_A_DAY = 3
"""What a day of a calendar on a screen has room for."""

_MOST_DAYS = 31

MAX_DOUBTS = 2_500
"""Nominal times that are looked up, of the first and of the last of an outage, and as many on
either side of the misfire window: 10,000 at most, more than a week of minutes or an hour of
seconds on each side. They cost a read each, a hundred to a request."""


@dataclass(frozen=True, slots=True)
class FirstFires:
    """Nominal times, and whether the search for more of them was broken off."""

    times: tuple[datetime, ...]
    is_cut: bool


def upcoming(
    schedule: Schedule,
    definition: ScheduleDefinition,
    recurrence: Recurrence,
    *,
    now: datetime,
    count: int,
) -> tuple[datetime, ...]:
    """Return the next nominal times after ``now``, at most ``count``.

    None are to come while the schedule is paused, once it is deleted, and when its
    ``max_occurrences`` were made; those made ahead of their time still are.
    """
    if not schedule.is_live:
        return ()
    made = [at for at in job_times(schedule.journal) if at > now]
    if definition.max_occurrences is not None:
        left = definition.max_occurrences - schedule.made + len(made)
        count = max(0, min(count, left))
    after = max([_looked_until(schedule, now), *made[-1:]])
    further = first_fires(definition, recurrence, after=after, count=count - len(made))
    return (*made, *further.times)[:count]


def behind_seconds(
    schedule: Schedule, definition: ScheduleDefinition, recurrence: Recurrence, now: datetime
) -> int | None:
    """Return for how long the oldest nominal time is undecided that has come; ``None``: none is."""
    if not schedule.is_live or is_used_up(schedule, definition) or schedule.cursor >= now:
        return None
    after, end = not_before_start(definition, schedule.cursor), last_nominal(definition)
    found = recurrence.search(after, min(now, end), Work(MAX_WORK_A_LOOK))
    return int((now - found.at).total_seconds()) if isinstance(found, Found) else None


def first_fires(
    definition: ScheduleDefinition,
    recurrence: Recurrence,
    *,
    after: datetime,
    count: int,
    work: Work | None = None,
) -> FirstFires:
    """Return the first nominal times after ``after`` that are not excluded, at most ``count``.

    The start and the end of the definition are kept; both may be nominal times themselves. The
    search is broken off once ``work`` (by default `MAX_WORK_A_VIEW`) is over.
    """
    work = Work(MAX_WORK_A_VIEW) if work is None else work
    after, end = not_before_start(definition, after), last_nominal(definition)
    times: list[datetime] = []
    for _ in range(count):
        if work.is_over:
            return FirstFires(tuple(times), is_cut=True)
        found = recurrence.search(after, end, work)
        if found is None:
            break
        if isinstance(found, GivenUp):
            return FirstFires(tuple(times), not found.is_for_good)
        times.append(found.at)
        after = found.at
    return FirstFires(tuple(times), is_cut=False)


@dataclass(frozen=True, slots=True)
class DayOfTimes:
    """The nominal times of a local day: the first ones, and how many there are.

    ``is_least``: there are more than ``count``, or the search was broken off. ``excluded``: how
    many were excluded, and ``first_excluded`` which of them was the first.
    """

    day: date
    count: int
    is_least: bool
    first: tuple[datetime, ...]
    excluded: int
    first_excluded: datetime | None
    clocks_change: bool


def times_by_day(
    definition: ScheduleDefinition, recurrence: Recurrence, month: date, work: Work
) -> tuple[DayOfTimes, ...]:
    """Return the nominal times of each day of a month in the definition's zone.

    ``month`` is its first day. Of a day, at most `MAX_TIMES_A_DAY` are counted; once ``work`` is
    over, none.
    """
    days = [month + timedelta(days=number) for number in range(_MOST_DAYS)]
    return tuple(
        _times_of_day(definition, recurrence, day, work) for day in days if day.month == month.month
    )


def _times_of_day(
    definition: ScheduleDefinition, recurrence: Recurrence, day: date, work: Work
) -> DayOfTimes:
    begin, end = recurrence.first_of_day(day), recurrence.first_of_day(day + timedelta(days=1))
    after = not_before_start(definition, begin - _TICK)
    until = min(last_nominal(definition), end - _TICK)
    first: list[datetime] = []
    count = excluded = 0
    first_excluded: datetime | None = None
    is_cut = work.is_over
    for fire in recurrence.fires(after, until, work) if not is_cut and after < until else ():
        if count + excluded == MAX_TIMES_A_DAY or work.is_over:
            is_cut = True
            break
        if fire.is_excluded:
            excluded += 1
            first_excluded = first_excluded or fire.at
        else:
            count += 1
            first += [fire.at] if count <= FIRST_TIMES_OF_A_DAY else []
    # A change at midnight itself belongs to the day that begins with it.
    offsets = {recurrence.local(at - _TICK).utcoffset() for at in (begin, end)}
    return DayOfTimes(
        day=day,
        count=count,
        is_least=is_cut,
        first=tuple(first),
        excluded=excluded,
        first_excluded=first_excluded,
        clocks_change=len(offsets) > 1,
    )


def _looked_until(schedule: Schedule, now: datetime) -> datetime:
    """Return up to when no nominal time comes any more but those in the journal.

    A visit stores how far it looked for the next one, so that a view need not look there again.
    """
    known = max(now, schedule.cursor)
    # Within the margin it may be the time of a change, by a clock that is ahead.
    if schedule.next_at is not None and schedule.next_at > known + SETTLED_AFTER:
        return schedule.next_at - _TICK
    return known


def search_on(
    schedule: Schedule, definition: ScheduleDefinition, recurrence: Recurrence, work: Work
) -> datetime | None:
    """Return when ``schedule`` wants its next visit, looked for from where its search ended."""
    if schedule.next_at is None:
        return None
    found = recurrence.search(schedule.next_at, last_nominal(definition), work)
    return next_visit_of(found)


def next_visit_of(found: Found | GivenUp | None) -> datetime | None:
    """Return when the next visit is due after a search: a later one goes on where it gave up."""
    if found is None or (isinstance(found, GivenUp) and found.is_for_good):
        return None
    return found.at


def is_used_up(schedule: Schedule, definition: ScheduleDefinition, ordered: int = 0) -> bool:
    """Whether a schedule made as many jobs as it may, with those ``ordered`` but not stored."""
    most = definition.max_occurrences
    return most is not None and schedule.made + ordered >= most


def not_before_start(definition: ScheduleDefinition, instant: datetime) -> datetime:
    """Return the instant after which a schedule may fire; its start itself may be a fire."""
    if definition.start_at is None:
        return instant
    return max(instant, floor_ms(definition.start_at) - _TICK)


def last_nominal(definition: ScheduleDefinition) -> datetime:
    """Return the last instant at which a schedule may fire."""
    return min(definition.end_at or LATEST, LATEST)


@dataclass(frozen=True, slots=True)
class DatedRule:
    """A rule of a schedule, in force until an edit; the present one has no end."""

    definition: ScheduleDefinition
    recurrence: Recurrence
    until: datetime = LATEST

    def fires(self, after: datetime, until: datetime, work: Work) -> Iterator[Fire]:
        """Yield its nominal times later than ``after`` and at most at ``until``, while in force."""
        end = min(until, self.until, last_nominal(self.definition))
        return self.recurrence.fires(not_before_start(self.definition, after), end, work)


def fires_of(
    rules: Sequence[DatedRule], after: datetime, until: datetime, work: Work
) -> Iterator[Fire]:
    """Yield the nominal times of rules that were in force one after the other, ascending.

    A time stays only if each later rule has it, too.
    """
    for place, rule in enumerate(rules, 1):
        for fire in rule.fires(after, until, work):
            yield _judged(fire, rules[place:], work)
        after = max(after, rule.until)


def _judged(fire: Fire, later: Sequence[DatedRule], work: Work) -> Fire:
    for rule in later:
        same = next(rule.fires(fire.at - _TICK, fire.at, work), None)
        if same is None:
            return replace(fire, is_replaced=True)
        fire = replace(fire, is_excluded=fire.is_excluded or same.is_excluded)
    return fire


@dataclass(slots=True)
class PossibleOccurrences:
    """Times whose jobs a visit that died may have made: `MAX_DOUBTS` first ones and last ones."""

    _first: list[datetime] = field(default_factory=list)
    _last: deque[datetime] = field(default_factory=lambda: deque(maxlen=MAX_DOUBTS))

    def add(self, nominal: datetime) -> None:
        """Add one that is later than all added before."""
        (self._first if len(self._first) < MAX_DOUBTS else self._last).append(nominal)

    @property
    def times(self) -> tuple[datetime, ...]:
        """What was kept, ascending."""
        return (*self._first, *self._last)


def possible_occurrences_between(
    rules: Sequence[DatedRule], after: datetime, until: datetime
) -> tuple[datetime, ...]:
    """Return the nominal times of a span that may have jobs, although no visit decided them."""
    possible = PossibleOccurrences()
    work = Work(MAX_WORK)
    for fire in fires_of(rules, after, until, work):
        possible.add(fire.at)
        if work.is_over:
            break
    return possible.times
