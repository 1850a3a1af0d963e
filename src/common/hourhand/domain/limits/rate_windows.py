"""Rates by windows: at most ``count`` starts in any period (sliding), or in each one (fixed).

The state has the line, as every rate, and the real starts: the times of the last ``count`` of them,
or the number of the present window and its starts. Each write names what it was decided by, so that
of two at once one is refused. A job that finds no room reserves a time behind the line, by equal
distances; so no herd comes back at the beginning of a window.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from hourhand.domain.conditions import Absent, Compares, Condition, Path, either
from hourhand.domain.limits.declarations import Rate
from hourhand.domain.limits.rate_writes import (
    GATE,
    LINE,
    RATES_KEPT,
    STARTS,
    WINDOW,
    WINDOW_STARTS,
    Pass,
    RateWrite,
)
from hourhand.domain.limits.rates import EARLY_START, Bounds, LimiterState
from hourhand.domain.side_items import SideItemUpdate, SideKey, Stored
from hourhand.domain.times import from_ms

_SECOND = 1_000_000
_MS = 1_000
_EARLY = EARLY_START // EARLY_START.resolution


@dataclass(frozen=True, slots=True)
class Windows:
    """A rate that counts starts in windows. Times are whole microseconds since 1970."""

    rate: Rate

    @property
    def length_us(self) -> int:
        """How long a window is."""
        return int(self.rate.per * _SECOND)

    def has_line(self, state: LimiterState, bounds: Bounds) -> bool:
        """Whether a job must reserve a start time before it asks for slots."""
        return self._free_at(state, bounds) > bounds.now + _EARLY

    def start_write(
        self, key: SideKey, state: LimiterState, cost_us: int, bounds: Bounds, now: datetime
    ) -> RateWrite:
        """Return the write of a job that reserved nothing: it starts, or reserves a time."""
        if self._free_at(state, bounds) > bounds.now:
            return self.reserve_write(key, state, cost_us, bounds, now)
        return self._count(key, state, Pass.START, bounds, now)

    def gate_write(
        self, key: SideKey, state: LimiterState, cost_us: int, bounds: Bounds, now: datetime
    ) -> RateWrite:
        """Return the write of a job that came back: it starts, or reserves once more."""
        if self._room_at(state, bounds) > bounds.now:
            return self.reserve_write(key, state, cost_us, bounds, now)
        return self._count(key, state, Pass.GATE, bounds, now)

    def reserve_write(
        self, key: SideKey, state: LimiterState, cost_us: int, bounds: Bounds, now: datetime
    ) -> RateWrite:
        """Return the write of a job that reserves a start time: it moves the line alone."""
        at = self._free_at(state, bounds)
        update = SideItemUpdate(
            key=key,
            expect=(_as_read(LINE, state.line),),
            sets={LINE: at + cost_us},
            keep_until=now + RATES_KEPT,
        )
        return RateWrite(Pass.RESERVE, update, from_ms(-(-at // _MS)))

    def _free_at(self, state: LimiterState, bounds: Bounds) -> int:
        """Return when the next job may start that has reserved nothing."""
        return max(state.line or 0, self._room_at(state, bounds))

    def _room_at(self, state: LimiterState, bounds: Bounds) -> int:
        """Return when there is room for a start, by the real starts alone."""
        held = max(bounds.now, state.gate or 0)
        if self.rate.exact:
            if len(state.starts) < self.rate.count:
                return held
            return max(held, state.starts[-self.rate.count] + self.length_us)
        window = max(held // self.length_us, state.window or 0)
        is_full = state.window == window and state.window_starts >= self.rate.count
        return (window + 1) * self.length_us if is_full else held

    def _count(
        self, key: SideKey, state: LimiterState, gives: Pass, bounds: Bounds, now: datetime
    ) -> RateWrite:
        """Return the write that counts a start now."""
        expect: tuple[Condition, ...]
        sets: dict[Path, Stored]
        if self.rate.exact:
            # The clocks of workers differ: no start is noted before the last one.
            at = max((bounds.now, *state.starts[-1:]))
            starts = (*state.starts, at)[-self.rate.count :]
            expect = (_as_read(STARTS, starts_text(state.starts) if state.starts else None),)
            sets = {STARTS: starts_text(starts)}
        else:
            # Nor is it counted in a window before the last one, whose count it would begin anew.
            window = max(bounds.now // self.length_us, state.window or 0)
            number = state.window_starts + 1 if state.window == window else 1
            expect = (
                _as_read(WINDOW, state.window),
                _as_read(WINDOW_STARTS, None if state.window is None else state.window_starts),
            )
            sets = {WINDOW: window, WINDOW_STARTS: number}
        held = (either(Absent(GATE), Compares(GATE, "<=", bounds.now)),)
        update = SideItemUpdate(
            key=key, expect=(*expect, *held), sets=sets, keep_until=now + RATES_KEPT
        )
        return RateWrite(gives, update, now)


def starts_text(starts: tuple[int, ...]) -> str:
    """Return start times as a text: the first in milliseconds, each other by its distance.

    A hundred of them take less than 900 bytes, also where they are a month apart.
    """
    times = [at // _MS for at in starts]
    before = [0, *times[:-1]]
    return ",".join(f"{at - earlier:x}" for at, earlier in zip(times, before, strict=True))


def _as_read(name: str, value: str | int | None) -> Condition:
    return Absent(name) if value is None else Compares(name, "=", value)
