"""What is on record of a job: packed small, bounded, and read back as events and attempts.

The first and the last events are always kept; what had to go from the middle is counted.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime

from hourhand.domain.callers import is_caller
from hourhand.domain.jobs.job import (
    ATTEMPT_ENDS,
    Attempt,
    ErrorInfo,
    EventKind,
    HistoryEvent,
    Job,
    JobStatus,
    Outcome,
)
from hourhand.domain.times import from_ms, rfc3339, to_ms

HISTORY_BUDGET_BYTES = 360
"""Bytes of packed history in the hot item: with them a small job stays below 1 KB to its end."""

RECORD_BUDGET_BYTES = 430
"""Bytes of packed history and last failure together. A job that failed last has no result, but may
have an owner: with a long failure less of the history is kept."""

REQUESTED_BYTES = 120
"""How much of it may be taken by what callers requested, before that is dropped too: four events
without a reason."""

KEEP_FIRST = 1
REASON_BYTES = 40

CUT_MARK = "..."
"""What a text ends with that was shortened."""

FAILURE_TYPE_BYTES = 60
FAILURE_MESSAGE_BYTES = 206
"""Of the last failure in the hot item. Of a longer message 200 bytes are kept, and a mark of it."""

MAX_REASON_BYTES = 2_500
"""Of an event's reason where the whole error is kept beside the job."""

_FAILING = frozenset({Outcome.FAILED, Outcome.TIMED_OUT, Outcome.LOST})

_LOST = re.compile(r"Lost: its worker died or lost contact \(lease ended at ([-0-9T:.]+Z)\)")
"""The reason of a lost attempt. Packed, it is `_LOST_MARK` and the time in base 36."""

_LOST_MARK = "~"

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
_EPOCH = from_ms(0)
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
    kept = encoded[: limit_bytes - len(CUT_MARK)]
    return kept.decode("utf-8", errors="ignore") + CUT_MARK


def pack_event(event: HistoryEvent) -> str:
    """Return ``event`` as one short string; `unpack_event` reads it back.

    A dot parts the fields. An actor may hold one (a principal's name), so it is escaped there;
    the reason is last and may hold anything. That of a lost attempt is kept whole.
    """
    head = event.kind.value + _STATUS_LETTERS[event.status] + base36(to_ms(event.at))
    actor = event.actor.replace("%", "%25").replace(".", "%2E")
    parts = [head, str(event.attempt), str(event.token), actor, _packed_reason(event.reason)]
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
        reason=_unpacked_reason(reason),
    )


def reason_to_keep(reason: str) -> str:
    """Return ``reason`` as an event keeps it: shortened, unless it is that of a lost attempt."""
    return reason if _lease_end_in(reason) is not None else shorten(reason)


def _packed_reason(reason: str) -> str:
    lease_end = _lease_end_in(reason)
    if lease_end is not None:
        return _LOST_MARK + base36(to_ms(lease_end))
    short = shorten(reason)
    return _LOST_MARK + short if short.startswith(_LOST_MARK) else short


def _unpacked_reason(packed: str) -> str:
    if not packed.startswith(_LOST_MARK):
        return packed
    rest = packed.removeprefix(_LOST_MARK)
    return rest if rest.startswith(_LOST_MARK) else lost_reason(from_ms(int(rest, 36)))


def _lease_end_in(reason: str) -> datetime | None:
    """Return the time in the reason of a lost attempt; ``None`` for every other reason."""
    found = _LOST.fullmatch(reason)
    if found is None:
        return None
    try:
        lease_end = datetime.fromisoformat(found[1])
    except ValueError:
        return None
    # Packing must lose nothing, whatever the text of others looks like.
    is_ours = lease_end >= _EPOCH and lost_reason(lease_end) == reason
    return lease_end if is_ours else None


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


def history_budget(last_failure: str | None) -> int:
    """Return the bytes that the packed events of a job with this last failure may take."""
    if last_failure is None:
        return HISTORY_BUDGET_BYTES
    return min(HISTORY_BUDGET_BYTES, RECORD_BUDGET_BYTES - len(last_failure.encode()))


def is_over_budget(events: Sequence[HistoryEvent], last_failure: str | None = None) -> bool:
    """Whether the packed events take more bytes than their budget."""
    budget_bytes = history_budget(last_failure)
    # Most jobs have few events, and to pack them takes longer than all else about a mark.
    if sum([_most_bytes(event) for event in events]) <= budget_bytes:
        return False
    return sum(len(pack_event(e).encode()) + 1 for e in events) > budget_bytes


