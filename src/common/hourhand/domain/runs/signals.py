"""Signals: named messages to a run, beside its job, until a wait takes one.

Waits take signals by their ``number``, which is higher than that of each signal that was
acknowledged before this one was sent. ``taken_by``: of a wait in a branch, its path, which alone
may return the signal. ``segment``: the one that consumed it.
"""

from __future__ import annotations

from collections.abc import Container, Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta

from hourhand.domain.conditions import Absent, Compares, NoItem, Path, either
from hourhand.domain.side_items import SIGNAL_PREFIX, SideItem, SideItemUpdate, SideKey, Stored

MAX_UNCONSUMED = 10_000
"""Signals of a name that no wait has returned, above which the worker logs a warning."""

CONSUMED_KEPT = timedelta(hours=24)
"""How long a signal that an earlier segment consumed keeps its id from being used again."""


@dataclass(frozen=True, slots=True, order=True)
class Signal:
    """A signal; in the order in which waits take them.

    Only signals that were sent at the same time have one number. One without was sent to an older
    version.
    """

    number: int
    at_ms: int
    id: str
    name: str
    text: str | None
    place: str | None
    created_ms: int
    taken_by: str | None = None
    segment: int | None = None


def signal_prefix(name: str) -> str:
    """Return how the sort keys of the signals of a name begin."""
    return f"{SIGNAL_PREFIX}{name}#"


def signal_key(run_id: str, name: str, signal_id: str) -> SideKey:
    """Return the key of a signal."""
    return SideKey(run_id, signal_prefix(name) + signal_id)


def signal_of(item: SideItem) -> Signal:
    """Read a signal."""
    _, name, signal_id = item.key.sort.split("#", 2)
    return Signal(
        number=item.number("number") or 0,
        at_ms=item.number("at_ms") or 0,
        id=signal_id,
        name=name,
        text=item.text("text"),
        place=item.text("place"),
        created_ms=item.number("created_ms") or 0,
        taken_by=item.text("taken_by"),
        segment=item.number("segment"),
    )


def free_signals(
    signals: Iterable[Signal], *, created_ms: int, taken: set[str], ended: Container[str], path: str
) -> list[Signal]:
    """Return the signals that a wait may take, the one that it takes first: the oldest.

    ``taken``: those that waits of the segment returned. ``ended``: the paths of waits that are
    over: one that took a signal and then returned something else does not keep it.
    """
    free = (
        one
        for one in signals
        if one.created_ms == created_ms
        and one.segment is None
        and (one.taken_by in {None, path} or one.taken_by in ended)
        and f"{one.name}#{one.id}" not in taken
    )
    return sorted(free)


def put_signal(run_id: str, signal: Signal, keep_until: datetime) -> SideItemUpdate:
    """Return the write of a signal, if its id is new to this run."""
    sets: dict[Path, Stored] = {
        "created_ms": signal.created_ms,
        "number": signal.number,
        "at_ms": signal.at_ms,
    }
    if signal.text is not None:
        sets["text"] = signal.text
    if signal.place is not None:
        sets["place"] = signal.place
    return SideItemUpdate(
        key=signal_key(run_id, signal.name, signal.id),
        expect=(either(NoItem(), Compares("created_ms", "<", signal.created_ms)),),
        sets=sets,
        removes=tuple(
            name for name in ("text", "place", "taken_by", "segment") if name not in sets
        ),
        keep_until=keep_until,
    )


def take_signal(run_id: str, signal: Signal, path: str, keep_until: datetime) -> SideItemUpdate:
    """Return the write by which one branch of several gets a signal, as it was read."""
    return SideItemUpdate(
        key=signal_key(run_id, signal.name, signal.id),
        expect=(
            Compares("created_ms", "=", signal.created_ms),
            either(
                Absent("taken_by"),
                Compares("taken_by", "=", path),
                Compares("taken_by", "=", signal.taken_by or path),
            ),
        ),
        sets={"taken_by": path},
        keep_until=keep_until,
    )


def mark_consumed(
    run_id: str, created_ms: int, name: str, signal_id: str, segment: int, keep_until: datetime
) -> SideItemUpdate:
    """Return the write that keeps a signal from all waits, also those of the next segment."""
    return SideItemUpdate(
        key=signal_key(run_id, name, signal_id),
        expect=(Compares("created_ms", "=", created_ms),),
        sets={"segment": segment},
        keep_until=keep_until,
    )
