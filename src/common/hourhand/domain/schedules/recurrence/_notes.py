"""What a change of the clocks does to fires, in plain words."""

from __future__ import annotations

from hourhand.domain.schedules.recurrence._dst import Expression, Rate, ZonedTimes
from hourhand.domain.schedules.recurrence._zones import (
    DAY_SECONDS,
    Span,
    from_seconds,
    span_at,
)
from hourhand.domain.schedules.rule import DstFold, DstGap

_MAX_NAMED = 3


def note_on(expression: Expression, instant: int) -> str | None:
    """Return what a change does to this expression's fire at the instant; None if nothing."""
    if isinstance(expression, Rate) or instant not in expression.between(instant, instant):
        return None
    span = span_at(expression.zone, instant)
    return _gap_note(expression, span, instant) or _fold_note(expression, span, instant)


def _gap_note(expression: ZonedTimes, span: Span, instant: int) -> str | None:
    low, high = span.gap
    if expression.gap is DstGap.NEXT_VALID and instant == span.start:
        effect = "runs at {}, the first instant after the gap"
    elif expression.gap is DstGap.SHIFT:
        asked = instant + span.before
        low, high = max(asked, low), min(asked + 1, high)
        effect = "runs later by the length of the gap, at {}"
    else:
        return None
    missing = _missing(expression, span, low, high)
    return missing and f"{missing}: {effect.format(_clock(instant + span.offset, low))}."


def _fold_note(expression: ZonedTimes, span: Span, instant: int) -> str | None:
    local = instant + span.offset
    if local < span.repeats_until:
        which, back = "second", f"from {_clock(span.start + span.before, local)} back to"
        back += f" {_clock(span.start + span.offset, local)}"
    elif local >= span.repeated_from:
        which, back = "first", f"from {_clock(span.end + span.offset, local)} back to"
        back += f" {_clock(span.end + span.after, local)}"
    else:
        return None
    twice = f"{_full(local)} occurs twice in {expression.zone} (the clocks go {back})"
    if expression.is_hourly:
        return f"{twice}: the expression follows real time; this is the {which} of the two."
    if expression.fold is DstFold.BOTH:
        return f"{twice}: runs both times; this is the {which}."
    return f"{twice}: runs the {which} time only."


def missing_times(expression: Expression, first: int, last: int, at_most: int) -> list[str]:
    """Return which times the expression leaves out at changes from ``first`` to ``last``.

    Of an expression with every hour nothing is told: every hour that exists has its fires.
    """
    found: list[str] = []
    if isinstance(expression, Rate) or expression.gap is not DstGap.SKIP or expression.is_hourly:
        return found
    instant = first
    while instant <= last and len(found) < at_most:  # Goes on by a span each time.
        span = span_at(expression.zone, instant)
        missing = _missing(expression, span, *span.gap) if first <= span.start else None
        if missing is not None:
            found.append(f"{missing}: no run.")
        instant = span.end
    return found


def _missing(expression: ZonedTimes, span: Span, low: int, high: int) -> str | None:
    """Return which of its times in this part of a gap do not exist, and why; None if none are."""
    times = list(expression.times.between(low, high, 0))
    if not times:
        return None
    if len(times) > _MAX_NAMED:
        named = f"{len(times)} times from {_full(times[0])} to {_clock(times[-1], times[0])}"
    else:
        named = _listed([_full(times[0]), *(_clock(time, times[0]) for time in times[1:])])
    verb = "do" if len(times) > 1 else "does"
    gap_low, gap_high = (_clock(edge, times[0]) for edge in span.gap)
    why = f"the clocks go from {gap_low} to {gap_high}"
    return f"{named} {verb} not exist in {expression.zone} ({why})"


def _listed(words: list[str]) -> str:
    *others, last = words
    return f"{', '.join(others)} and {last}" if others else last


def _full(local: int) -> str:
    shown = from_seconds(local)
    return shown.strftime("%Y-%m-%d %H:%M:%S" if shown.second else "%Y-%m-%d %H:%M")


def _clock(local: int, beside: int) -> str:
    """Return the time alone, if it is of the same day as another that is shown with its date."""
    same_day = local // DAY_SECONDS == beside // DAY_SECONDS
    return _full(local).partition(" ")[2] if same_day else _full(local)
