"""The packed history: small, bounded, and the same when it is read back."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta

import pytest

from hourhand.domain.jobs.history import (
    HISTORY_BUDGET_BYTES,
    MAX_REASON_BYTES,
    REASON_BYTES,
    REQUESTED_BYTES,
    attempts_of,
    compact,
    error_in,
    failure_text,
    history_budget,
    is_over_budget,
    is_requested,
    last_error,
    lost_reason,
    pack_event,
    reason_to_keep,
    reason_told,
    shorten,
    told_events,
    unpack_event,
)
from hourhand.domain.jobs.job import (
    ATTEMPT_ENDS,
    Attempt,
    ErrorInfo,
    EventKind,
    HistoryEvent,
    JobStatus,
    Outcome,
)
from tests.unit.domain.job_samples import NOW, a_job, after, an_event


def claimed(token: int, attempt: int) -> HistoryEvent:
    event = an_event(EventKind.CLAIMED, at=after(token), status=JobStatus.RUNNING, actor="worker-1")
    return replace(event, token=token, attempt=attempt)


def ended(kind: EventKind, token: int, attempt: int, reason: str = "") -> HistoryEvent:
    return an_event(
        kind,
        at=after(token + 0.5),
        status=JobStatus.RETRYING,
        actor="worker-1",
        token=token,
        attempt=attempt,
        reason=reason,
    )


# --- packing ---


@pytest.mark.parametrize("kind", EventKind)
@pytest.mark.parametrize("status", JobStatus)
def test_every_kind_and_state_survives_packing(kind: EventKind, status: JobStatus) -> None:
    event = an_event(kind, status=status, attempt=100, token=12345)
    assert unpack_event(pack_event(event)) == event


def test_an_ordinary_event_takes_few_bytes_and_its_kind_a_letter_of_its_own() -> None:
    assert pack_event(an_event()) == "SPmwqciudc.0.0.api."
    at_epoch = an_event(at=NOW.fromtimestamp(0, NOW.tzinfo))
    assert unpack_event(pack_event(at_epoch)) == at_epoch
    assert {len(kind.value) for kind in EventKind} == {1}
    assert len({kind.value for kind in EventKind}) == len(EventKind)


# --- shortening ---


@pytest.mark.parametrize(
    ("reason", "short"),
    [
        ("x" * REASON_BYTES, "x" * REASON_BYTES),
        ("x" * (REASON_BYTES + 1), "x" * (REASON_BYTES - 3) + "..."),
        ("x" + "🕰" * 20, "x" + "🕰" * 9 + "..."),
        ("bad \ud800 text", "bad ? text"),
    ],
    ids=["fits", "does not fit", "no character is cut in two", "half a surrogate pair"],
)
def test_a_reason_is_kept_whole_or_cut_and_says_so(reason: str, short: str) -> None:
    assert shorten(reason) == short
    assert len(short.encode()) <= REASON_BYTES


# --- callers ---


@pytest.mark.parametrize(
    ("actor", "kind", "expected"),
    [
        ("@abcdefgh", EventKind.SUBMITTED, True),
        ("local", EventKind.CANCELLED, True),
        ("@abcdefgh", EventKind.REFILED, False),
        ("@abcdefgh", EventKind.SEND_FAILED, False),
        ("@abcdefgh", EventKind.ENQUEUED, False),
        ("api", EventKind.CHANGED, False),
        ("tick", EventKind.SUBMITTED, False),
        ("w-0123abcd", EventKind.CLAIMED, False),
    ],
)
def test_a_caller_requested_what_the_api_does_not_do_by_itself(
    actor: str, kind: EventKind, expected: bool
) -> None:
    assert is_requested(an_event(actor=actor, kind=kind)) is expected


def test_the_mark_of_a_submission_is_no_reason() -> None:
    assert reason_told(an_event(kind=EventKind.SUBMITTED, reason="0123abcd")) is None
    assert reason_told(an_event(kind=EventKind.CANCELLED, reason="bulk")) == "bulk"
    assert reason_told(an_event(kind=EventKind.CANCELLED)) is None


def test_what_callers_requested_is_dropped_last() -> None:
    redriven = an_event(kind=EventKind.REDRIVEN, actor="@abcdefgh", attempt=7)
    events = (an_event(), redriven, *(an_event(attempt=n) for n in range(30)), an_event())

    kept, dropped = compact(events, 0)

    assert kept[1] == redriven
    assert dropped == len(events) - len(kept)


def test_what_callers_requested_takes_a_bounded_part() -> None:
    requests = [
        an_event(kind=EventKind.CHANGED, actor="@abcdefgh", attempt=number) for number in range(30)
    ]
    others = [an_event(attempt=number) for number in range(30)]

    kept, _ = compact((an_event(), *requests, *others, an_event()), 0)

    requested = [event for event in kept if event.actor == "@abcdefgh"]
    size = sum(len(pack_event(event)) + 1 for event in requested)
    assert requested == requests[-len(requested) :]
    assert REQUESTED_BYTES / 2 < size <= REQUESTED_BYTES


def test_a_history_of_requests_alone_is_compacted() -> None:
    requests = tuple(
        an_event(kind=EventKind.CHANGED, actor="local", attempt=number) for number in range(60)
    )

    kept, dropped = compact(requests, 0)

    assert kept[0] == requests[0]
    assert kept[-1] == requests[-1]
    assert len(kept) + dropped == 60
    assert not is_over_budget(kept)


# --- compaction ---


def test_the_middle_goes_and_is_counted() -> None:
    events = tuple(an_event(EventKind.AGED, at=after(n), reason="x" * 40) for n in range(20))
    assert is_over_budget(events)
    kept, dropped = compact(events, 5)
    assert not is_over_budget(kept)
    assert kept[0] == events[0]
    assert kept[1:] == events[-len(kept) + 1 :]
    assert dropped == 5 + len(events) - len(kept)


def test_the_first_and_the_last_stay_whatever_their_size() -> None:
    events = tuple(an_event(at=after(n), actor="a" * 200) for n in range(3))
    assert compact(events, 0) == ((events[0], events[2]), 1)
    assert compact(events[:1], 0, budget_bytes=1) == (events[:1], 0)
    assert compact((), 0) == ((), 0)


def test_a_history_of_exactly_its_budget_is_within_it() -> None:
    # In the store a byte more follows each event.
    for_reasons = HISTORY_BUDGET_BYTES - 11 * (len(pack_event(an_event())) + 1)
    filler = "x" * (for_reasons - 10 * 13)
    events = (*(an_event(reason="x" * 13) for _ in range(10)), an_event(reason=filler))
    size = sum(len(pack_event(event)) + 1 for event in events)
    assert size == HISTORY_BUDGET_BYTES
    assert not is_over_budget(events)
    assert compact(events, 0) == (events, 0)
    one_more = (*events[:-1], an_event(reason=filler + "x"))
    assert is_over_budget(one_more)
    assert compact(one_more, 0)[1] == 1


def test_a_budget_counts_the_bytes_of_utf_8() -> None:
    events = tuple(an_event(reason="🕰" * 10) for _ in range(7))
    assert sum(len(pack_event(event)) + 1 for event in events) <= HISTORY_BUDGET_BYTES
    assert is_over_budget(events)


# --- attempts ---


def test_attempts_are_read_from_the_history() -> None:
    events = (
        an_event(),
        claimed(1, 1),
        ended(EventKind.FAILED, 1, 1, "ValueError: no"),
        claimed(2, 2),
        ended(EventKind.SUCCEEDED, 2, 2),
    )
    assert attempts_of(events, {}) == (
        Attempt(
            number=1,
            token=1,
            worker="worker-1",
            started_at=after(1),
            finished_at=after(1.5),
            outcome=Outcome.FAILED,
            error=ErrorInfo(type="ValueError", message="no"),
        ),
        Attempt(
            number=2,
            token=2,
            worker="worker-1",
            started_at=after(2),
            finished_at=after(2.5),
            outcome=Outcome.SUCCEEDED,
        ),
    )


def test_an_attempt_under_way_has_no_outcome() -> None:
    (attempt,) = attempts_of((claimed(1, 1),), {})
    assert (attempt.outcome, attempt.finished_at, attempt.error) == (None, None, None)


ENDS = {
    EventKind.SUCCEEDED: Outcome.SUCCEEDED,
    EventKind.FAILED: Outcome.FAILED,
    EventKind.TIMED_OUT: Outcome.TIMED_OUT,
    EventKind.LOST: Outcome.LOST,
    EventKind.SNOOZED: Outcome.SNOOZED,
    EventKind.HANDED_BACK: Outcome.SNOOZED,
    EventKind.SUSPENDED: Outcome.SUSPENDED,
    EventKind.RESTARTED: Outcome.RESTARTED,
    EventKind.CANCELLED: Outcome.CANCELLED,
}


def test_no_other_event_ends_an_attempt() -> None:
    assert ATTEMPT_ENDS == ENDS


@pytest.mark.parametrize(("kind", "outcome"), ENDS.items())
def test_every_end_of_an_attempt_has_its_outcome(kind: EventKind, outcome: Outcome) -> None:
    (attempt,) = attempts_of((claimed(3, 2), ended(kind, 3, 2, "Oops: it broke")), {})
    assert attempt.outcome is outcome
    fails = outcome in {Outcome.FAILED, Outcome.TIMED_OUT, Outcome.LOST}
    assert attempt.error == (ErrorInfo(type="Oops", message="it broke") if fails else None)


def failure(token: int = 1, at: datetime | None = NOW) -> Attempt:
    """Return what is kept beside the job of an attempt that failed."""
    error = ErrorInfo(type="KeyError", message="x", traceback="...")
    return Attempt(number=token, token=token, worker="worker-0", started_at=at, error=error)


SUBMITTED = an_event(EventKind.SUBMITTED, at=NOW)
BEFORE = NOW - timedelta(seconds=1)
FAILED = ended(EventKind.FAILED, 1, 1, "ValueError: no")
BY_REASON = ErrorInfo(type="ValueError", message="no")


@pytest.mark.parametrize(
    ("end", "kept", "error"),
    [
        (FAILED, {1: failure()}, failure().error),
        (FAILED, {1: failure(at=BEFORE)}, BY_REASON),
        (FAILED, {2: failure(2)}, BY_REASON),
        (
            ended(EventKind.LOST, 1, 1, "Lost: x"),
            {1: failure()},
            ErrorInfo(type="Lost", message="x"),
        ),
        (ended(EventKind.TIMED_OUT, 1, 1, "late"), {}, ErrorInfo(type="late", message="late")),
    ],
    ids=[
        "an error kept beside the job tells more than the reason",
        "an error of a job that had the id before does not stand for this one's",
        "an error of another attempt is not mistaken for this one's",
        "what a worker said after its lease is not why the attempt was lost",
        "a reason without a type is both",
    ],
)
def test_an_attempt_has_its_own_error_and_the_fullest(
    end: HistoryEvent, kept: dict[int, Attempt], error: ErrorInfo
) -> None:
    attempt, *_ = attempts_of((SUBMITTED, claimed(1, 1), end), kept)
    assert (attempt.outcome, attempt.error) == (ENDS[end.kind], error)


def test_a_failure_beside_the_job_stands_for_an_attempt_that_history_dropped() -> None:
    events = (claimed(2, 2), ended(EventKind.FAILED, 2, 2, "ValueError: no"))
    first, second = attempts_of(events, {1: failure()})
    assert first == failure()
    assert (second.number, second.error) == (2, BY_REASON)
    kept = {1: failure(1, at=None), 2: failure(2), 3: failure(3, at=BEFORE)}
    assert attempts_of((SUBMITTED,), kept) == (kept[1], kept[2]), "not of a job before it"


def test_an_attempt_whose_claim_was_dropped_starts_at_an_unknown_time() -> None:
    (attempt,) = attempts_of((ended(EventKind.FAILED, 4, 2, "ValueError: no"),), {})
    assert attempt.started_at is None
    assert (attempt.number, attempt.token, attempt.worker) == (2, 4, "worker-1")


def test_an_attempt_belongs_to_the_worker_that_claimed_it_and_is_none_without_a_claim() -> None:
    lost = ended(EventKind.LOST, 1, 1, lost_reason(NOW))
    (attempt,) = attempts_of((claimed(1, 1), replace(lost, actor="scheduler")), {})
    assert attempt.worker == "worker-1"
    cancelled = an_event(EventKind.CANCELLED, status=JobStatus.CANCELLED)
    expired = an_event(EventKind.EXPIRED, status=JobStatus.EXPIRED, attempt=1, token=1)
    assert attempts_of((an_event(), cancelled, expired), {}) == ()


def test_attempts_of_two_rounds_are_told_apart_by_their_tokens() -> None:
    events = (
        claimed(1, 1),
        ended(EventKind.FAILED, 1, 1, "a: b"),
        an_event(EventKind.REDRIVEN),
        claimed(2, 1),
    )
    assert [(a.number, a.token) for a in attempts_of(events, {})] == [(1, 1), (1, 2)]


def test_the_last_error_is_that_of_the_last_attempt_that_had_one() -> None:
    events = (
        claimed(1, 1),
        ended(EventKind.FAILED, 1, 1, "A: first"),
        claimed(2, 2),
        ended(EventKind.FAILED, 2, 2, "B: second"),
        claimed(3, 3),
    )
    assert last_error(attempts_of(events, {})) == ErrorInfo(type="B", message="second")
    assert last_error(()) is None


# --- lost attempts ---

LOST = "Lost: its worker died or lost contact (lease ended at 2026-11-21T12:00:00.007Z)"


def test_the_reason_of_a_loss_is_kept_whole_in_few_bytes() -> None:
    reason = lost_reason(NOW + timedelta(milliseconds=7))
    assert reason == reason_to_keep(reason) == LOST
    event = an_event(EventKind.LOST, reason=reason)
    assert unpack_event(pack_event(event)) == event
    assert len(pack_event(event)) == len(pack_event(an_event(EventKind.LOST))) + 9
    assert reason_to_keep(lost_reason(None)) == "Lost: its worker died or lost contact..."


@pytest.mark.parametrize(
    "reason",
    [
        "~",
        "~~x",
        "~abc",
        "~" * REASON_BYTES,
        LOST.replace(".007Z", ".07Z")[:REASON_BYTES],
        LOST.replace("2026-11-21", "2026-13-21"),
        LOST.replace("2026-11-21", "1969-11-21"),
    ],
)
def test_no_reason_of_others_is_taken_for_that_of_a_loss(reason: str) -> None:
    event = an_event(reason=reason_to_keep(reason))
    assert event.reason == shorten(reason)
    assert unpack_event(pack_event(event)) == event


def test_how_the_process_of_a_lost_attempt_ended_is_told_where_it_is_known() -> None:
    lost = ended(EventKind.LOST, 1, 1, LOST)
    seen = replace(
        failure(), outcome=Outcome.LOST, error=ErrorInfo(type="Lost", message="exit code 3")
    )
    (attempt,) = attempts_of((claimed(1, 1), lost), {1: seen})
    message = LOST.removeprefix("Lost: ") + ": exit code 3"
    assert attempt.error == ErrorInfo(type="Lost", message=message)
    job = a_job(history=(claimed(1, 1), lost))
    assert told_events(job, {1: seen})[-1].reason == f"Lost: {message}"
    assert told_events(job, {1: failure()})[-1].reason == LOST, "a zombie's error is no reason"


# --- the last failure ---

LONG = "no answer from the mail server, " * 10


def test_of_a_failure_type_and_200_bytes_of_the_message_are_kept() -> None:
    text = failure_text(f"TimeoutError: {LONG}")
    error = error_in(text)
    assert error.type == "TimeoutError"
    assert error.message.endswith("...")
    assert len(error.message.encode()) - 3 >= 200
    assert LONG.startswith(error.message.removesuffix("..."))
    assert failure_text(text) == text
    assert failure_text("E: short") == "E: short"
    assert len(failure_text("T" * 200 + ": " + LONG).encode()) == 60 + 2 + 206
    assert len(failure_text("x" * 300).encode()) == 206


def test_the_newest_failed_attempt_has_all_of_the_last_failure() -> None:
    events = (
        claimed(1, 1),
        ended(EventKind.FAILED, 1, 1, "TimeoutError: first"),
        claimed(2, 2),
        ended(EventKind.TIMED_OUT, 2, 2, shorten(f"TimeoutError: {LONG}")),
        claimed(3, 3),
    )
    last = failure_text(f"TimeoutError: {LONG}")
    first, second, third = attempts_of(events, {}, last)
    assert first.error == ErrorInfo(type="TimeoutError", message="first")
    assert second.error == error_in(last)
    assert third.error is None
    job = a_job(history=events, last_failure=last)
    reasons = [event.reason for event in told_events(job, {})]
    assert reasons == ["", "TimeoutError: first", "", last, ""]


def test_a_history_tells_whole_errors_where_they_are_kept() -> None:
    error = ErrorInfo(type="KeyError", message="k" * 3000)
    kept = {1: replace(failure(), error=error), 2: failure(2)}
    events = (
        SUBMITTED,
        claimed(1, 1),
        ended(EventKind.FAILED, 1, 1, shorten(f"KeyError: {error.message}")),
        claimed(2, 2),
        ended(EventKind.CANCELLED, 2, 2, "the handler stopped"),
    )
    told = [event.reason for event in told_events(a_job(history=events), kept)]
    assert told[2] == shorten(f"KeyError: {error.message}", MAX_REASON_BYTES)
    assert told[4] == "the handler stopped", "another error is not its reason"
    earlier = {1: replace(kept[1], started_at=BEFORE)}
    assert told_events(a_job(history=events), earlier)[2].reason == events[2].reason


@pytest.mark.parametrize(
    ("last_failure", "budget"),
    [(None, 360), ("", 360), ("x" * 70, 360), ("x" * 71, 359), ("é" * 100, 230)],
)
def test_a_long_failure_takes_the_room_of_old_events(last_failure: str | None, budget: int) -> None:
    assert history_budget(last_failure) == budget
    events = tuple(an_event(EventKind.AGED, at=after(n), reason="x" * 20) for n in range(20))
    kept, _ = compact(events, 0, budget_bytes=budget)
    assert not is_over_budget(kept, last_failure)
    assert is_over_budget((*kept, *events[:1]), last_failure)
