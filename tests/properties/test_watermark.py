"""The watermark under chance: no entry is ever left where nobody looks.

A world is drawn: ticks that are late, lost, doubled or cut short, led by clocks that are off, and
entries that are written as late and shown as late as the protocol allows. Then it is played.
"""

from __future__ import annotations

import random
from collections import defaultdict
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hourhand.domain.ticks import watermark
from hourhand.domain.ticks.buckets import BUCKET_LENGTH, bucket_end, bucket_of, bucket_start
from hourhand.domain.ticks.resweep import ResweepRequest, take_up
from hourhand.domain.ticks.timings import Timings
from hourhand.domain.ticks.watermark import (
    MAX_BACKLOG_PER_SWEEP,
    RECENT_BUCKETS,
    OpenBucket,
    Watermark,
    advance,
    plan_sweep,
    reread_interval,
    watermark_lag,
)
from hourhand.domain.times import floor_ms
from tests.examples import examples

START = datetime(2026, 11, 21, 12, 0, tzinfo=UTC)
FIRST_BUCKET = bucket_of(START)
TIMINGS = Timings(first_look_back=timedelta(minutes=15))
SKEW = TIMINGS.skew_widens
FOREVER = timedelta(days=365)
MILLISECOND = timedelta(milliseconds=1)
BUCKETS = 45
LOW = FIRST_BUCKET - 15
"""Where the watermark stands when a world begins."""


def latest_write(bucket: int) -> datetime:
    """The true time before which an entry is written: its writer has a slow clock and stalls."""
    return bucket_end(bucket) + SKEW + TIMINGS.stall_bound


@dataclass(frozen=True)
class IndexedEntry:
    """An entry in true time: written, shown, removed, and no longer shown."""

    bucket: int
    written_at: datetime
    shown_at: datetime
    removed_at: datetime
    hidden_at: datetime


@dataclass(frozen=True)
class Tick:
    """A tick in true time; ``skew`` is how far its leader's clock is ahead.

    ``unread``: every n-th bucket is not read to its end, or none; ``reads``: how many of the
    plan it comes to at all. ``is_stored`` is false for a leader that lost its lease.
    """

    starts_at: datetime
    takes: timedelta
    skew: timedelta
    reads: int
    unread: int
    is_stored: bool


def milliseconds(low: int, high: int) -> st.SearchStrategy[timedelta]:
    """A duration, the ends of its range more often than by mere chance."""
    inner = st.integers(low, high)
    return st.one_of(st.just(low), st.just(high), inner).map(lambda n: timedelta(milliseconds=n))


