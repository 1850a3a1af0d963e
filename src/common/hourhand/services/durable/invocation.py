"""One invocation of a durable run: its calls are answered from the journal, or recorded there."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta

from hourhand.domain.durable.calls import (
    IN_PLACE,
    NOW,
    REPLAY_MISMATCH,
    Failure,
    Place,
    Recorded,
    RunEnds,
    RunLost,
    StepOptions,
    Suspension,
    TimedOut,
    Try,
    Value,
)
from hourhand.domain.durable.names import branch_of, renamed, step_key
from hourhand.domain.durable.records import (
    KIND_NAMES,
    MAX_JOURNAL_BYTES,
    MAX_RECORDS,
    SIGNAL,
    SLEEP,
    WARN_AT,
    Journal,
    Record,
    RecordKind,
    RecordOutcome,
    error_text,
    record_key,
    record_of,
)
from hourhand.domain.durable.signals import (
    MAX_UNCONSUMED,
    Signal,
    mark_consumed,
    next_signal,
    signal_of,
    signal_prefix,
    take_signal,
)
from hourhand.domain.durable.tokens import SECRET_BYTES, CallbackToken
from hourhand.domain.durable.writes import (
    Alternative,
    Scope,
    cursor_allowed,
    interruption_allowed,
    outcome_allowed,
    put_record,
    start_allowed,
    step_allowed,
    wait_allowed,
)
from hourhand.domain.jobs.job import ErrorInfo, Job, JobStatus
from hourhand.domain.jobs.retry import RetryPolicy
from hourhand.domain.jobs.waiting import WaitKind
from hourhand.domain.side_items import Compares, Lacks, Stored
from hourhand.domain.times import from_ms, to_ms
from hourhand.ports.durable_run import ReversedRun
from hourhand.services.durable.read_ahead import ReadAhead
from hourhand.services.durable.values import RunPorts, Values

MAX_REWRITES = 5
"""How often a record may change between our read and our write before the call gives up."""

INTERRUPTED = ErrorInfo(
    type="StepInterrupted",
    message="The worker was lost while the step ran. Whether it had its effect is not known.",
    retryable=False,
)
CALLBACK_TIMEOUT = ErrorInfo(
    type="CallbackTimeout",
    message="The callback was not completed in time.",
    retryable=False,
)


@dataclass(slots=True)
class Invocation:
    """Implements the port `DurableRun` over the side items of the run's job.

    ``replays_only``: it writes nothing, and ends at the first new call, as if the run was lost.
    ``new_records``: how many records it wrote. A run with new records made progress.
    """

    ports: RunPorts
    job: Job
    journal: Journal
    scope: Scope
    replays_only: bool = False
    new_records: int = field(default=0, init=False)
    _index: int = field(init=False)
    _was_warned: bool = field(default=False, init=False)
    _values: Values = field(init=False)
    _ahead: ReadAhead = field(init=False)

    def __post_init__(self) -> None:
        """Go on to count where a replay in place begins."""
        self._index = self.journal.newest_index(self.scope.token)
        self._values = Values(self.ports, self.scope)
        self._ahead = ReadAhead(self._values, self.journal)

    @property
    def run_id(self) -> str:
        """The id of the run's job."""
        return self.scope.run_id

    @property
    def segment(self) -> int:
        """How often the run restarted."""
        return self.scope.segment

    @property
    def api_url(self) -> str:
        """The URL of the API, without a slash at its end; empty where it is not known."""
        return self.ports.api_url.rstrip("/")

    @property
    def newest_token(self) -> int:
        """The token of the newest record: of this invocation, or one before; 0 without one."""
        return self.journal.newest_token()

    # --- steps ---

    def path_of(self, path: str, aliases: tuple[str, ...]) -> str:
        """Return the path under which a call is recorded: its own, or that of an older name."""
        if self.journal.stored(RecordKind.STEP, path) is not None:
            return path
        older = (renamed(path, name) for name in aliases)
        return next((p for p in older if self.journal.stored(RecordKind.STEP, p)), path)

    def step_key(self, path: str) -> str:
        """Return the idempotency key of a step."""
        return step_key(self.run_id, self.segment, path, self.journal.reset_round(path))

    def begin_step(
        self, path: str, options: StepOptions, *, fits: bool
    ) -> Value | Recorded | Failure | Try | Suspension:
        """Look a step up; see the port."""
        record = self._find(RecordKind.STEP, path)
        number, delay = 1, timedelta(0)
        if record is not None:
            match record.outcome:
                case RecordOutcome.SUCCEEDED:
                    return Recorded() if options.is_lazy else Value(self.text_of(record))
                case RecordOutcome.FAILED:
                    return Failure(record.error)
                case RecordOutcome.RETRYING:
                    number = record.count + 1
                    delay = self._time_to(record.until_ms)
                    if delay > IN_PLACE:
                        return Suspension(WaitKind.TIME, path, from_ms(record.until_ms or 0))
                case _:
                    number = max(record.count, 1)
                    if options.is_once and record.round == self.scope.round:
                        return self._interrupted(record)
        if not fits and self.new_records > 0:
            return NOW
        return Try(path, number, self.step_key(path), self.ports.clock.now(), record, delay)

    def result_of(self, path: str) -> Value:
        """Return the result of a step that is recorded."""
        record = self.journal.stored(RecordKind.STEP, path)
        assert record is not None, "begin_step comes first"
        return Value(self.text_of(record))

    def start_step(self, attempt: Try, options: StepOptions) -> Try | Value | Failure:
        """Record that the function of a step is about to be called, for one that needs it."""
        self._require_writable()
        attempt = replace(attempt, began_at=self.ports.clock.now(), delay=timedelta(0))
        if not options.has_start:
            return attempt
        values: dict[str, Stored | None] = {
            "o": RecordOutcome.STARTED.value,
            "n": attempt.number,
            "bg": to_ms(attempt.began_at),
            "cm": 1 if options.is_compensated else None,
            "pv": 1 if options.is_private else None,
        }
        floor = self._floor(RecordKind.STEP, attempt.path, is_once=options.is_once)
        allowed = start_allowed(self.scope, floor, attempt.seen, is_once=options.is_once)
        is_ours, standing = self._put(RecordKind.STEP, attempt.path, values, allowed)
        if not is_ours:
            return self._settled(standing)
        # Written first, read after: the component that ends the run writes it, then reads the
        # journal. So this worker sees the end, or that component sees the start.
        self._require_own()
        return replace(attempt, seen=standing)

    def end_step(self, attempt: Try, options: StepOptions, text: str) -> Value | Failure:
        """Record a result; return what is recorded, which may be that of another worker."""
        values = {"o": RecordOutcome.SUCCEEDED.value, **self._kept(attempt.path, text)}
        return self._end(attempt, options, values, Value(text)) or Value(text)

    def fail_step(
        self,
        attempt: Try,
        options: StepOptions,
        error: ErrorInfo,
        *,
        policy: RetryPolicy,
        delay: timedelta | None,
        counts: bool,
        fits: bool,
    ) -> Try | Suspension | Failure | Value:
        """Decide what follows a failed try, and record it where it must be."""
        if counts and (not error.retryable or attempt.number >= policy.max_attempts):
            failed = {"o": RecordOutcome.FAILED.value, "r": error_text(error)}
            return self._end(attempt, options, failed, Failure(error)) or Failure(error)
        wait = delay if delay is not None else self._delay(policy, attempt.number)
        done = attempt.number if counts else attempt.number - 1
        following = replace(attempt, number=done + 1, delay=wait)
        if wait <= IN_PLACE and fits and not options.has_start:
            return following
        due = self.ports.clock.now() + wait
        values: dict[str, Stored | None] = {
            "o": RecordOutcome.RETRYING.value,
            "r": error_text(error),
            "u": to_ms(due),
        }
        ended = self._end(replace(attempt, number=done), options, values, None)
        if ended is not None:
            return ended
        if wait <= IN_PLACE and fits:
            seen = self.journal.stored(RecordKind.STEP, attempt.path)
            return replace(following, seen=seen)
        return Suspension(WaitKind.TIME, attempt.path, due)

    def _end(
        self,
        attempt: Try,
        options: StepOptions,
        values: Mapping[str, Stored | None],
        answer: Value | Failure | None,
    ) -> Value | Failure | None:
        """Record how a try ended; return ``answer``, or what another worker recorded before."""
        path, seen = attempt.path, attempt.seen
        whole = {
            **values,
            "n": attempt.number,
            "bg": to_ms(attempt.began_at),
            "e": to_ms(self.ports.clock.now()),
            "cm": 1 if options.is_compensated else None,
            "pv": 1 if options.is_private else None,
            "lz": 1 if options.is_lazy else None,
        }
        floor = self._floor(RecordKind.STEP, path, is_once=options.is_once)
        for _ in range(MAX_REWRITES):
            if options.has_start:
                # The start names the try that began; one that is not counted keeps its number.
                started = seen.count if seen is not None else attempt.number
                allowed = outcome_allowed(self.scope, started)
            else:
                allowed = step_allowed(self.scope, floor, seen)
            is_ours, standing = self._put(RecordKind.STEP, path, whole, allowed)
            if is_ours:
                return answer
            if options.has_start or standing.outcome is not RecordOutcome.RETRYING:
                break
            if isinstance(answer, Value):
                # Another worker failed where this one succeeded: its result stands.
                seen = standing
                continue
            break
        return self._settled(standing)

    def _interrupted(self, record: Record) -> Failure | Value:
        """Record that a step that runs once was interrupted: it may have had its effect."""
        values: dict[str, Stored | None] = {
            "o": RecordOutcome.FAILED.value,
            "n": record.count,
            "bg": record.began_ms,
            "e": to_ms(self.ports.clock.now()),
            "r": error_text(INTERRUPTED),
            "cm": 1 if record.is_compensated else None,
            "pv": 1 if record.is_private else None,
        }
        if record.token >= self.scope.token:
            raise RunLost
        allowed = interruption_allowed(self.scope, record)
        is_ours, standing = self._put(RecordKind.STEP, record.path, values, allowed)
        return Failure(INTERRUPTED) if is_ours else self._settled(standing)

    def _settled(self, standing: Record) -> Value | Failure:
        """Return what another worker recorded. Raises `RunLost` if that is no end."""
        if standing.outcome is RecordOutcome.SUCCEEDED:
            return Value(self.text_of(standing))
        if standing.outcome is RecordOutcome.FAILED and standing.round == self.scope.round:
            return Failure(standing.error)
        raise RunLost

    def _delay(self, policy: RetryPolicy, number: int) -> timedelta:
        return policy.delay(number, self.ports.randomness.fraction())

    # --- waits ---

    def sleep(self, path: str, until: datetime | timedelta) -> timedelta | Suspension:
        """Return how long to sleep in place, or that the run suspends."""
        record = self._find(RecordKind.WAIT, path, SLEEP)
        if record is None:
            if isinstance(until, timedelta):
                until = self.ports.clock.now() + until
            values: dict[str, Stored | None] = {
                "o": RecordOutcome.WAITING.value,
                "bg": to_ms(self.ports.clock.now()),
                "u": to_ms(until),
                "wt": SLEEP,
            }
            floor = self._floor(RecordKind.WAIT, path)
            _, record = self._put(RecordKind.WAIT, path, values, self.scope.may_put(floor))
        rest = self._time_to(record.until_ms)
        if rest > IN_PLACE:
            return Suspension(WaitKind.TIME, path, from_ms(record.until_ms or 0))
        return rest

    def wait_for_signal(
        self, path: str, name: str, timeout: timedelta | None, *, has_default: bool
    ) -> Value | TimedOut | Suspension:
        """Return the payload of the next signal of this name."""
        record = self._find(RecordKind.WAIT, path, SIGNAL + name, drops_timeouts=not has_default)
        if record is not None and record.is_settled:
            return self._waited(record)
        floor = self._floor(RecordKind.WAIT, path, drops_timeouts=not has_default)
        signal = self._next_signal(name, path)
        if signal is not None:
            values: dict[str, Stored | None] = {
                "o": RecordOutcome.SUCCEEDED.value,
                "wt": SIGNAL + name,
                "g": signal.id,
                "e": to_ms(self.ports.clock.now()),
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
            "o": RecordOutcome.TIMED_OUT.value,
            "wt": SIGNAL + name,
            "u": record.until_ms,
            "e": to_ms(self.ports.clock.now()),
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
            "o": RecordOutcome.WAITING.value,
            "bg": to_ms(self.ports.clock.now()),
            "u": to_ms(until),
            "wt": what,
        }
        _, record = self._put(RecordKind.WAIT, path, values, self.scope.may_put(floor))
        return record

    def _next_signal(self, name: str, path: str) -> Signal | None:
        """Return the signal that the wait at ``path`` takes."""
        items = self.ports.side_items.query_items(
            self.run_id, prefix=signal_prefix(name), limit=MAX_UNCONSUMED + 1
        )
        if len(items) > MAX_UNCONSUMED:
            self.ports.telemetry.warning(
                "A run has more signals of a name than a wait reads.",
                job_id=self.run_id,
                signal=name,
                limit=MAX_UNCONSUMED,
            )
        taken = {one[1:] for one in self.journal.signals_taken()}
        signals = [signal_of(item) for item in items]
        found = self._choose(signals, taken, path)
        while found is not None and branch_of(path) and found.taken_by != path:
            # Another owner may run the branches in another order: the signal's own item says
            # which of them has it.
            update = take_signal(self.run_id, found, path, self.scope.keep_until)
            if self.ports.side_items.write_item(update).is_applied:
                break
            # One less to choose from, so this ends.
            taken.add(f"{found.name}#{found.id}")
            found = self._choose(signals, taken, path)
        return found

    def _choose(self, signals: Sequence[Signal], taken: set[str], path: str) -> Signal | None:
        return next_signal(signals, created_ms=self.scope.created_ms, taken=taken, path=path)

    def open_callback(
        self, path: str, timeout: timedelta | None, heartbeat: timedelta | None
    ) -> str:
        """Return the token of a callback: the same in every replay."""
        record = self._find(RecordKind.CALLBACK, path)
        if record is None:
            secret = self.ports.randomness.secret()[:SECRET_BYTES]
            now = self.ports.clock.now()
            values: dict[str, Stored | None] = {
                "o": RecordOutcome.WAITING.value,
                "sc": secret.hex(),
                "bg": to_ms(now),
                "u": None if timeout is None else to_ms(now + timeout),
                "hb": None if heartbeat is None else to_ms(now),
                "hs": None if heartbeat is None else round(heartbeat.total_seconds()),
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
        values: dict[str, Stored | None] = {
            "o": RecordOutcome.FAILED.value,
            "sc": record.secret,
            "bg": record.began_ms,
            "u": record.until_ms,
            "e": to_ms(self.ports.clock.now()),
            "r": error_text(CALLBACK_TIMEOUT),
        }
        beat = record.beat_ms
        unchanged = Lacks("hb") if beat is None else Compares("hb", "=", beat)
        waits = Compares("o", "=", RecordOutcome.WAITING.value)
        allowed = ((self.scope.is_own, waits, unchanged),)
        _, standing = self._put(RecordKind.CALLBACK, record.path, values, allowed)
        return standing

    # --- other calls ---

    def now(self, path: str) -> datetime:
        """Return the time that was recorded at the first call."""
        record = self._find(RecordKind.STEP, path)
        if record is None:
            now_ms = to_ms(self.ports.clock.now())
            values: dict[str, Stored | None] = {
                "o": RecordOutcome.SUCCEEDED.value,
                "n": 1,
                "bg": now_ms,
                "e": now_ms,
                "r": json.dumps(now_ms),
            }
            floor = self._floor(RecordKind.STEP, path)
            _, record = self._put(RecordKind.STEP, path, values, self.scope.may_put(floor))
        return from_ms(int(json.loads(record.text or "0")))

    def version(self, path: str) -> int:
        """Return 1 if the run takes a change of the code, 0 if it was past it before."""
        if self.journal.change(path) is not None:
            return 1
        if self.journal.is_past(branch_of(path)):
            return 0
        values = {"o": RecordOutcome.SUCCEEDED.value, "r": "1"}
        floor = self._floor(RecordKind.CHANGE, path)
        self._put(RecordKind.CHANGE, path, values, self.scope.may_put(floor))
        return 1

    def place(self, path: str) -> Place:
        """Return how far an iteration is."""
        record = self._find(RecordKind.CURSOR, path)
        return Place() if record is None else Place(record.text or "null", record.is_settled)

    def save_place(self, path: str, place: Place) -> None:
        """Save how far an iteration is. Raises `RunLost` if another worker is further."""
        before = self.journal.stored(RecordKind.CURSOR, path)
        saves = before.count if before is not None else 0
        outcome = RecordOutcome.SUCCEEDED if place.is_done else RecordOutcome.WAITING
        now_ms = to_ms(self.ports.clock.now())
        values: dict[str, Stored | None] = {
            "o": outcome.value,
            "n": saves + 1,
            "bg": now_ms if before is None else before.began_ms,
            "e": now_ms if place.is_done else None,
            "r": place.cursor_text,
        }
        floor = self._floor(RecordKind.CURSOR, path)
        allowed = cursor_allowed(self.scope, floor, saves)
        is_ours, _ = self._put(RecordKind.CURSOR, path, values, allowed)
        if not is_ours:
            raise RunLost

    def before_restart(self) -> None:
        """Mark the signals that this segment consumed, for the next one."""
        self._require_writable()
        now = self.ports.clock.now()
        for taken in sorted(self.journal.signals_taken()):
            name, _, signal_id = taken[1:].partition("#")
            update = mark_consumed(
                self.run_id, self.scope.created_ms, name, signal_id, self.segment, now
            )
            self.ports.side_items.write_item(update)

    def reverse(self, payload_text: str) -> ReversedRun | None:
        """Open the run that a compensation reverses; ``None``: there is nothing to reverse."""
        assert self.ports.open_reversed is not None, "only workers reverse runs"
        return self.ports.open_reversed(payload_text)

    # --- records ---

    def _find(
        self, kind: RecordKind, path: str, waits_for: str = "", *, drops_timeouts: bool = False
    ) -> Record | None:
        """Return the record in force of a call. Raises `RunEnds` if another kind of call has it.

        A failure of an older round counts as absent: the round runs it again.
        """
        record = self.journal.find(path)
        if record is None:
            return None
        if record.kind is not kind or record.waits_for != waits_for:
            raise RunEnds(
                REPLAY_MISMATCH,
                f"The call {path} is a {_what(kind, waits_for)} now, and its record is that of a "
                f"{_what(record.kind, record.waits_for)}. Fix the code, then redrive the run.",
            )
        is_older = record.round < self.scope.round
        fails = {RecordOutcome.FAILED} | ({RecordOutcome.TIMED_OUT} if drops_timeouts else set())
        return None if is_older and record.outcome in fails else record

    def _floor(
        self,
        kind: RecordKind,
        path: str,
        *,
        is_once: bool = False,
        drops_timeouts: bool = False,
    ) -> int:
        """Return the round below which a record counts as absent."""
        record = self.journal.stored(kind, path)
        dropped = {RecordOutcome.FAILED}
        if is_once:
            dropped.add(RecordOutcome.STARTED)
        if drops_timeouts:
            dropped.add(RecordOutcome.TIMED_OUT)
        if record is not None and record.outcome in dropped:
            return self.scope.round
        return self.journal.reset_round(path)

    def _put(
        self,
        kind: RecordKind,
        path: str,
        values: Mapping[str, Stored | None],
        allowed: tuple[Alternative, ...],
    ) -> tuple[bool, Record]:
        """Write a record; return whether it stands as written, and the record that stands."""
        self._require_writable()
        self._require_room()
        index = self._index + 1
        update = put_record(self.scope, kind, path, index, values, allowed=allowed)
        written = self.ports.side_items.write_item(update)
        item = written.item
        if item is None:
            raise RunLost
        record = record_of(item)
        # A call whose answer was lost is repeated, and then meets its own record.
        is_ours = written.is_applied or record.order == (self.scope.token, index)
        if is_ours:
            self._index = index
            self.new_records += 1
        self.journal.put(record)
        return is_ours, record

    def _read_again(self, record: Record) -> Record:
        key = record_key(self.run_id, self.segment, record.kind, record.path)
        item = self.ports.side_items.read_item(key)
        if item is None:
            raise RunLost
        record = record_of(item)
        self.journal.put(record)
        return record

    def _require_writable(self) -> None:
        if self.replays_only:
            raise RunLost

    def _require_own(self) -> None:
        current = self.ports.jobs.get(self.run_id)
        if (
            current is None
            or current.status is not JobStatus.RUNNING
            or current.token != self.scope.token
        ):
            raise RunLost

    def _require_room(self) -> None:
        used = max(len(self.journal) / MAX_RECORDS, self.journal.size_bytes / MAX_JOURNAL_BYTES)
        if used >= 1:
            raise RunEnds(
                "JournalFull",
                f"The journal has {len(self.journal):,} records and {self.journal.size_bytes:,} "
                f"bytes; at most {MAX_RECORDS:,} and {MAX_JOURNAL_BYTES:,} are allowed in a "
                "segment. Call ctx.restart(payload) before that.",
            )
        if used >= WARN_AT and not self._was_warned:
            self._was_warned = True
            self.ports.telemetry.warning(
                "The journal of a run is nearly full. Then the run ends DEAD.",
                job_id=self.run_id,
                records=len(self.journal),
                size_bytes=self.journal.size_bytes,
            )

    def _time_to(self, until_ms: int | None) -> timedelta:
        rest = from_ms(until_ms or 0) - self.ports.clock.now()
        return max(rest, timedelta(0))

    # --- values ---

    def text_of(self, record: Record) -> str:
        """Return the result of a call. Raises `RunEnds` if it is gone."""
        text = self._ahead.text_of(record)
        if text is None:
            raise RunEnds("JournalExpired", f"The result of the call {record.path} is gone.")
        return text

    def _kept(self, path: str, text: str) -> dict[str, Stored | None]:
        return self._values.keep(path, text)

    def _kept_of(self, path: str, signal: Signal) -> dict[str, Stored | None]:
        """Return the attributes that keep the payload of a signal."""
        if signal.text is None:
            return {"vr": signal.place}
        return self._values.keep(path, signal.text)


def _callback_due(record: Record) -> datetime | None:
    """Return when a callback times out, by its deadline or by its last heartbeat."""
    times = [record.until_ms] if record.until_ms is not None else []
    if record.beat_ms is not None and record.beat_seconds is not None:
        times.append(record.beat_ms + 1000 * record.beat_seconds)
    return from_ms(min(times)) if times else None


def _what(kind: RecordKind, waits_for: str) -> str:
    if kind is not RecordKind.WAIT:
        return KIND_NAMES[kind]
    return "sleep" if waits_for == SLEEP else f"wait for the signal {waits_for[1:]}"
