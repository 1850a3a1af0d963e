"""The waits of one invocation of a durable run: sleeps, signals and callbacks."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from hourhand.domain.conditions import Absent, Compares
from hourhand.domain.durable.calls import (
    IN_PLACE,
    Failure,
    RunEnds,
    Suspension,
    TimedOut,
    Value,
)
from hourhand.domain.durable.names import branch_of
from hourhand.domain.durable.records import (
    SIGNAL,
    SLEEP,
    TAKE,
    Record,
    RecordKind,
    RecordOutcome,
    error_text,
)
from hourhand.domain.durable.signals import (
    MAX_UNCONSUMED,
    Signal,
    free_signals,
    mark_consumed,
    signal_of,
    signal_prefix,
    take_signal,
)
from hourhand.domain.durable.tokens import SECRET_BYTES, CallbackToken
from hourhand.domain.durable.writes import (
    wait_allowed,
)
from hourhand.domain.jobs.job import ErrorInfo
from hourhand.domain.jobs.waiting import Reserved, ReservedStart, TakenStart, WaitKind
from hourhand.domain.side_items import Stored
from hourhand.domain.times import floor_ms, from_ms, to_ms
from hourhand.services.durable.run_records import RunRecords

SIGNAL_PAGE = 1_000
MAX_SIGNAL_PAGES = 1_000
"""Signals of a name that a wait reads, page by page: ten times the records of a journal."""

CALLBACK_TIMEOUT = ErrorInfo(
    type="CallbackTimeout",
    message="The callback was not completed in time.",
    retryable=False,
)
HEARTBEAT_TIMEOUT = replace(CALLBACK_TIMEOUT, message="The callback had no heartbeat in time.")


@dataclass(slots=True)
class RunWaits(RunRecords):
    """Implements the waits of the port `DurableRun`."""

    def sleep(self, path: str, until: datetime | timedelta) -> timedelta | Suspension:
        """Return how long to sleep in place, or that the run suspends."""
        record = self._find(RecordKind.WAIT, path, SLEEP)
        if record is None:
            self._give_up_signal(path)
            if isinstance(until, timedelta):
                until = self.ports.clock.now() + until
            self._require_in_time(until)
            values: dict[str, Stored | None] = {
                "outcome": RecordOutcome.WAITING.value,
                "began_ms": to_ms(self.ports.clock.now()),
                "until_ms": to_ms(until),
                "waits_for": SLEEP,
            }
            floor = self._floor(RecordKind.WAIT, path)
            _, record = self._put(RecordKind.WAIT, path, values, self.scope.may_put(floor))
        rest = self._time_to(record.until_ms)
        if rest > IN_PLACE:
            return Suspension(WaitKind.TIME, path, from_ms(record.until_ms or 0))
        return rest

    def take_start(
        self, path: str, limit: str, longest: timedelta, take: Callable[[Reserved], TakenStart]
    ) -> TakenStart | Suspension:
        """Take a start of a rate limit; see the port.

        Each start and each reservation is recorded, so no replay takes another one. A worker that
        dies before it recorded a start leaves it unused.
        """
        record = self._find(RecordKind.WAIT, path, TAKE + limit)
        if record is not None and record.is_settled:
            return TakenStart(is_start=True, wait=self._time_to(record.until_ms))
        self._require_writable()
        reserved: Reserved = {}
        if record is not None:
            key, at_ms, is_paid = json.loads(record.text or "")
            reserved[key] = ReservedStart(key, from_ms(at_ms), is_paid)
        before = dict(reserved)
        taken = take(reserved)
        if taken.wait is None:
            return taken
        now = self.ports.clock.now()
        if taken.is_start or reserved != before:
            self._give_up_signal(path)
            kept = [[one.limit, to_ms(one.at), one.is_paid] for one in reserved.values()]
            values: dict[str, Stored | None] = {
                "outcome": (
                    RecordOutcome.SUCCEEDED if taken.is_start else RecordOutcome.WAITING
                ).value,
                "waits_for": TAKE + limit,
                "began_ms": to_ms(now) if record is None else record.began_ms,
                "ended_ms": to_ms(now) if taken.is_start else None,
                "until_ms": to_ms(now + taken.wait),
                "text": json.dumps(kept[0]) if kept else None,
            }
            floor = self._floor(RecordKind.WAIT, path)
            self._put(RecordKind.WAIT, path, values, wait_allowed(self.scope, floor))
        if taken.is_start or taken.wait <= longest:
            return taken
        return Suspension(WaitKind.TIME, path, floor_ms(now + taken.wait))

    def _require_in_time(self, until: datetime) -> None:
        """End a run that would sleep beyond its deadline: it could not go on."""
        self._require_writable()
        deadline = self.job.run_deadline
        if deadline is not None and until > deadline:
            raise RunEnds(
                "RunTimeout",
                f"The sleep ends at {until:%Y-%m-%d %H:%M:%S} UTC, and the run must end by "
                f"{deadline:%Y-%m-%d %H:%M:%S} UTC. Give the handler a longer run_timeout.",
            )

    def wait_for_signal(
        self, path: str, name: str, timeout: timedelta | None, *, has_default: bool
    ) -> Value | TimedOut | Suspension:
        """Return the payload of the next signal of this name."""
        record = self._find(RecordKind.WAIT, path, SIGNAL + name, drops_timeouts=not has_default)
        if record is not None and record.is_settled:
            return self._waited(record)
        floor = self._floor(RecordKind.WAIT, path, drops_timeouts=not has_default)
        self._give_up_signal(path)
        now_ms = to_ms(self.ports.clock.now())
        began_ms = now_ms if record is None else record.began_ms
        signal = self._next_signal(name, path)
        if signal is not None:
            values: dict[str, Stored | None] = {
                "outcome": RecordOutcome.SUCCEEDED.value,
                "waits_for": SIGNAL + name,
                "signal": signal.id,
                "began_ms": began_ms,
                "ended_ms": now_ms,
                **self._kept_of(path, signal),
            }
            allowed = wait_allowed(self.scope, floor)
            _, standing = self._put(RecordKind.WAIT, path, values, allowed)
            return self._waited(standing)
        if timeout is None:
            return Suspension(WaitKind.SIGNAL, name)
        if record is None:
            record = self._set_deadline(path, SIGNAL + name, timeout, floor)
            if record.is_settled:
                return self._waited(record)
        if self._time_to(record.until_ms) > timedelta(0):
            return Suspension(WaitKind.SIGNAL, name, from_ms(record.until_ms or 0))
        over: dict[str, Stored | None] = {
            "outcome": RecordOutcome.TIMED_OUT.value,
            "waits_for": SIGNAL + name,
            "until_ms": record.until_ms,
            "began_ms": record.began_ms,
            "ended_ms": to_ms(self.ports.clock.now()),
        }
        _, standing = self._put(RecordKind.WAIT, path, over, wait_allowed(self.scope, floor))
        return self._waited(standing)

    def _waited(self, record: Record) -> Value | TimedOut:
        if record.outcome is RecordOutcome.TIMED_OUT:
            return TimedOut()
        return Value(self.text_of(record))

    def _set_deadline(self, path: str, what: str, timeout: timedelta, floor: int) -> Record:
        until = self.ports.clock.now() + timeout
        values: dict[str, Stored | None] = {
            "outcome": RecordOutcome.WAITING.value,
            "began_ms": to_ms(self.ports.clock.now()),
            "until_ms": to_ms(until),
            "waits_for": what,
        }
        _, record = self._put(RecordKind.WAIT, path, values, self.scope.may_put(floor))
        return record

    def _next_signal(self, name: str, path: str) -> Signal | None:
        """Return the signal that the wait at ``path`` takes."""
        free = free_signals(
            self._signals(name),
            created_ms=self.scope.created_ms,
            taken={one[1:] for one in self.journal.signals_taken()},
            ended=self.journal.ended_waits(),
            path=path,
        )
        if len(free) > MAX_UNCONSUMED:
            self.ports.telemetry.warning(
                "A run has many signals of a name that no wait has returned.",
                job_id=self.run_id,
                signal=name,
                count=len(free),
            )
        if not free or not (branch_of(path) or self.journal.has_branches):
            return next(iter(free), None)
        self._require_writable()
        # Another owner may run the branches in another order: the signal's own item says which of
        # them has it.
        return next((one for one in free if one.taken_by == path or self._take(one, path)), None)

    def _take(self, signal: Signal, path: str) -> bool:
        update = take_signal(self.run_id, signal, path, self.scope.keep_until)
        return self.ports.side_items.write_item(update).is_applied

    def _signals(self, name: str) -> Iterator[Signal]:
        """Yield the signals of a name, also those that waits returned: they keep their ids."""
        prefix = signal_prefix(name)
        after: str | None = None
        for _ in range(MAX_SIGNAL_PAGES):
            items = self.ports.side_items.query_items(
                self.run_id, prefix=prefix, after=after, limit=SIGNAL_PAGE
            )
            yield from map(signal_of, items)
            if len(items) < SIGNAL_PAGE:
                return
            after = items[-1].key.sort
        limit = MAX_SIGNAL_PAGES * SIGNAL_PAGE
        raise RunEnds("JournalFull", f"The run has {limit:,} signals of the name {name} or more.")

    def _give_up_signal(self, path: str) -> None:
        """Keep the signal that this wait returned, before a redrive reset it, from other waits.

        Its record is about to be replaced, and no other names the signal.
        """
        before = self.journal.stored(RecordKind.WAIT, path)
        if before is None or before.signal is None:
            return
        self._require_writable()
        name = before.waits_for.removeprefix(SIGNAL)
        update = mark_consumed(
            self.run_id,
            self.scope.created_ms,
            name,
            before.signal,
            self.segment,
            self.scope.keep_until,
        )
        self.ports.side_items.write_item(update)

    def open_callback(
        self, path: str, timeout: timedelta | None, heartbeat: timedelta | None
    ) -> str:
        """Return the token of a callback: the same in every replay."""
        record = self._find(RecordKind.CALLBACK, path)
        if record is None:
            secret = self.ports.randomness.secret()[:SECRET_BYTES]
            now = self.ports.clock.now()
            values: dict[str, Stored | None] = {
                "outcome": RecordOutcome.WAITING.value,
                "secret": secret.hex(),
                "began_ms": to_ms(now),
                "until_ms": None if timeout is None else to_ms(now + timeout),
                "beat_ms": None if heartbeat is None else to_ms(now),
                "beat_seconds": None if heartbeat is None else round(heartbeat.total_seconds()),
            }
            floor = self._floor(RecordKind.CALLBACK, path)
            _, record = self._put(RecordKind.CALLBACK, path, values, self.scope.may_put(floor))
        secret = bytes.fromhex(record.secret or "")
        return str(CallbackToken(self.run_id, secret, self.segment, path))

    def callback_result(self, path: str) -> Value | Failure | Suspension:
        """Return how a callback was completed."""
        record = self._require_callback(path)
        if record.outcome is RecordOutcome.WAITING and self._is_over(record):
            # A heartbeat flags no run and wakes none: the record says whether there was one.
            record = self._read_again(record)
        if record.outcome is RecordOutcome.WAITING and self._is_over(record):
            record = self._time_out_callback(record)
        if record.outcome is RecordOutcome.SUCCEEDED:
            return Value(self.text_of(record))
        if record.outcome is RecordOutcome.FAILED:
            return Failure(record.error)
        return Suspension(WaitKind.CALLBACK, path, _callback_due(record))

    def _require_callback(self, path: str) -> Record:
        record = self.journal.stored(RecordKind.CALLBACK, path)
        assert record is not None, "open_callback comes first"
        return record

    def _is_over(self, record: Record) -> bool:
        due = _callback_due(record)
        return due is not None and due <= self.ports.clock.now()

    def _time_out_callback(self, record: Record) -> Record:
        until = record.until_ms
        is_silent = until is None or _callback_due(record) != from_ms(until)
        values: dict[str, Stored | None] = {
            "outcome": RecordOutcome.FAILED.value,
            "secret": record.secret,
            "began_ms": record.began_ms,
            "until_ms": record.until_ms,
            "ended_ms": to_ms(self.ports.clock.now()),
            "text": error_text(HEARTBEAT_TIMEOUT if is_silent else CALLBACK_TIMEOUT),
        }
        beat = record.beat_ms
        unchanged = Absent("beat_ms") if beat is None else Compares("beat_ms", "=", beat)
        waits = Compares("outcome", "=", RecordOutcome.WAITING.value)
        allowed = ((self.scope.is_own, waits, unchanged),)
        _, standing = self._put(RecordKind.CALLBACK, record.path, values, allowed)
        return standing


def _callback_due(record: Record) -> datetime | None:
    """Return when a callback times out, by its deadline or by its last heartbeat."""
    times = [record.until_ms] if record.until_ms is not None else []
    if record.beat_ms is not None and record.beat_seconds is not None:
        times.append(record.beat_ms + 1000 * record.beat_seconds)
    return from_ms(min(times)) if times else None
