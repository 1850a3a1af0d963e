"""Rules of the small pure parts that hold for every input: retry, history, ids, skew, times."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from hourhand.domain.ids import (
    JOB_ID,
    OWN_ID,
    canonical_json,
    idempotency_record_key,
    job_id_for_key,
    length_prefixed,
    message_group,
    random_job_id,
)
from hourhand.domain.jobs.history import (
    HISTORY_BUDGET_BYTES,
    KEEP_FIRST,
    REASON_BYTES,
    attempts_of,
    compact,
    failure_text,
    is_over_budget,
    lost_reason,
    pack_event,
    shorten,
    unpack_event,
)
from hourhand.domain.jobs.job import EventKind, HistoryEvent, JobStatus
from hourhand.domain.jobs.retry import Backoff, Jitter, RetryPolicy
from hourhand.domain.ticks.clock_skew import TimeSample, estimate_skew
from hourhand.domain.times import ceil_seconds, floor_ms, floor_seconds, from_ms, rfc3339, to_ms
from hourhand.memory import FAKE_SECRET

EVERY_CHARACTER = st.text(st.characters(exclude_categories=()))
"""Half surrogate pairs included: JSON lets callers send them."""

INSTANTS = st.datetimes(
    datetime(1970, 1, 1),  # noqa: DTZ001 - the strategy adds the zone
    datetime(2300, 1, 1),  # noqa: DTZ001
    timezones=st.just(UTC),
)
ACTORS = st.text("abcXYZ019-_.%@: ", max_size=20)
FRACTIONS = st.floats(0, 1, exclude_max=True)


# --- retry ---


@st.composite
def policies(draw: st.DrawFn) -> RetryPolicy:
    return RetryPolicy(
        max_attempts=draw(st.integers(1, 100)),
        backoff=draw(st.sampled_from(Backoff)),
        base_seconds=draw(st.floats(0, 86_400)),
        max_delay_seconds=draw(st.floats(0, 366 * 86_400)),
        jitter=draw(st.sampled_from(Jitter)),
    )


@given(policies(), st.integers(1, 99), FRACTIONS)
def test_a_delay_is_never_negative_and_never_beyond_the_cap(
    policy: RetryPolicy, retry: int, fraction: float
) -> None:
    delay = policy.delay(retry, fraction)
    assert timedelta(0) <= delay <= timedelta(seconds=policy.max_delay_seconds + 0.5)


@given(policies(), st.integers(1, 98), FRACTIONS)
def test_a_later_retry_never_waits_less_for_the_same_chance(
    policy: RetryPolicy, retry: int, fraction: float
) -> None:
    assert policy.delay(retry, fraction) <= policy.delay(retry + 1, fraction)


# --- history ---

REASONS = st.one_of(
    EVERY_CHARACTER.map(shorten),
    EVERY_CHARACTER.map(lambda text: shorten(f"~{text}")),
    INSTANTS.map(floor_ms).map(lost_reason),
)


@st.composite
def events(draw: st.DrawFn) -> HistoryEvent:
    return HistoryEvent(
        kind=draw(st.sampled_from(EventKind)),
        at=floor_ms(draw(INSTANTS)),
        status=draw(st.sampled_from(JobStatus)),
        actor=draw(ACTORS),
        attempt=draw(st.integers(0, 100)),
        token=draw(st.integers(0, 10**6)),
        reason=draw(REASONS),
    )


@given(events())
def test_a_packed_event_is_read_back_as_it_was(event: HistoryEvent) -> None:
    assert unpack_event(pack_event(event)) == event


@given(events(), events())
def test_two_events_are_packed_alike_only_if_they_are_equal(
    one: HistoryEvent, other: HistoryEvent
) -> None:
    assert (pack_event(one) == pack_event(other)) is (one == other)


@given(EVERY_CHARACTER, st.integers(4, 60))
def test_a_shortened_text_fits_and_stays_as_it_is(text: str, limit: int) -> None:
    short = shorten(text, limit)
    assert len(short.encode()) <= limit
    assert shorten(short, limit) == short
    if len(text.encode("utf-8", "replace")) > limit:
        assert short.endswith("...")
        assert text.encode("utf-8", "replace").decode().startswith(short[:-3])


@given(EVERY_CHARACTER, EVERY_CHARACTER)
def test_the_text_of_a_failure_is_bounded_and_stays_as_it_is(name: str, message: str) -> None:
    text = failure_text(f"{name}: {message}")
    assert len(text.encode()) <= 60 + 2 + 206
    assert failure_text(text) == text


def test_the_limit_of_a_reason_leaves_room_for_its_dots() -> None:
    assert REASON_BYTES >= 4


@given(st.lists(events(), max_size=25), st.integers(0, 1000))
def test_compaction_keeps_both_ends_and_counts_the_rest(
    history: list[HistoryEvent], dropped: int
) -> None:
    kept, count = compact(history, dropped)
    assert count == dropped + len(history) - len(kept)
    rest = iter(history)
    assert all(any(event is each for each in rest) for event in kept), "in their order"
    assert kept[:KEEP_FIRST] == tuple(history[:KEEP_FIRST])
    assert kept[-1:] == tuple(history[-1:])
    assert len(kept) >= min(2, len(history))
    assert len(kept) <= 2 or not is_over_budget(kept)
    assert compact(kept, count) == (kept, count)
    gone = [event for event in history if not any(event is each for each in kept)]
    if gone:
        largest = max(gone, key=lambda event: len(pack_event(event).encode()))
        assert is_over_budget((*kept, largest))


@given(st.lists(events(), max_size=25), st.integers(0, HISTORY_BUDGET_BYTES))
def test_a_smaller_budget_keeps_no_more(history: list[HistoryEvent], budget: int) -> None:
    kept, _ = compact(history, 0, budget_bytes=budget)
    assert len(kept) <= len(compact(history, 0)[0])


@given(st.lists(events(), max_size=30))
def test_attempts_come_by_rising_token_each_once(history: list[HistoryEvent]) -> None:
    tokens = [attempt.token for attempt in attempts_of(history, {})]
    assert tokens == sorted(set(tokens))


# --- ids ---

PARTS = st.lists(st.one_of(EVERY_CHARACTER, st.text("0123456789:")), max_size=4)


@given(PARTS, PARTS)
def test_different_parts_are_joined_differently(one: list[str], other: list[str]) -> None:
    assert (length_prefixed(*one) == length_prefixed(*other)) is (one == other)


@given(PARTS)
def test_joined_parts_can_be_taken_apart_again(parts: list[str]) -> None:
    rest, found = length_prefixed(*parts), []
    while rest:
        size, _, rest = rest.partition(b":")
        found.append(rest[: int(size)].decode("utf-8", "surrogatepass"))
        rest = rest[int(size) :]
    assert found == parts


TENANTS = st.none() | st.sampled_from(["", "a", "0", "1:a"]) | EVERY_CHARACTER


@given(TENANTS, EVERY_CHARACTER, TENANTS, EVERY_CHARACTER)
def test_no_two_tenants_and_keys_share_a_job_or_a_record(
    tenant: str | None, key: str, other_tenant: str | None, other_key: str
) -> None:
    is_same = (tenant, key) == (other_tenant, other_key)
    one, other = (
        job_id_for_key(FAKE_SECRET, tenant, key),
        job_id_for_key(FAKE_SECRET, other_tenant, other_key),
    )
    assert (one == other) is is_same
    records = {idempotency_record_key(tenant, key), idempotency_record_key(other_tenant, other_key)}
    assert (len(records) == 1) is is_same
    assert JOB_ID.fullmatch(one)
    assert not OWN_ID.fullmatch(one)


@given(TENANTS, TENANTS)
def test_no_two_tenants_share_a_message_group(one: str | None, other: str | None) -> None:
    groups = message_group(one), message_group(other)
    assert (groups[0] == groups[1]) is (one == other)
    assert [group is None for group in groups] == [one is None, other is None]
    assert all(1 <= len(group) <= 128 and group.isascii() for group in groups if group is not None)


@given(INSTANTS, INSTANTS, st.integers(0, 2**64), st.integers(0, 2**64))
def test_random_ids_sort_by_time(
    one: datetime, other: datetime, one_bits: int, other_bits: int
) -> None:
    ids = random_job_id(one, one_bits), random_job_id(other, other_bits)
    assert all(OWN_ID.fullmatch(job_id) for job_id in ids)
    if to_ms(one) != to_ms(other):
        assert (ids[0] < ids[1]) is (one < other)


JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | EVERY_CHARACTER,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(EVERY_CHARACTER, inner, max_size=3),
    max_leaves=8,
)


@given(JSON)
def test_what_came_as_json_has_one_text_that_can_be_stored(value: Any) -> None:
    # By way of text, as it reaches us: JSON joins two halves of a surrogate pair.
    received = json.loads(json.dumps(value))
    text = canonical_json(received)
    assert json.loads(text.encode()) == received
    assert canonical_json(json.loads(text)) == text


# --- skew ---

SECONDS = st.floats(-100, 100).map(lambda s: timedelta(seconds=s))
SHORT = st.floats(0, 5).map(lambda s: timedelta(seconds=s))


@given(SECONDS, st.lists(st.tuples(SHORT, SHORT, SHORT, SHORT), min_size=1, max_size=8), INSTANTS)
def test_an_honest_estimate_holds_the_truth_and_its_correction_never_overshoots(
    skew: timedelta,
    calls: list[tuple[timedelta, timedelta, timedelta, timedelta]],
    start: datetime,
) -> None:
    samples = []
    for before, after, early, late in calls:
        stamped = start + before + skew
        samples.append(
            TimeSample(
                sent_at=start,
                received_at=start + before + after,
                server_earliest=stamped - early,
                server_latest=stamped + late,
            )
        )
    estimate = estimate_skew(samples)
    assert estimate is not None
    assert estimate.low <= skew <= estimate.high
    assert estimate.uncertainty >= timedelta(0)
    assert abs(estimate.correction) <= abs(skew)
    assert estimate.correction == timedelta(0) or (estimate.correction < timedelta(0)) is (
        skew < timedelta(0)
    )
    # More samples know more.
    first = estimate_skew(samples[:1])
    assert first is not None
    assert first.low <= estimate.low <= estimate.high <= first.high


@given(st.lists(st.tuples(SECONDS, SECONDS, SECONDS, SECONDS), max_size=6), INSTANTS)
def test_whatever_the_samples_say_the_estimate_is_an_interval(
    offsets: list[tuple[timedelta, timedelta, timedelta, timedelta]], start: datetime
) -> None:
    samples = [TimeSample(*(start + offset for offset in four)) for four in offsets]
    estimate = estimate_skew(samples)
    assert estimate is None or estimate.low <= estimate.high


# --- times ---


@given(INSTANTS)
def test_milliseconds_go_there_and_back(instant: datetime) -> None:
    floored = floor_ms(instant)
    assert from_ms(to_ms(instant)) == floored
    assert timedelta(0) <= instant - floored < timedelta(milliseconds=1)
    assert datetime.fromisoformat(rfc3339(floored)) == floored


@given(st.timedeltas(timedelta(0), timedelta(days=400)))
def test_rounding_to_seconds_is_off_by_less_than_one(duration: timedelta) -> None:
    up, down = ceil_seconds(duration), floor_seconds(duration)
    assert timedelta(seconds=down) <= duration <= timedelta(seconds=up)
    assert up - down <= 1
