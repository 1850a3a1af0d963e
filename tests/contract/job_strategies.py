"""Jobs with any value in any field, for the rule that every store gives back what it was given."""

from __future__ import annotations

import string
from datetime import datetime, timedelta
from functools import partial

from hypothesis import strategies as st

from hourhand.domain.conditions import (
    Absent,
    Compares,
    Condition,
    Fewer,
    OneOf,
    Sign,
    SizeIs,
    either,
    equals,
)
from hourhand.domain.groups.overlap import Overlap, OverlapPolicy
from hourhand.domain.jobs.history import failure_text, lost_reason, shorten
from hourhand.domain.jobs.job import (
    Content,
    EventKind,
    HistoryEvent,
    Job,
    JobStatus,
    Lease,
    OnLost,
    Priority,
    Progress,
)
from hourhand.domain.jobs.parents import CHUNK, MAX_LEVELS, ParentLink, midnight_after
from hourhand.domain.jobs.retry import Backoff, Jitter, RetryPolicy
from hourhand.domain.jobs.waiting import ChosenLimit, Reservation, ReservedStart, WaitKind, WaitsFor
from hourhand.domain.limits.declarations import SHARED_NAME
from hourhand.domain.times import from_ms, to_ms
from hourhand.memory import START
from tests.world.factories import make_content

_BASE_MS = to_ms(START)
_ID_LETTERS = string.ascii_letters + string.digits + "-_"

words = st.text(min_size=1, max_size=20)
texts = st.text(max_size=60)
counts = st.integers(0, 2**31)
# Few enough that two drawn times are often equal: boundaries are where stores differ.
times = st.one_of(
    st.integers(-3, 3).map(lambda step: from_ms(_BASE_MS + step)),
    st.integers(0, 7_000_000_000_000).map(from_ms),
)
seconds = st.floats(0.001, 1e6).map(lambda value: round(value, 3))
amounts = st.one_of(st.integers(0, 10**12).map(float), seconds)


def maybe(strategy: st.SearchStrategy[object]) -> st.SearchStrategy[object]:
    """Draw ``None`` or a value."""
    return st.one_of(st.none(), strategy)


contents = st.one_of(
    # The size of a text is the text's own; no store keeps it twice.
    texts.map(make_content),
    st.builds(Content, size_bytes=counts, item=words),
    st.builds(Content, size_bytes=counts, key=words),
)

events = st.builds(
    HistoryEvent,
    kind=st.sampled_from(EventKind),
    at=times,
    status=st.sampled_from(JobStatus),
    actor=words,
    attempt=st.integers(0, 100),
    token=counts,
    reason=st.one_of(
        texts.map(shorten), texts.map(lambda text: shorten(f"~{text}")), times.map(lost_reason)
    ),
)

failures = st.one_of(texts, st.text(max_size=300)).map(failure_text)

policies = st.builds(
    RetryPolicy,
    max_attempts=st.integers(1, 100),
    backoff=st.sampled_from(Backoff),
    base_seconds=seconds,
    max_delay_seconds=seconds,
    jitter=st.sampled_from(Jitter),
)


overlaps = st.builds(
    Overlap,
    group=words,
    policy=st.sampled_from(OverlapPolicy),
    max_running=st.integers(1, 100),
    buffer_limit=st.integers(1, 1000),
    newest_first=st.booleans(),
)

digests = st.text("abcdefghijklmnopqrstuvwxyz234567", min_size=26, max_size=26)

chosen_limits = st.builds(
    ChosenLimit, st.from_regex(SHARED_NAME, fullmatch=True), maybe(words | st.just("a=b"))
)

waits = st.one_of(
    st.builds(
        WaitsFor,
        st.just(WaitKind.SLOT),
        limit=st.text("abcdefgh0123456789", min_size=1, max_size=8),
        shard=st.integers(0, 49),
        rank=st.integers(0, 10**13 - 1),
    ),
    st.builds(
        WaitsFor,
        st.sampled_from([kind for kind in WaitKind if kind is not WaitKind.SLOT]),
        name=st.text("abcAB0189_-./:", max_size=64),
    ),
)


parents = st.builds(
    ParentLink,
    run_id=st.text(_ID_LETTERS + ".", min_size=1, max_size=40),
    segment=st.integers(0, 10**6),
    join_key=st.text(_ID_LETTERS, min_size=1, max_size=16),
    index=st.integers(0, 10**5),
    chunk=st.integers(1, CHUNK),
    is_abandoned=st.booleans(),
    reads_results=st.booleans(),
    level=st.integers(1, MAX_LEVELS),
    kept_until=times.map(midnight_after),
)