def _between(chance: random.Random, low: timedelta, high: timedelta) -> timedelta:
    """A duration in whole milliseconds; each end of the range as likely as all between."""
    inner = low + timedelta(milliseconds=chance.randint(0, (high - low) // MILLISECOND))
    return chance.choice([low, high, inner])


def _entry(chance: random.Random, bucket: int) -> IndexedEntry:
    """An entry that is written, shown and hidden no later than the protocol allows."""
    minutes = timedelta(minutes=chance.choice([0, 1, 20]))
    written_at = latest_write(bucket) - _between(chance, MILLISECOND, minutes + MILLISECOND)
    stays = _between(chance, timedelta(0), timedelta(minutes=chance.choice([0, 1, 20])))
    removed_at = written_at + (FOREVER if chance.random() < 0.1 else stays)
    shown_at = written_at + _between(chance, timedelta(0), TIMINGS.index_lag)
    hidden_at = removed_at + _between(chance, timedelta(0), TIMINGS.index_lag)
    return IndexedEntry(bucket, written_at, shown_at, removed_at, hidden_at)


def _entries(chance: random.Random) -> list[IndexedEntry]:
    return [
        _entry(chance, FIRST_BUCKET + minute)
        for minute in range(-10, BUCKETS)
        for _ in range(chance.choice([0, 0, 1, 2]))
    ]


def _ticks(chance: random.Random) -> list[Tick]:
    """Ticks on time, too early and too late; most of them read all and store what they saw."""
    ticks, now = [], START
    while now < START + BUCKETS * BUCKET_LENGTH:
        low, high = chance.choice([(40, 80), (40, 80), (1, 20), (100, 400)])
        now += _between(chance, timedelta(seconds=low), timedelta(seconds=high))
        is_whole = chance.random() < 0.8
        tick = Tick(
            starts_at=now,
            takes=_between(chance, timedelta(0), timedelta(seconds=chance.choice([3, 30]))),
            skew=_between(chance, -SKEW, SKEW),
            reads=10_000 if is_whole else chance.randint(0, 40),
            unread=0 if is_whole else chance.choice([0, 2, 7]),
            is_stored=chance.random() < 0.9,
        )
        ticks.append(tick)
    return ticks


@dataclass
class Look:
    """One complete read of a bucket in a sweep whose result was stored."""

    began: datetime
    ended: datetime
    showed_any: bool


@dataclass
class World:
    """Plays ticks over entries and keeps an account of every look.

    ``believed`` are the durations that the scheduler reckons with.
    """

    entries: dict[int, list[IndexedEntry]]
    believed: Timings = TIMINGS
    state: Watermark = field(default_factory=lambda: Watermark(low=LOW))
    looks: dict[int, list[Look]] = field(default_factory=lambda: defaultdict(list))
    take_up = staticmethod(take_up)

    def play(self, tick: Tick) -> None:
        now = floor_ms(tick.starts_at + tick.skew)
        read_until = floor_ms(tick.starts_at + tick.takes + tick.skew)
        plan = plan_sweep(self.state, now, now + TIMINGS.look_ahead, self.believed)
        assert len(set(plan.buckets)) == len(plan.buckets)
        seen = {}
        for index, bucket in enumerate(plan.buckets[: tick.reads]):
            if not tick.unread or index % tick.unread:
                at = tick.starts_at + tick.takes * (index + 1) / len(plan.buckets)
                seen[bucket] = self._shows_any(bucket, at)
        after = advance(
            self.state, plan, seen, now=now, read_until=read_until, timings=self.believed
        )
        if not tick.is_stored:
            return
        for bucket, showed_any in seen.items():
            self.looks[bucket].append(Look(now, read_until, showed_any))
        self._check(after, tick.starts_at + tick.takes)
        self.state = after

    def resweep(self, request: ResweepRequest) -> None:
        """Take a resweep up; looks of before it close nothing any more."""
        self.state = self.take_up(self.state, request)
        self.looks.clear()

    def _shows_any(self, bucket: int, at: datetime) -> bool:
        return any(e.shown_at <= at < e.hidden_at for e in self.entries[bucket])

    def _check(self, after: Watermark, now: datetime) -> None:
        assert after.low >= self.state.low
        assert len(after.open) <= watermark.MAX_OPEN_BUCKETS
        for bucket, entries in self.entries.items():
            if bucket >= after.low or bucket in after.open:
                continue
            for entry in entries:
                assert entry.removed_at <= now, "an entry is, or will be, where nobody looks"
        closed = {*range(self.state.low, after.low), *self.state.open} - set(after.open)
        for bucket in closed:
            if bucket < after.low:
                self._check_closed_rightly(bucket)

    def _check_closed_rightly(self, bucket: int) -> None:
        """The last looks of it were empty, far enough apart, and none came too early."""
        empty: list[Look] = []
        for look in reversed(self.looks[bucket]):
            if look.showed_any:
                break
            empty.append(look)
        trail_over = bucket_end(bucket) + self.believed.trail
        in_time = [look for look in empty if look.began >= trail_over]
        assert in_time
        last, first = max(look.began for look in in_time), min(look.ended for look in in_time)
        assert last - first >= self.believed.confirm_gap


def _world(entries: list[IndexedEntry], believed: Timings = TIMINGS) -> World:
    filed: dict[int, list[IndexedEntry]] = defaultdict(list)
    for entry in entries:
        filed[entry.bucket].append(entry)
    return World(filed, believed)


def _latest(bucket: int) -> IndexedEntry:
    """Written and shown as late as can be, and there for good."""
    written_at = latest_write(bucket) - MILLISECOND
    shown_at = written_at + TIMINGS.index_lag
    return IndexedEntry(bucket, written_at, shown_at, written_at + FOREVER, written_at + FOREVER)


def _regular(count: int, *, takes: float = 3, skew: timedelta = SKEW) -> list[Tick]:
    """Ticks by the minute, each of which reads all that it planned."""
    return [
        Tick(START + n * TIMINGS.tick, timedelta(seconds=takes), skew, 10_000, 0, is_stored=True)
        for n in range(count)
    ]


@examples(300)
@given(st.randoms(use_true_random=True), st.sampled_from([0, 1, 3, 2000]))
def test_no_entry_is_ever_below_the_watermark_and_outside_the_open_set(
    chance: random.Random, max_open: int
) -> None:
    world = _world(_entries(chance))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(watermark, "MAX_OPEN_BUCKETS", max_open)
        for tick in _ticks(chance):
            world.play(tick)


def test_a_scheduler_that_thinks_the_index_quicker_than_it_is_loses_entries() -> None:
    hasty = replace(TIMINGS, trail=timedelta(seconds=30), index_lag=timedelta(0))
    with pytest.raises(AssertionError, match="where nobody looks"):
        _play_many(range(500), hasty)


def _play_many(seeds: range, believed: Timings) -> None:
    for chance in map(random.Random, seeds):
        world = _world(_entries(chance), believed)
        for tick in _ticks(chance):
            world.play(tick)


@pytest.mark.parametrize("max_open", [3, 2000])
def test_entries_as_late_as_can_be_are_not_missed(
    max_open: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(watermark, "MAX_OPEN_BUCKETS", max_open)
    for offset in range(0, 60, 5):
        world = _world([_latest(FIRST_BUCKET + n) for n in range(20)])
        for tick in _regular(30):
            starts_at = tick.starts_at + timedelta(seconds=offset)
            world.play(replace(tick, starts_at=starts_at))


def _restored_entries(
    chance: random.Random, since: datetime, asked_at: datetime
) -> list[IndexedEntry]:
    """Entries that a restore brought back: long overdue, shown late, some of them gone soon."""
    first = bucket_of(since)
    found = []
    for _ in range(chance.randint(1, 12)):
        shown_at = asked_at + _between(chance, -timedelta(minutes=5), TIMINGS.index_lag - SKEW)
        stays = _between(chance, timedelta(0), timedelta(minutes=chance.choice([0, 1, 20])))
        removed_at = shown_at + (FOREVER if chance.random() < 0.3 else stays)
        hidden_at = removed_at + _between(chance, timedelta(0), TIMINGS.index_lag)
        bucket = chance.randint(first, LOW)
        found.append(IndexedEntry(bucket, asked_at, shown_at, removed_at, hidden_at))
    return found


@examples(150, report_multiple_bugs=False)
@given(st.randoms(use_true_random=True), st.sampled_from([0, 1, 3, 2000]))
def test_a_resweep_leaves_no_restored_entry_where_nobody_looks(
    chance: random.Random, max_open: int
) -> None:
    """Whatever was closed before: from its time on the rule holds for what is there now."""
    ticks = _ticks(chance)
    number = chance.randrange(len(ticks))
    asked_at = ticks[number].starts_at
    since = START - timedelta(minutes=chance.choice([0, 10, 16, 90, 600]))
    world = _world(_entries(chance))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(watermark, "MAX_OPEN_BUCKETS", max_open)
        patch.setattr(watermark, "MAX_BACKLOG_PER_SWEEP", chance.choice([7, 50, 20_000]))
        for tick in ticks[:number]:
            world.play(tick)
        world.resweep(ResweepRequest("r", since, asked_at))
        if bucket_of(since) < LOW:
            for entry in _restored_entries(chance, since, asked_at):
                world.entries[entry.bucket].append(entry)
        for tick in ticks[number:]:
            world.play(tick)


def test_a_resweep_that_trusted_older_looks_would_lose_entries(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The property above would see it: a candidate of before the request is kept."""
    lowers = take_up

    def keeps(state: Watermark, request: ResweepRequest) -> Watermark:
        lowered = lowers(state, request)
        return replace(lowered, candidate=state.candidate, candidate_at=state.candidate_at)

    monkeypatch.setattr(World, "take_up", staticmethod(keeps))
    with pytest.raises(AssertionError):
        test_a_resweep_leaves_no_restored_entry_where_nobody_looks()


@examples(60)
@given(
    st.lists(milliseconds(-10_000, 10_000), min_size=20, max_size=20),
    st.lists(milliseconds(0, 2_000), min_size=20, max_size=20),
)
def test_over_empty_buckets_the_watermark_keeps_up(
    delays: list[timedelta], durations: list[timedelta]
) -> None:
    world = _world([])
    for n, (delay, takes) in enumerate(zip(delays, durations, strict=True)):
        # Early and late in turn would make ticks that are not a minute apart, but not regular.
        starts_at = START + n * TIMINGS.tick + delay / 10
        world.play(Tick(starts_at, takes, timedelta(0), 10_000, 0, is_stored=True))
        if n >= 2:
            lag = watermark_lag(world.state, starts_at)
            assert lag <= TIMINGS.trail + 3 * TIMINGS.tick


@examples(25)
@given(st.randoms(use_true_random=True))
def test_once_all_jobs_are_done_every_bucket_is_closed(chance: random.Random) -> None:
    world = _world([e for e in _entries(chance) if e.removed_at < e.written_at + FOREVER])
    for tick in _ticks(chance):
        world.play(tick)
    # By then the last entry is gone, and the oldest bucket is re-read every half an hour.
    quiet = START + (BUCKETS + 30) * BUCKET_LENGTH
    for n in range(100):
        starts_at = quiet + n * TIMINGS.tick
        world.play(Tick(starts_at, timedelta(0), timedelta(0), 10_000, 0, is_stored=True))
    assert world.state.open == {}
    assert watermark_lag(world.state, starts_at) <= TIMINGS.trail + 3 * TIMINGS.tick


def test_an_outage_of_a_week_is_made_good_in_three_ticks() -> None:
    stuck = [_latest(FIRST_BUCKET + n) for n in range(0, 10_080, 100)]
    world = _world(stuck)
    back = START + timedelta(days=7)
    for n in range(3):
        starts_at = back + n * TIMINGS.tick
        tick = Tick(starts_at, timedelta(seconds=10), SKEW, 100_000, 0, is_stored=True)
        world.play(tick)
    assert watermark_lag(world.state, starts_at) <= TIMINGS.trail + 3 * TIMINGS.tick
    assert set(world.state.open) == {entry.bucket for entry in stuck}


@st.composite
def watermarks(draw: st.DrawFn) -> Watermark:
    behind = draw(st.one_of(st.integers(-5, 40), st.integers(0, 40_000)))
    opened = draw(
        st.dictionaries(
            st.integers(FIRST_BUCKET - 3000, FIRST_BUCKET),
            milliseconds(0, 3 * 3_600_000).map(lambda ago: OpenBucket(START - ago)),
            max_size=40,
        )
    )
    deep_next = draw(st.one_of(st.none(), st.integers(FIRST_BUCKET - 2000, FIRST_BUCKET + 100)))
    return Watermark(low=FIRST_BUCKET - behind, open=opened, deep_next=deep_next)


@examples(200)
@given(watermarks(), milliseconds(0, 59_999), milliseconds(0, 400_000))
def test_a_plan_reads_everything_that_may_hold_something_and_nothing_twice(
    state: Watermark, into: timedelta, ahead: timedelta
) -> None:
    now = START + into
    current = bucket_of(now)
    plan = plan_sweep(state, now, now + ahead, TIMINGS)
    read = set(plan.buckets)
    assert len(read) == len(plan.buckets)
    assert read >= set(range(current, bucket_of(now + ahead) + 1))
    assert read >= set(range(max(state.low, current - RECENT_BUCKETS), current))
    backlog_end = min(current, state.low + MAX_BACKLOG_PER_SWEEP)
    assert read >= set(range(state.low, backlog_end))
    for bucket, was in state.open.items():
        age = now - bucket_end(bucket)
        assert bucket in read or now - was.read_at < reread_interval(age)
    assert all(bucket_start(b) > now - TIMINGS.deep_reread - BUCKET_LENGTH for b in plan.deep)
    assert len(plan.deep) <= watermark.DEEP_BUCKETS_PER_TICK
