"""A compiled rule: its fires, the next one, and what a change of the clocks does to them."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, date, datetime, time

from hourhand.domain.schedules.recurrence._dst import Expression, can_occur, union
from hourhand.domain.schedules.recurrence._exclusions import (
    UNITS_TO_START,
    ExclusionCursor,
    Exclusions,
    compile_exclusions,
)
from hourhand.domain.schedules.recurrence._expressions import compile_expression
from hourhand.domain.schedules.recurrence._hints import hints_on
from hourhand.domain.schedules.recurrence._notes import missing_times, note_on
from hourhand.domain.schedules.recurrence._zones import from_seconds, to_seconds, zone_named
from hourhand.domain.schedules.rule import (
    EARLIEST,
    LATEST,
    MAX_EXCLUDED_SECONDS,
    MAX_EXPRESSIONS,
    MAX_WORK,
    BadExpression,
    ExcludedExpression,
    Fire,
    Found,
    GivenUp,
    Rule,
    Work,
)

LATEST_SECOND = to_seconds(LATEST)

MAX_WARNINGS = 20


class Recurrence:
    """When a rule fires. Made by `compile_rule`; never changes."""

    def __init__(
        self, rule: Rule, expressions: tuple[Expression, ...], exclusions: Exclusions
    ) -> None:
        """Take a rule and what its parts were compiled to."""
        self.rule = rule
        self._expressions = expressions
        # Looking for what never comes takes long, each time.
        self._occurring = tuple(each for each in expressions if can_occur(each))
        self._exclusions = exclusions
        self.weight = max(1, len(self._occurring) + len(exclusions.expressions))
        """The least work of one fire: with how many expressions it is compared."""

    def fires(self, after: datetime, until: datetime, work: Work | None = None) -> Iterator[Fire]:
        """Yield the fires later than ``after`` and at most at ``until``, ascending, each once.

        Excluded ones are among them, and marked. Nothing is computed ahead of what is taken. What
        is taken is counted as ``work``; it is for the caller to ask whether that is over.
        """
        work = Work(MAX_WORK) if work is None else work
        first, last = _window(after, until)
        cursor = self._cursor(last, work)
        work.spend(UNITS_TO_START * len(self._occurring))
        for instant in union(self._occurring, first, last):
            work.spend(self.weight)
            yield Fire(from_seconds(instant), cursor is not None and cursor.excludes(instant))

    def search(
        self, after: datetime, until: datetime, work: Work | None = None
    ) -> Found | GivenUp | None:
        """Look for the first fire later than ``after``, at most at ``until``, not excluded.

        None if there is none. Gives up once ``work`` is over (by default `MAX_WORK`), but not
        before it has looked at one fire; or when all were excluded for `MAX_EXCLUDED_SECONDS`.
        """
        work = Work(MAX_WORK) if work is None else work
        first, last = _window(after, until)
        cursor = self._cursor(last, work)
        instants = union(self._occurring, first, last)
        work.spend(UNITS_TO_START * len(self._occurring))
        since: int | None = None
        while True:  # Ends with the work at the latest.
            instant = next(instants, None)
            if instant is None:
                return None
            if cursor is None or not cursor.excludes(instant):
                return Found(from_seconds(instant))
            since = instant if since is None else since
            work.spend(self.weight)
            if work.is_over or instant - since > MAX_EXCLUDED_SECONDS:
                return GivenUp(from_seconds(since), from_seconds(instant))
            further = self._exclusions.skippable_until(instant)
            if further > instant + 1:
                instants = union(self._occurring, further, last)
                work.spend(UNITS_TO_START * len(self._occurring))

    def next_fire(self, after: datetime, until: datetime) -> datetime | None:
        """Return what `search` found; None if there is nothing, or if it gave up."""
        found = self.search(after, until)
        return found.at if isinstance(found, Found) else None

    def can_ever_fire(
        self, after: datetime, until: datetime = LATEST, work: Work | None = None
    ) -> bool:
        """Whether there is any fire later than ``after``, at most at ``until``, not excluded.

        What a search cannot tell counts as one: a schedule that fires but seldom is not to be
        refused.
        """
        if _excludes_itself(self.rule):
            return False
        found = self.search(after, until, work)
        return isinstance(found, Found) or (found is not None and not found.is_for_good)

    def local(self, at: datetime) -> datetime:
        """Return the instant ``at`` as the clocks of the rule's zone show it."""
        return at.astimezone(zone_named(self.rule.timezone))

    def first_of_day(self, day: date) -> datetime:
        """Return the first instant of a local day of the rule's zone."""
        # Where a clock change skips midnight, this is the instant of the change (PEP 495, fold 0).
        midnight = datetime.combine(day, time.min, tzinfo=zone_named(self.rule.timezone))
        return midnight.astimezone(UTC)

    def note(self, at: datetime) -> str | None:
        """Return in words what a change of the clocks does to the fire at this time, if it does."""
        notes = (note_on(expression, to_seconds(at)) for expression in self._expressions)
        return next((note for note in notes if note is not None), None)

    def hints(self) -> tuple[str, ...]:
        """Return in words what the authors of its expressions may not expect."""
        pairs = zip(self.rule.expressions, self._expressions, strict=True)
        return tuple(dict.fromkeys(hint for pair in pairs for hint in hints_on(*pair)))

    def warnings(self, after: datetime, until: datetime) -> tuple[str, ...]:
        """Return in words which local times are left out, as they do not exist, in this window.

        At most `MAX_WARNINGS`, the earliest of each expression first.
        """
        first, last = _window(after, until)
        found: list[str] = []
        for expression in self._expressions:
            room = MAX_WARNINGS - len(found)
            found += missing_times(expression, first, last, room)
        return tuple(dict.fromkeys(found))

    def _cursor(self, last: int, work: Work) -> ExclusionCursor | None:
        return ExclusionCursor(self._exclusions, last, work) if self.rule.exclude else None


def _window(after: datetime, until: datetime) -> tuple[int, int]:
    """Return the first and the last second of the window, within what can fire at all."""
    first = max(to_seconds(after) + 1, to_seconds(EARLIEST))
    return first, min(to_seconds(until), to_seconds(LATEST) - 1)


def compile_rule(rule: Rule) -> Recurrence:
    """Return when the rule fires. Raises `BadExpression`, which says what is wrong with it."""
    if not 1 <= len(rule.expressions) <= MAX_EXPRESSIONS:
        raise BadExpression(f"A schedule has 1 to {MAX_EXPRESSIONS} expressions.")
    zone_named(rule.timezone)
    expressions = tuple(compile_expression(text, rule) for text in rule.expressions)
    return Recurrence(rule, expressions, compile_exclusions(rule))


def _excludes_itself(rule: Rule) -> bool:
    """Whether every expression of a rule is excluded word for word."""
    excluded = {_words(e.text) for e in rule.exclude if isinstance(e, ExcludedExpression)}
    return excluded.issuperset(map(_words, rule.expressions))


def _words(expression: str) -> str:
    return " ".join(expression.lower().split())