@st.composite
def jobs(draw: st.DrawFn) -> Job:
    """Draw a job. Its fields need not make sense together, but for its place in the index."""
    status = draw(st.sampled_from(JobStatus))
    is_filed = draw(st.booleans()) or not status.is_final
    return draw(
        st.builds(
            Job,
            id=st.text(_ID_LETTERS, min_size=1, max_size=60),
            handler=words,
            status=st.just(status),
            run_at=times,
            created_at=times,
            payload=contents,
            due_at=times if is_filed else st.none(),
            shard=st.integers(0, 1023) if is_filed else st.none(),
            priority=st.sampled_from(Priority),
            queue=st.sampled_from(Priority),
            pool=words,
            generation=counts,
            round=counts,
            attempt=st.integers(0, 101),
            token=counts,
            lease=maybe(st.builds(Lease, owner=words, until=times, claim_id=words)),
            enqueued_at=maybe(times),
            started_at=maybe(times),
            finished_at=maybe(times),
            lateness_ms=maybe(st.integers(-(2**40), 2**40)),
            cancel_requested_at=maybe(times),
            discarded_at=maybe(times),
            discard_note=maybe(words),
            timeout_seconds=st.integers(1, 840),
            retention_seconds=counts,
            expires_at=maybe(times),
            on_lost=st.sampled_from(OnLost),
            retry=policies,
            idempotency_key=maybe(words),
            body_hash=maybe(words),
            tenant=maybe(words),
            tags=st.dictionaries(words, texts, max_size=4),
            result=maybe(contents),
            cursor=maybe(words),
            progress=maybe(
                st.builds(Progress, done=amounts, total=maybe(amounts), message=maybe(texts))
            ),
            last_failure=maybe(failures),
            history=st.lists(events, max_size=6).map(tuple),
            history_dropped=counts,
            schedule_id=maybe(words),
            schedule_revision=maybe(counts),
            schedule_incarnation=counts,
            occurrence=maybe(times),
            previous_occurrence=maybe(times),
            interval_start=maybe(times),
            overlap=maybe(overlaps),
            limits=maybe(st.lists(chosen_limits, min_size=1, max_size=3).map(tuple)),
            limit_keys=maybe(st.binary(min_size=1, max_size=32)),
            slot_shards=maybe(st.binary(min_size=2, max_size=6)),
            unique_key=maybe(st.tuples(digests, st.integers(1, 10**6))),
            debounces=maybe(counts),
            superseded_at=maybe(times),
            pauses_schedule=st.booleans(),
            trace_id=maybe(words),
            waits_for=maybe(waits),
            reservation=maybe(st.builds(Reservation, times, st.frozensets(st.integers(0, 2)))),
            run_deadline=maybe(times),
            journal_ends=maybe(times),
            segment=st.integers(0, 10**6),
            reset=maybe(st.text("abc0", min_size=1, max_size=12)),
            compensated_round=maybe(st.integers(1, 99)),
            wake_flag=maybe(st.just(True)),
            signals=st.integers(0, 10**6),
            reserved_starts=st.lists(
                st.builds(ReservedStart, words.filter(lambda w: "." not in w), times, st.booleans())
            ).map(tuple),
            parent=maybe(parents),
            payload_kept_until=maybe(times),
            keep_until=maybe(times),
        )
    )


_COMPARED_TIMES = (
    *("due_at", "enqueued_at", "lease.until", "cancel_requested_at", "expires_at"),
    "payload_kept_until",
)
_COMPARED_NUMBERS = ("generation", "token")


def conditions(job: Job) -> st.SearchStrategy[Condition]:
    """Draw a clause of a kind that moves are made of, with a value close to that of ``job``."""
    single = st.one_of(
        st.frozensets(st.sampled_from(JobStatus), min_size=1).map(partial(OneOf, "status")),
        st.sampled_from(_COMPARED_TIMES).flatmap(lambda name: _time_clauses(name, job)),
        st.sampled_from(_COMPARED_NUMBERS).flatmap(lambda name: _number_clauses(name, job)),
        st.sampled_from(OnLost).map(lambda value: equals("on_lost", value)),
        st.just(Fewer("attempt", than="retry.max_attempts")),
        st.builds(
            _history_is,
            st.sampled_from([len(job.history), len(job.history) + 1]),
            st.sampled_from([job.history_dropped, job.history_dropped + 1]),
        ),
    )
    return st.one_of(single, st.lists(single, min_size=1, max_size=3).map(_any_of))


def _any_of(parts: list[Condition]) -> Condition:
    return either(*parts)


def _history_is(length: int, dropped: int) -> Condition:
    return either((SizeIs("history", "=", length), equals("history_dropped", dropped)))


def _time_clauses(name: str, job: Job) -> st.SearchStrategy[Condition]:
    actual: datetime = job.at(name) or START
    steps = st.sampled_from([-1, 0, 1]).map(lambda step: actual + step * timedelta(milliseconds=1))
    signs: list[Sign] = ["=", "<", "<=", ">"]
    return st.one_of(
        st.just(Absent(name)),
        st.just(equals(name, None)),
        st.builds(partial(Compares, name), st.sampled_from(signs), steps),
    )


def _number_clauses(name: str, job: Job) -> st.SearchStrategy[Condition]:
    actual: int = getattr(job, name)
    return st.sampled_from([actual - 1, actual, actual + 1]).map(lambda value: equals(name, value))
