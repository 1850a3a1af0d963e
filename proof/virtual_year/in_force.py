"""What was in force when: definitions, pauses and anchors, from the records of a schedule."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime

from hourhand.domain.schedules.schedule import Schedule, ScheduleDefinition
from proof.virtual_year.books import Books, Life
from proof.virtual_year.nominal_times import Beat


@dataclass(frozen=True, eq=False)
class Span:
    """A definition and the nominal times that are its own: after ``start``, up to ``end``."""

    definition: ScheduleDefinition
    beat: Beat
    anchor: datetime | None
    start: datetime
    end: datetime


@dataclass(frozen=True)
class Pause:
    """Nominal times after ``start``, up to ``end``, fell into it."""

    start: datetime
    end: datetime


@dataclass(slots=True)
class Nominal:
    """One nominal time in force, and what was found for it."""

    at: datetime
    span: Span
    jobs: int = 0
    reasons: list[str] = field(default_factory=list)
    decided_at: datetime | None = None
    decided_in: Span | None = None

    @property
    def ruling(self) -> Span:
        """The definition that decides about it: the one in force then."""
        return self.decided_in or self.span

    @property
    def is_excluded(self) -> bool:
        """Whether it is told of as excluded."""
        return self.reasons == ["excluded"]

    @property
    def told(self) -> int:
        """How often it is accounted for."""
        return self.jobs + len(self.reasons)


def spans_of(books: Books, schedule_id: str, closed_at: datetime) -> Iterator[Span]:
    """Yield the definitions of a schedule in order, each with the time that it was in force."""
    before: Schedule | None = None
    opened: Schedule | None = None
    anchor: datetime | None = None
    implied: datetime | None = None
    for _, state in books.lives[schedule_id].states:
        is_new = before is None or before.deleted_at is not None
        is_same = before is not None and before.definition == state.definition
        before = state
        if is_same and not is_new and state.deleted_at is None:
            continue
        if opened is not None:
            yield _span(books, opened, anchor, state.updated_at)
        opened = state if state.deleted_at is None else None
        if opened is not None:
            beat = books.wishes[schedule_id, state.definition].beat
            is_given = beat.anchor is not None or beat.start is not None
            kept = None if is_new else implied
            implied = None if is_given or not beat.rates else kept or opened.updated_at
            anchor = _anchor(beat, implied)
    if opened is not None:
        yield _span(books, opened, anchor, closed_at)


def _anchor(beat: Beat, implied: datetime | None) -> datetime | None:
    """A rate counts from what was given, else from the second of the first put without."""
    if not beat.rates:
        return beat.anchor
    anchor = beat.anchor or beat.start or implied
    return anchor and anchor.replace(microsecond=0)


def _span(books: Books, state: Schedule, anchor: datetime | None, end: datetime) -> Span:
    key = state.id, state.definition
    definition, beat = books.definitions[key], books.wishes[key].beat
    settled = definition.anchor and definition.anchor.replace(microsecond=0)
    if beat.rates and settled != anchor:
        books.violate("another anchor than it should have", schedule=state.id, anchor=settled)
    return Span(definition, beat, anchor, state.updated_at, end)


def pauses_of(life: Life) -> Iterator[Pause]:
    """Yield the pauses of a schedule in order."""
    started: datetime | None = None
    for _, state in life.states:
        if started is not None and (state.paused_at is None or state.deleted_at is not None):
            yield Pause(started, state.resumed_at or state.updated_at)
            started = None
        if state.paused_at is not None and state.deleted_at is None:
            started = state.paused_at
    if started is not None:
        yield Pause(started, datetime.max.replace(tzinfo=started.tzinfo))