def _most_bytes(event: HistoryEvent) -> int:
    """Return more than an event takes: kind, state, time, dots; numbers; escapes or UTF-8."""
    numbers = _DIGITS_OF_MOST if event.attempt < _MOST and event.token < _MOST else 40
    return 21 + numbers + 4 * len(event.actor) + min(4 * len(event.reason), REASON_BYTES)


def failure_text(reason: str) -> str:
    """Return the reason of a failed attempt, ``Type: message``, as a job keeps its last one."""
    name, colon, message = reason.partition(": ")
    if not colon:
        return shorten(reason, FAILURE_MESSAGE_BYTES)
    return shorten(name, FAILURE_TYPE_BYTES) + colon + shorten(message, FAILURE_MESSAGE_BYTES)


def error_in(reason: str) -> ErrorInfo:
    """Return the error that the reason of a failed attempt tells of."""
    name, _, message = reason.partition(": ")
    return ErrorInfo(type=name, message=message or reason)


def attempts_of(
    events: Sequence[HistoryEvent],
    failures: Mapping[int, Attempt],
    last_failure: str | None = None,
) -> tuple[Attempt, ...]:
    """Return the attempts that are known of, oldest first.

    ``failures`` are the failed attempts kept beside the job, by fencing token: they hold the
    whole error, and stand for attempts that were dropped from the middle of the history. What
    the history says of an attempt's end counts. Where only its end was kept, it starts at an
    unknown time. ``last_failure`` tells more of the newest failed attempt than its event.
    """
    attempts: dict[int, Attempt] = {}
    failures = _of_this_life(failures, events)
    events = _with_last_failure(events, last_failure)
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


def told_events(job: Job, failures: Mapping[int, Attempt]) -> tuple[HistoryEvent, ...]:
    """Return the history of ``job`` with each reason as fully as it is on record.

    ``failures`` as in `attempts_of`.
    """
    known = _of_this_life(failures, job.history)
    events = _with_last_failure(job.history, job.last_failure)
    told = zip(job.history, events, strict=True)
    return tuple(replace(e, reason=_told_reason(kept, e, known.get(e.token))) for kept, e in told)


def _told_reason(kept: HistoryEvent, event: HistoryEvent, failure: Attempt | None) -> str:
    """Return the whole reason of an event: that of its failure, of which it keeps the beginning."""
    if failure is None or failure.error is None:
        return event.reason
    if event.kind is EventKind.LOST:
        return f"{event.reason}{_end_of_process(failure)}"
    whole = f"{failure.error.type}: {failure.error.message}"
    return shorten(whole, MAX_REASON_BYTES) if shorten(whole) == kept.reason else event.reason


def _with_last_failure(
    events: Sequence[HistoryEvent], last_failure: str | None
) -> Sequence[HistoryEvent]:
    """Return ``events`` with the whole reason of the newest failed attempt, if it is kept."""
    failing = [place for place, event in enumerate(events) if _fails(event)]
    if last_failure is None or not failing:
        return events
    newest = failing[-1]
    return (*events[:newest], replace(events[newest], reason=last_failure), *events[newest + 1 :])


def _fails(event: HistoryEvent) -> bool:
    return ATTEMPT_ENDS.get(event.kind) in _FAILING and bool(event.token and event.attempt)


def _of_this_life(
    failures: Mapping[int, Attempt], events: Sequence[HistoryEvent]
) -> dict[int, Attempt]:
    return {t: f for t, f in failures.items() if not _is_of_an_earlier_life(f, events)}


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
    """Return the reason that is on record for a lost attempt."""
    until = rfc3339(lease_until) if lease_until else "an unknown time"
    return f"Lost: its worker died or lost contact (lease ended at {until})"


def _error_of(event: HistoryEvent, failure: Attempt | None) -> ErrorInfo | None:
    """Return an error in full if it is kept, else with the event's reason alone.

    What a worker said after its lease was lost is not why the attempt ended; what was seen of the
    end of its process is.
    """
    outcome = ATTEMPT_ENDS[event.kind]
    if outcome not in _FAILING:
        return None
    if outcome is Outcome.LOST:
        return error_in(event.reason + _end_of_process(failure))
    if failure is not None and failure.error is not None:
        return failure.error
    return error_in(event.reason)


def _end_of_process(failure: Attempt | None) -> str:
    """Return how the process of a lost attempt ended, where its runner noted that."""
    if failure is None or failure.error is None or failure.outcome is not Outcome.LOST:
        return ""
    return f": {failure.error.message}"
