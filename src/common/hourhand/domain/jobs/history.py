"""What is on record of a job: packed small, bounded, and read back as events and attempts.

The first and the last events are always kept; what had to go from the middle is counted.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime

from hourhand.domain.callers import is_caller
from hourhand.domain.jobs.job import (
    ATTEMPT_ENDS,
    Attempt,
    ErrorInfo,
    EventKind,
    HistoryEvent,
    JobStatus,
    Outcome,
)
from hourhand.domain.times import from_ms, rfc3339, to_ms

HISTORY_BUDGET_BYTES = 360
"""Bytes of packed history in the hot item: with them a small job stays below 1 KB to its end."""

REQUESTED_BYTES = 120
"""How much of it may be taken by what callers requested, before that is dropped too: four events
without a reason."""

KEEP_FIRST = 1
REASON_BYTES = 40

_MOST, _DIGITS_OF_MOST = 10_000, 8

_STATUS_LETTERS = {
    JobStatus.PENDING: "P",
    JobStatus.ENQUEUED: "Q",
    JobStatus.RUNNING: "R",
    JobStatus.RETRYING: "Y",
    JobStatus.SUCCEEDED: "S",
    JobStatus.DEAD: "D",
    JobStatus.CANCELLED: "C",
    JobStatus.EXPIRED: "X",
}
_STATUSES = {letter: status for status, letter in _STATUS_LETTERS.items()}
_DIGITS = "0123456789abcdefghijklmnopqrstuvwxyz"


def base36(number: int) -> str:
    """Return a whole number from 0 on as digits and small letters."""
    digits = ""
    while True:
        number, rest = divmod(number, 36)
        digits = _DIGITS[rest] + digits
        if number == 0:
            return digits


def shorten(text: str, limit_bytes: int = REASON_BYTES) -> str:
    """Return ``text`` in at most ``limit_bytes`` of UTF-8, never cutting a character in two."""
    encoded = text.encode("utf-8", errors="replace")
    if len(encoded) <= limit_bytes:
        return encoded.decode("utf-8")
    return encoded[: limit_bytes - 3].decode("utf-8", errors="ignore") + "..."


def pack_event(event: HistoryEvent) -> str:
    """Return ``event`` as one short string; `unpack_event` reads it back.

    A dot parts the fields. An actor may hold one (a principal's name), so it is escaped there;
    the reason is last and may hold anything.
    """
    head = event.kind.value + _STATUS_LETTERS[event.status] + base36(to_ms(event.at))
    actor = event.actor.replace("%", "%25").replace(".", "%2E")
    parts = [head, str(event.attempt), str(event.token), actor, shorten(event.reason)]
    return ".".join(parts)


def unpack_event(packed: str) -> HistoryEvent:
    """Read an event that `pack_event` wrote."""
    head, attempt, token, actor, reason = packed.split(".", 4)
    return HistoryEvent(
        kind=EventKind(head[0]),
        status=_STATUSES[head[1]],
        at=from_ms(int(head[2:], 36)),
        attempt=int(attempt),
        token=int(token),
        actor=actor.replace("%2E", ".").replace("%25", "%"),
        reason=reason,
    )


_OWN_STEPS = frozenset({EventKind.ENQUEUED, EventKind.SEND_FAILED, EventKind.REFILED})
"""What the API does after a write, on behalf of nobody."""


def is_requested(event: HistoryEvent) -> bool:
    """Whether a caller requested what the event tells of."""
    return is_caller(event.actor) and event.kind not in _OWN_STEPS


def reason_told(event: HistoryEvent) -> str | None:
    """Return the reason of an event as it is shown.

    A submission's is only the mark that tells it from others under the same key.
    """
    return None if event.kind is EventKind.SUBMITTED else event.reason or None


def compact(
    events: Sequence[HistoryEvent],
    dropped: int,
    *,
    budget_bytes: int = HISTORY_BUDGET_BYTES,
) -> tuple[tuple[HistoryEvent, ...], int]:
    """Drop events from the middle until the rest fits; return what is left and the new count.

    The first `KEEP_FIRST` events and the last one stay whatever their size. What callers requested
    goes after all else, unless it takes more than `REQUESTED_BYTES`: nothing but the history says
    who did it, and the errors of failed attempts are kept beside the job, too.
    """
    kept = list(events)
    size = sum(len(pack_event(event).encode()) + 1 for event in kept)
    while size > budget_bytes and len(kept) > KEEP_FIRST + 1:
        gone = kept.pop(_least_needed(kept))
        size -= len(pack_event(gone).encode()) + 1
        dropped += 1
    return tuple(kept), dropped


def _least_needed(events: Sequence[HistoryEvent]) -> int:
    """Return the place of the event of the middle that goes first."""
    middle = range(KEEP_FIRST, len(events) - 1)
    requested = [place for place in middle if is_requested(events[place])]
    size = sum(len(pack_event(events[place]).encode()) + 1 for place in requested)
    if size > REQUESTED_BYTES:
        return requested[0]
    return next((place for place in middle if place not in requested), KEEP_FIRST)


def is_over_budget(events: Sequence[HistoryEvent]) -> bool:
    """Whether the packed events take more bytes than their budget."""
    # Most jobs have few events, and to pack them takes longer than all else about a mark.
    if sum([_most_bytes(event) for event in events]) <= HISTORY_BUDGET_BYTES:
        return False
    return sum(len(pack_event(e).encode()) + 1 for e in events) > HISTORY_BUDGET_BYTES


def _most_bytes(event: HistoryEvent) -> int:
    """Return more than an event takes: kind, state, time, dots; numbers; escapes or UTF-8."""
    numbers = _DIGITS_OF_MOST if event.attempt < _MOST and event.token < _MOST else 40
    return 20 + numbers + 4 * len(event.actor) + min(4 * len(event.reason), REASON_BYTES)


def attempts_of(
    events: Sequence[HistoryEvent],
    failures: Mapping[int, Attempt],
) -> tuple[Attempt, ...]:
    """Return the attempts that are known of, oldest first.

    ``failures`` are the failed attempts kept beside the job, by fencing token: they hold the
    whole error, and stand for attempts that were dropped from the middle of the history. What
    the history says of an attempt's end counts. Where only its end was kept, it starts at an
    unknown time.
    """
    attempts: dict[int, Attempt] = {}
    failures = {t: f for t, f in failures.items() if not _is_of_an_earlier_life(f, events)}
    for event in events:
        if event.kind is EventKind.CLAIMED:
            attempts[event.token] = Attempt(
                number=event.attempt,
                token=event.token,
                worker=event.actor,
                started_at=event.at,
            )
        elif event.kind in ATTEMPT_ENDS and event.token and event.attempt:
            begun = attempts.get(event.token)
            attempts[event.token] = Attempt(
                number=event.attempt,
                token=event.token,
                worker=begun.worker if begun else event.actor,
                started_at=begun.started_at if begun else None,
                finished_at=event.at,
                outcome=ATTEMPT_ENDS[event.kind],
                error=_error_of(event, failures.get(event.token)),
            )
    for token, failure in failures.items():
        attempts.setdefault(token, failure)
    return tuple(attempts[token] for token in sorted(attempts))


def _is_of_an_earlier_life(failure: Attempt, events: Sequence[HistoryEvent]) -> bool:
    """Whether a failure is that of a job which had this id before and was deleted since.

    What is kept beside a job may outlive it, and a key or a caller's own id may be used again.
    """
    submitted_at = next((e.at for e in events if e.kind is EventKind.SUBMITTED), None)
    if submitted_at is None or failure.started_at is None:
        return False
    return failure.started_at < submitted_at


def last_error(attempts: Sequence[Attempt]) -> ErrorInfo | None:
    """Return the error of the last attempt that had one."""
    return next((a.error for a in reversed(attempts) if a.error is not None), None)


def lost_reason(lease_until: datetime | None) -> str:
    """Return the reason that is on record for a lost attempt, in `REASON_BYTES`."""
    until = rfc3339(lease_until) if lease_until else "an unknown time"
    return f"Lost: lease to {until}"


def _error_of(event: HistoryEvent, failure: Attempt | None) -> ErrorInfo | None:
    """Return an error in full if it is kept, else with the event's reason alone.

    What a worker said after its lease was lost is not why the attempt ended.
    """
    outcome = ATTEMPT_ENDS[event.kind]
    if outcome not in {Outcome.FAILED, Outcome.TIMED_OUT, Outcome.LOST}:
        return None
    if failure is not None and failure.error is not None and outcome is not Outcome.LOST:
        return failure.error
    name, _, message = event.reason.partition(": ")
    return ErrorInfo(type=name, message=message or event.reason)
