"""The conditional writes of a rate limiter state, each as a value.

The state is two times in microseconds: the line of reserved starts and the gate of real starts.
Each write adds to them or begins them anew, and names how far they may have moved.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from itertools import accumulate

from hourhand.domain.conditions import Absent, Compares, Condition, Path, either
from hourhand.domain.limits.rates import (
    Bounds,
    LimiterState,
    Pace,
    has_line,
    is_idle,
    start_time,
)
from hourhand.domain.side_items import (
    RATE_PREFIX,
    RATE_SORT,
    SideItem,
    SideItemUpdate,
    SideKey,
    Stored,
)
from hourhand.domain.times import to_ms

RATES_KEPT = timedelta(days=90)
"""How long a rate limiter state is kept after its last write, longer than any wait."""

NO_LEAD = timedelta(0)

LINE = "line"
GATE = "gate"
RESET_FROM = "reset_from"
RESET_AT = "reset_at"
STARTS = "starts"
WINDOW = "window"
WINDOW_STARTS = "window_starts"
"""The attributes of a state. The last three are those of `hourhand.domain.limits.rate_windows`."""


class Pass(StrEnum):
    """What a write of a rate limiter state gives a job."""

    START = "start"
    """It moves the line and the gate: the job starts now, or within two seconds."""
    RESERVE = "reserve"
    """It moves the line: the job comes back at the start time that it reserved."""
    GATE = "gate"
    """It moves the gate: the job that came back starts now."""
    QUEUE_AT_GATE = "queue_at_gate"
    """It moves the gate, which is crowded: the job comes back once more, and has paid."""

    @property
    def is_start(self) -> bool:
        """Whether the job starts now, or as good as now."""
        return self in {Pass.START, Pass.GATE}


@dataclass(frozen=True, slots=True)
class RateWrite:
    """A write, and what it gives. ``at``: when the job may start, if that is known before."""

    gives: Pass
    update: SideItemUpdate
    at: datetime | None = None


def rate_key(digest16: str, shard: int) -> SideKey:
    """Return the key of a rate limiter state."""
    return SideKey(f"{RATE_PREFIX}{digest16}.{shard}", RATE_SORT)


def read_state(item: SideItem | None) -> LimiterState:
    """Return the state that an item holds; one that never moved for no item."""
    if item is None:
        return LimiterState()
    return LimiterState(
        line=item.number(LINE),
        gate=item.number(GATE),
        reset_from=item.number(RESET_FROM),
        reset_at=item.number(RESET_AT),
        starts=_read_starts(item.text(STARTS)),
        window=item.number(WINDOW),
        window_starts=item.number(WINDOW_STARTS) or 0,
    )


def start_write(
    key: SideKey, state: LimiterState, cost_us: int, bounds: Bounds, now: datetime
) -> RateWrite:
    """Return the write of a job that reserved nothing and holds its slots: it starts.

    If a line came up meanwhile, it reserves a start time instead.
    """
    if has_line(state, bounds):
        if is_idle(state.line, bounds):
            # Only the gate is crowded.
            return _queue_at_gate(key, cost_us, bounds, now)
        return reserve_write(key, state, cost_us, bounds, now)
    if is_idle(state.line, bounds) and is_idle(state.gate, bounds):
        return RateWrite(Pass.START, _starts_at_now(key, (LINE, GATE), cost_us, bounds, now))
    expect = (_at_most(LINE, bounds.admits), _at_most(GATE, bounds.admits))
    return RateWrite(Pass.START, _moves(key, (LINE, GATE), cost_us, expect, now))


def reserve_write(
    key: SideKey, state: LimiterState, cost_us: int, bounds: Bounds, now: datetime
) -> RateWrite:
    """Return the write of a job that reserves a start time: it moves the line alone."""
    if is_idle(state.line, bounds):
        return RateWrite(Pass.RESERVE, _starts_at_now(key, (LINE,), cost_us, bounds, now))
    expect = (Compares(LINE, ">", bounds.now), Compares(LINE, "<=", bounds.reserves))
    return RateWrite(Pass.RESERVE, _moves(key, (LINE,), cost_us, expect, now))


def gate_write(
    key: SideKey, state: LimiterState, cost_us: int, bounds: Bounds, now: datetime
) -> RateWrite:
    """Return the write of a job that came back at its reserved start time."""
    if is_idle(state.gate, bounds):
        return RateWrite(Pass.GATE, _starts_at_now(key, (GATE,), cost_us, bounds, now))
    if (state.gate or 0) <= bounds.admits:
        expect = (Compares(GATE, "<=", bounds.admits),)
        return RateWrite(Pass.GATE, _moves(key, (GATE,), cost_us, expect, now))
    return _queue_at_gate(key, cost_us, bounds, now)


def hold_write(
    key: SideKey, state: LimiterState, now: datetime, until: datetime
) -> SideItemUpdate | None:
    """Return the write after which no job starts before ``until``; ``None``: none does anyway."""
    held = to_ms(until) * 1_000
    behind = [name for name, at in ((LINE, state.line), (GATE, state.gate)) if (at or 0) < held]
    if not behind:
        return None
    # Both only ever move forward. So each of them refuses this write at most once: when it passed
    # ``held`` since it was read.
    return SideItemUpdate(
        key=key,
        expect=tuple(_at_most(name, held) for name in behind),
        sets=dict.fromkeys(behind, held),
        keep_until=now + RATES_KEPT,
    )


def reset_write(
    key: SideKey, state: LimiterState, now: datetime, pace: Pace, lead: timedelta = NO_LEAD
) -> SideItemUpdate | None:
    """Return the write after which jobs start at the rate from ``now`` on; ``None``: they do.

    It forgets the reservations, and that a cost or `RateLimited` moved the state far ahead. The
    burst counts as used up, so that the starts of a moment ago and those that follow keep the rate.
    ``lead``: how much later the line begins. The state keeps how far the reservations reached, by
    which the jobs are found that have them, and when it was reset: a gate that was passed before
    counts no more.
    """
    gate = to_ms(now) * 1_000 + pace.tolerance_us
    begins = {LINE: gate + lead // timedelta(microseconds=1), GATE: gate}
    ahead = {
        name: begins[name]
        for name, at in ((LINE, state.line), (GATE, state.gate))
        if (at or 0) > begins[name]
    }
    if not ahead:
        return None
    sets: dict[Path, Stored] = dict(ahead.items())
    sets[RESET_FROM] = state.last
    sets[RESET_AT] = to_ms(now) * 1_000
    return SideItemUpdate(
        key=key,
        expect=tuple(Compares(name, ">", begin) for name, begin in ahead.items()),
        sets=sets,
        keep_until=now + RATES_KEPT,
    )


def is_too_far(state: LimiterState, bounds: Bounds) -> bool:
    """Whether no start time can be reserved any more: the line is too long."""
    return (state.line or 0) > bounds.reserves


def time_given(
    write: RateWrite, after: LimiterState, cost_us: int, pace: Pace, bounds: Bounds
) -> datetime:
    """Return when the job may start, from the state after its write."""
    if write.at is not None:
        return write.at
    moved_to = after.line if write.gives is Pass.RESERVE else after.gate
    return start_time(moved_to or bounds.now, cost_us, pace, bounds)


def _queue_at_gate(key: SideKey, cost_us: int, bounds: Bounds, now: datetime) -> RateWrite:
    expect = (Compares(GATE, ">", bounds.now),)
    return RateWrite(Pass.QUEUE_AT_GATE, _moves(key, (GATE,), cost_us, expect, now))


def _starts_at_now(
    key: SideKey, names: Sequence[str], cost_us: int, bounds: Bounds, now: datetime
) -> SideItemUpdate:
    """Return the write by which the line, the gate or both, which are idle, start at now."""
    return SideItemUpdate(
        key=key,
        expect=tuple(_at_most(name, bounds.now) for name in names),
        sets=dict.fromkeys(names, bounds.now + cost_us),
        keep_until=now + RATES_KEPT,
    )


def _moves(
    key: SideKey, names: Sequence[str], cost_us: int, expect: tuple[Condition, ...], now: datetime
) -> SideItemUpdate:
    """Return the write that moves the line, the gate or both on by the cost of a start."""
    return SideItemUpdate(
        key=key, expect=expect, adds=dict.fromkeys(names, cost_us), keep_until=now + RATES_KEPT
    )


def _read_starts(text: str | None) -> tuple[int, ...]:
    distances = [int(part, 16) for part in text.split(",")] if text else []
    return tuple(1_000 * at for at in accumulate(distances))


def _at_most(name: str, microseconds: int) -> Condition:
    return either(Absent(name), Compares(name, "<=", microseconds))
