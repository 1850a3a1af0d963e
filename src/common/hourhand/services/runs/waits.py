"""The waits of one invocation of a durable run: sleeps, signals and callbacks."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime, timedelta

from hourhand.domain.conditions import Absent, Compares
from hourhand.domain.jobs.job import ErrorInfo
from hourhand.domain.jobs.waiting import Reserved, ReservedStart, TakenStart, WaitKind
from hourhand.domain.runs.answers import (
    IN_PLACE,
    Failure,
    RunEnds,
    Suspension,
    TimedOut,
    Value,
)
from hourhand.domain.runs.calls import (
    CallbackResult,
    OpenCallback,
    SleepUntil,
    TakeRateStart,
    WaitForSignal,
)
from hourhand.domain.runs.names import branch_of
from hourhand.domain.runs.records import (
    SIGNAL,
    SLEEP,
    TAKE,
    Record,
    RecordKind,
    RecordOutcome,
    error_text,
)
from hourhand.domain.runs.signals import (
    MAX_UNCONSUMED,
    Signal,
    free_signals,
    mark_consumed,
    signal_of,
    signal_prefix,
    take_signal,
)
from hourhand.domain.runs.tokens import SECRET_BYTES, CallbackToken
from hourhand.domain.runs.writes import (
    wait_allowed,
)
from hourhand.domain.side_items import Stored
from hourhand.domain.times import floor_ms, from_ms, to_ms
from hourhand.services.runs.records import Answers, RunRecords

SIGNAL_PAGE = 1_000
MAX_SIGNAL_PAGES = 1_000
"""Signals of a name that a wait reads, page by page: ten times the records of a journal."""

CALLBACK_TIMEOUT = ErrorInfo(
    type="CallbackTimeout",
    message="The callback was not completed in time.",
    retryable=False,
)
HEARTBEAT_TIMEOUT = replace(CALLBACK_TIMEOUT, message="The callback had no heartbeat in time.")


def sleep(run: RunRecords, call: SleepUntil) -> timedelta | Suspension:
    """Return how long to sleep in place, or that the run suspends."""
    until = call.until
    record = run.find(RecordKind.WAIT, call.path, SLEEP)
    if record is None:
        _give_up_signal(run, call.path)
        if isinstance(until, timedelta):
            until = run.ports.clock.now() + until
        _require_in_time(run, until)
        record = set_deadline(run, call.path, SLEEP, until, run.floor(RecordKind.WAIT, call.path))
    rest = run.time_to(record.until_ms)
    if rest > IN_PLACE:
        return Suspension(WaitKind.TIME, call.path, from_ms(record.until_ms or 0))
    return rest


def take_start(run: RunRecords, call: TakeRateStart) -> TakenStart | Suspension:
    """Take a start of a rate limit; see the port.

    Each start and each reservation is recorded, so no replay takes another one. A worker that
    dies before it recorded a start leaves it unused.
    """
    record = run.find(RecordKind.WAIT, call.path, TAKE + call.limit)
    if record is not None and record.is_settled:
        return TakenStart(is_start=True, wait=run.time_to(record.until_ms))
    run.require_writable()
    reserved: Reserved = {}
    if record is not None:
        key, at_ms, is_paid = json.loads(record.text or "")
        reserved[key] = ReservedStart(key, from_ms(at_ms), is_paid)
    before = dict(reserved)
    taken = call.take(reserved)
    if taken.wait is None:
        return taken
    now = run.ports.clock.now()
    if taken.is_start or reserved != before:
        _give_up_signal(run, call.path)
        kept = [[one.limit, to_ms(one.at), one.is_paid] for one in reserved.values()]
        values: dict[str, Stored | None] = {
            "outcome": (RecordOutcome.SUCCEEDED if taken.is_start else RecordOutcome.WAITING).value,
            "waits_for": TAKE + call.limit,
            "began_ms": to_ms(now) if record is None else record.began_ms,
            "ended_ms": to_ms(now) if taken.is_start else None,
            "until_ms": to_ms(now + taken.wait),
            "text": json.dumps(kept[0]) if kept else None,
        }
        floor = run.floor(RecordKind.WAIT, call.path)
        run.put(RecordKind.WAIT, call.path, values, wait_allowed(run.scope, floor))
    if taken.is_start or taken.wait <= call.longest:
        return taken
    return Suspension(WaitKind.TIME, call.path, floor_ms(now + taken.wait))


def _require_in_time(run: RunRecords, until: datetime) -> None:
    """End a run that would sleep beyond its deadline: it could not go on."""
    run.require_writable()
    deadline = run.job.run_deadline
    if deadline is not None and until > deadline:
        raise RunEnds(
            "RunTimeout",
            f"The sleep ends at {until:%Y-%m-%d %H:%M:%S} UTC, and the run must end by "
            f"{deadline:%Y-%m-%d %H:%M:%S} UTC. Give the handler a longer run_timeout.",
        )


def wait_for_signal(run: RunRecords, call: WaitForSignal) -> Value | TimedOut | Suspension:
    """Return the payload of the next signal of this name."""
    record = run.find(
        RecordKind.WAIT, call.path, SIGNAL + call.name, drops_timeouts=not call.has_default
    )
    if record is not None and record.is_settled:
        return _waited(run, record)
    floor = run.floor(RecordKind.WAIT, call.path, drops_timeouts=not call.has_default)
    _give_up_signal(run, call.path)
    now_ms = to_ms(run.ports.clock.now())
    began_ms = now_ms if record is None else record.began_ms
    signal = _next_signal(run, call.name, call.path)
    if signal is not None:
        values: dict[str, Stored | None] = {
            "outcome": RecordOutcome.SUCCEEDED.value,
            "waits_for": SIGNAL + call.name,
            "signal": signal.id,
            "began_ms": began_ms,
            "ended_ms": now_ms,
            **run.kept_of(call.path, signal),
        }
        allowed = wait_allowed(run.scope, floor)
        _, standing = run.put(RecordKind.WAIT, call.path, values, allowed)
        return _waited(run, standing)
    if call.timeout is None:
        return Suspension(WaitKind.SIGNAL, call.name)
    if record is None:
        until = run.ports.clock.now() + call.timeout
        record = set_deadline(run, call.path, SIGNAL + call.name, until, floor)
        if record.is_settled:
            return _waited(run, record)
    if run.time_to(record.until_ms) > timedelta(0):
        return Suspension(WaitKind.SIGNAL, call.name, from_ms(record.until_ms or 0))
    over: dict[str, Stored | None] = {
        "outcome": RecordOutcome.TIMED_OUT.value,
        "waits_for": SIGNAL + call.name,
        "until_ms": record.until_ms,
        "began_ms": record.began_ms,
        "ended_ms": to_ms(run.ports.clock.now()),
    }
    _, standing = run.put(RecordKind.WAIT, call.path, over, wait_allowed(run.scope, floor))
    return _waited(run, standing)


def _waited(run: RunRecords, record: Record) -> Value | TimedOut:
    if record.outcome is RecordOutcome.TIMED_OUT:
        return TimedOut()
    return Value(run.text_of(record))


def set_deadline(run: RunRecords, path: str, what: str, until: datetime, floor: int) -> Record:
    """Record until when a wait lasts; return the record that stands."""
    values: dict[str, Stored | None] = {
        "outcome": RecordOutcome.WAITING.value,
        "began_ms": to_ms(run.ports.clock.now()),
        "until_ms": to_ms(until),
        "waits_for": what,
    }
    _, record = run.put(RecordKind.WAIT, path, values, run.scope.may_put(floor))
    return record


def _next_signal(run: RunRecords, name: str, path: str) -> Signal | None:
    """Return the signal that the wait at ``path`` takes."""
    free = free_signals(
        _signals(run, name),
        created_ms=run.scope.created_ms,
        taken={one[1:] for one in run.journal.signals_taken()},
        ended=run.journal.ended_waits(),
        path=path,
    )
    if len(free) > MAX_UNCONSUMED:
        run.ports.telemetry.warning(
            "A run has many signals of a name that no wait has returned.",
            job_id=run.run_id,
            signal=name,
            count=len(free),
        )
    if not free or not (branch_of(path) or run.journal.has_branches):
        return next(iter(free), None)
    run.require_writable()
    # Another owner may run the branches in another order: the signal's own item says which of
    # them has it.
    return next((one for one in free if one.taken_by == path or _take(run, one, path)), None)


def _take(run: RunRecords, signal: Signal, path: str) -> bool:
    update = take_signal(run.run_id, signal, path, run.scope.keep_until)
    return run.ports.side_items.write_item(update).is_applied


def _signals(run: RunRecords, name: str) -> Iterator[Signal]:
    """Yield the signals of a name, also those that waits returned: they keep their ids."""
    prefix = signal_prefix(name)
    after: str | None = None
    for _ in range(MAX_SIGNAL_PAGES):
        items = run.ports.side_items.query_items(
            run.run_id, prefix=prefix, after=after, limit=SIGNAL_PAGE
        )
        yield from map(signal_of, items)
        if len(items) < SIGNAL_PAGE:
            return
        after = items[-1].key.sort
    limit = MAX_SIGNAL_PAGES * SIGNAL_PAGE
    raise RunEnds("JournalFull", f"The run has {limit:,} signals of the name {name} or more.")


def _give_up_signal(run: RunRecords, path: str) -> None:
    """Keep the signal that this wait returned, before a redrive reset it, from other waits.

    Its record is about to be replaced, and no other names the signal.
    """
    before = run.journal.stored(RecordKind.WAIT, path)
    if before is None or before.signal is None:
        return
    run.require_writable()
    name = before.waits_for.removeprefix(SIGNAL)
    update = mark_consumed(
        run.run_id,
        run.scope.created_ms,
        name,
        before.signal,
        run.segment,
        run.scope.keep_until,
    )
    run.ports.side_items.write_item(update)


def open_callback(run: RunRecords, call: OpenCallback) -> str:
    """Return the token of a callback: the same in every replay."""
    record = run.find(RecordKind.CALLBACK, call.path)
    if record is None:
        secret = run.ports.randomness.secret()[:SECRET_BYTES]
        now = run.ports.clock.now()
        values: dict[str, Stored | None] = {
            "outcome": RecordOutcome.WAITING.value,
            "secret": secret.hex(),
            "began_ms": to_ms(now),
            "until_ms": None if call.timeout is None else to_ms(now + call.timeout),
            "beat_ms": None if call.heartbeat is None else to_ms(now),
            "beat_seconds": None
            if call.heartbeat is None
            else round(call.heartbeat.total_seconds()),
        }
        floor = run.floor(RecordKind.CALLBACK, call.path)
        _, record = run.put(RecordKind.CALLBACK, call.path, values, run.scope.may_put(floor))
    secret = bytes.fromhex(record.secret or "")
    return str(CallbackToken(run.run_id, secret, run.segment, call.path))


def callback_result(run: RunRecords, call: CallbackResult) -> Value | Failure | Suspension:
    """Return how a callback was completed."""
    record = _require_callback(run, call.path)
    if record.outcome is RecordOutcome.WAITING and _is_over(run, record):
        # A heartbeat flags no run and wakes none: the record says whether there was one.
        record = run.read_again(record)
    if record.outcome is RecordOutcome.WAITING and _is_over(run, record):
        record = _time_out_callback(run, record)
    if record.outcome is RecordOutcome.SUCCEEDED:
        return Value(run.text_of(record))
    if record.outcome is RecordOutcome.FAILED:
        return Failure(record.error)
    return Suspension(WaitKind.CALLBACK, call.path, _callback_due(record))


def _require_callback(run: RunRecords, path: str) -> Record:
    record = run.journal.stored(RecordKind.CALLBACK, path)
    assert record is not None, "open_callback comes first"
    return record


def _is_over(run: RunRecords, record: Record) -> bool:
    due = _callback_due(record)
    return due is not None and due <= run.ports.clock.now()


def _time_out_callback(run: RunRecords, record: Record) -> Record:
    until = record.until_ms
    is_silent = until is None or _callback_due(record) != from_ms(until)
    values: dict[str, Stored | None] = {
        "outcome": RecordOutcome.FAILED.value,
        "secret": record.secret,
        "began_ms": record.began_ms,
        "until_ms": record.until_ms,
        "ended_ms": to_ms(run.ports.clock.now()),
        "text": error_text(HEARTBEAT_TIMEOUT if is_silent else CALLBACK_TIMEOUT),
    }
    beat = record.beat_ms
    unchanged = Absent("beat_ms") if beat is None else Compares("beat_ms", "=", beat)
    waits = Compares("outcome", "=", RecordOutcome.WAITING.value)
    allowed = ((run.scope.is_own, waits, unchanged),)
    _, standing = run.put(RecordKind.CALLBACK, record.path, values, allowed)
    return standing


def _callback_due(record: Record) -> datetime | None:
    """Return when a callback times out, by its deadline or by its last heartbeat."""
    times = [record.until_ms] if record.until_ms is not None else []
    if record.beat_ms is not None and record.beat_seconds is not None:
        times.append(record.beat_ms + 1000 * record.beat_seconds)
    return from_ms(min(times)) if times else None


ANSWERS: Answers = {
    SleepUntil: sleep,
    TakeRateStart: take_start,
    WaitForSignal: wait_for_signal,
    OpenCallback: open_callback,
    CallbackResult: callback_result,
}
"""What answers each call."""
