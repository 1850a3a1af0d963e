"""The packed history: small, bounded, and the same when it is read back."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from hourhand.domain.jobs.history import (
    HISTORY_BUDGET_BYTES,
    REASON_BYTES,
    attempts_of,
    compact,
    is_over_budget,
    last_error,
    lost_reason,
    pack_event,
    shorten,
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
from tests.unit.domain.job_samples import NOW, after, an_event

REASONS = [
    "",
    "plain",
    "with.dots.and: colons",
    "ends.",
    ".",
    "line\nbreaks\r\n",
    "\0 and \x7f",
    "ünïcödé 🕰️",
    "%2E and %25",
]


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


@pytest.mark.parametrize("reason", REASONS)
@pytest.mark.parametrize("actor", ["api", "worker-1_x", "", "jane.doe@example.com", "100%", "%2E"])
def test_reasons_and_actors_of_any_kind_survive_packing(reason: str, actor: str) -> None:
    event = an_event(reason=reason, actor=actor)
    assert unpack_event(pack_event(event)) == event


def test_the_letters_of_kinds_are_unique() -> None:
    assert all(len(kind.value) == 1 for kind in EventKind)
    assert len({kind.value for kind in EventKind}) == len(EventKind)


def test_an_ordinary_event_takes_few_bytes() -> None:
    assert pack_event(an_event()) == "SPmwqciudc.0.0.api."


def test_the_epoch_itself_can_be_packed() -> None:
    event = an_event(at=NOW - (NOW - NOW.fromtimestamp(0, NOW.tzinfo)))
    assert unpack_event(pack_event(event)) == event


# --- shortening ---


def test_what_fits_is_kept_whole() -> None:
    assert shorten("x" * REASON_BYTES) == "x" * REASON_BYTES


def test_what_does_not_fit_is_cut_and_says_so() -> None:
    assert shorten("x" * (REASON_BYTES + 1)) == "x" * (REASON_BYTES - 3) + "..."


def test_no_character_is_cut_in_two() -> None:
    short = shorten("x" + "🕰" * 20)
    assert len(short.encode()) <= REASON_BYTES
    assert short == "x" + "🕰" * 9 + "..."


def test_half_a_surrogate_pair_becomes_a_question_mark() -> None:
    assert shorten("bad \ud800 text") == "bad ? text"


# --- compaction ---


def test_a_history_within_its_budget_is_left_alone() -> None:
    events = (an_event(), claimed(1, 1))
    assert not is_over_budget(events)
    assert compact(events, 7) == (events, 7)


def test_the_middle_goes_and_is_counted() -> None:
    events = tuple(an_event(EventKind.AGED, at=after(n), reason="x" * 40) for n in range(20))
    assert is_over_budget(events)
    kept, dropped = compact(events, 5)
    assert not is_over_budget(kept)
    assert kept[0] == events[0]
    assert kept[1:] == events[-len(kept) + 1 :]
    assert dropped == 5 + len(events) - len(kept)


def test_no_more_goes_than_must() -> None:
    events = tuple(an_event(EventKind.AGED, at=after(n), reason="x" * 40) for n in range(20))
    kept, dropped = compact(events, 0)
    assert is_over_budget((kept[0], events[dropped], *kept[1:]))


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


def test_an_error_kept_beside_the_job_tells_more_than_the_reason() -> None:
    whole = ErrorInfo(type="ValueError", message="no " * 100, traceback="...")
    events = (claimed(1, 1), ended(EventKind.FAILED, 1, 1, "ValueError: no no"))
    failure = Attempt(number=1, token=1, worker="worker-1", started_at=NOW, error=whole)
    (attempt,) = attempts_of(events, {1: failure})
    assert attempt.error == whole


def test_what_a_worker_said_after_its_lease_is_not_why_the_attempt_was_lost() -> None:
    late = ErrorInfo(type="KeyError", message="too late")
    failure = Attempt(number=1, token=1, worker="worker-1", started_at=NOW, error=late)
    events = (claimed(1, 1), ended(EventKind.LOST, 1, 1, lost_reason(NOW)))
    (attempt,) = attempts_of(events, {1: failure})
    assert attempt.outcome is Outcome.LOST
    assert attempt.error is not None
    assert attempt.error.type == "Lost"


def test_a_failure_beside_the_job_stands_for_an_attempt_that_history_dropped() -> None:
    error = ErrorInfo(type="KeyError", message="x")
    dropped = Attempt(number=1, token=1, worker="worker-0", started_at=NOW, error=error)
    events = (claimed(2, 2), ended(EventKind.FAILED, 2, 2, "ValueError: no"))
    first, second = attempts_of(events, {1: dropped})
    assert first == dropped
    assert (second.number, second.error) == (2, ErrorInfo(type="ValueError", message="no"))


def test_a_failure_of_a_job_that_had_the_id_before_is_not_this_ones() -> None:
    error = ErrorInfo(type="KeyError", message="x")
    before = NOW - timedelta(seconds=1)
    earlier = Attempt(number=3, token=3, worker="worker-0", started_at=before, error=error)
    own = Attempt(number=2, token=2, worker="worker-0", started_at=NOW, error=error)
    unknown = Attempt(number=1, token=1, worker="worker-0", started_at=None, error=error)
    events = (an_event(kind=EventKind.SUBMITTED, at=NOW),)
    assert attempts_of(events, {1: unknown, 2: own, 3: earlier}) == (unknown, own)


def test_an_error_of_a_job_that_had_the_id_before_does_not_stand_for_this_ones() -> None:
    error = ErrorInfo(type="KeyError", message="x")
    before = NOW - timedelta(seconds=1)
    earlier = Attempt(number=1, token=1, worker="worker-0", started_at=before, error=error)
    submitted = an_event(kind=EventKind.SUBMITTED, at=NOW)
    events = (submitted, claimed(1, 1), ended(EventKind.FAILED, 1, 1, "ValueError: no"))
    (attempt,) = attempts_of(events, {1: earlier})
    assert attempt.error == ErrorInfo(type="ValueError", message="no")


def test_an_error_of_another_attempt_is_not_mistaken_for_this_ones() -> None:
    error = ErrorInfo(type="KeyError", message="x")
    other = Attempt(number=2, token=2, worker="worker-1", started_at=NOW, error=error)
    events = (claimed(1, 1), ended(EventKind.FAILED, 1, 1, "ValueError: no"))
    attempt, _ = attempts_of(events, {2: other})
    assert attempt.error == ErrorInfo(type="ValueError", message="no")


def test_a_reason_without_a_type_is_both() -> None:
    events = (claimed(1, 1), ended(EventKind.TIMED_OUT, 1, 1, "timed out"))
    (attempt,) = attempts_of(events, {})
    assert attempt.error == ErrorInfo(type="timed out", message="timed out")


def test_an_attempt_whose_claim_was_dropped_starts_at_an_unknown_time() -> None:
    (attempt,) = attempts_of((ended(EventKind.FAILED, 4, 2, "ValueError: no"),), {})
    assert attempt.started_at is None
    assert (attempt.number, attempt.token, attempt.worker) == (2, 4, "worker-1")


def test_a_lost_attempt_belongs_to_the_worker_that_claimed_it() -> None:
    lost = ended(EventKind.LOST, 1, 1, lost_reason(NOW))
    (attempt,) = attempts_of((claimed(1, 1), replace(lost, actor="scheduler")), {})
    assert attempt.worker == "worker-1"


def test_what_happens_to_a_waiting_job_is_no_attempt() -> None:
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


def test_the_reason_of_a_loss_fits_whole() -> None:
    reason = lost_reason(NOW + timedelta(milliseconds=7))
    assert reason == "Lost: lease to 2026-11-21T12:00:00.007Z"
    assert shorten(reason) == reason
    assert shorten(lost_reason(None)) == "Lost: lease to an unknown time"
