"""One invocation of a durable run: its calls are answered from the journal, or recorded there."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from hourhand.domain.durable.calls import (
    IN_PLACE,
    NOW,
    Failure,
    Place,
    Recorded,
    RunLost,
    StepOptions,
    Suspension,
    Try,
    Value,
)
from hourhand.domain.durable.effects import Effects, earlier_effects, effects_of, effects_text
from hourhand.domain.durable.names import branch_of, renamed, step_key
from hourhand.domain.durable.records import Record, RecordKind, RecordOutcome, error_text
from hourhand.domain.durable.signals import CONSUMED_KEPT, mark_consumed
from hourhand.domain.durable.writes import (
    cursor_allowed,
    interruption_allowed,
    outcome_allowed,
    start_allowed,
    step_allowed,
)
from hourhand.domain.ids import canonical_json
from hourhand.domain.jobs.job import ErrorInfo
from hourhand.domain.jobs.retry import RetryPolicy
from hourhand.domain.jobs.waiting import WaitKind
from hourhand.domain.side_items import Stored
from hourhand.domain.times import floor_ms, from_ms, to_ms
from hourhand.ports.durable_run import ReversedRun
from hourhand.services.durable.run_decisions import RunDecisions

MAX_REWRITES = 5
"""How often a record may change between our read and our write before the call gives up."""

INTERRUPTED = ErrorInfo(
    type="StepInterrupted",
    message="The worker was lost while the step ran. Whether it had its effect is not known.",
    retryable=False,
)


@dataclass(slots=True)
class Invocation(RunDecisions):
    """Implements the port `DurableRun` over the side items of the run's job."""

    # --- steps ---

    def path_of(self, path: str, aliases: tuple[str, ...]) -> str:
        """Return the path under which a call is recorded: its own, or that of an older name."""
        if self.journal.stored(RecordKind.STEP, path) is not None:
            return path
        older = (renamed(path, name) for name in aliases)
        return next((p for p in older if self.journal.stored(RecordKind.STEP, p)), path)

    def step_key(self, path: str) -> str:
        """Return the idempotency key of a step."""
        return step_key(self.run_id, self.segment, path, self.journal.key_round(path))

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
            "outcome": RecordOutcome.STARTED.value,
            "count": attempt.number,
            "began_ms": to_ms(attempt.began_at),
            "is_private": 1 if options.is_private else None,
            **self._reversal(attempt.path, options, self._effects_before(attempt.path)),
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
        values = {"outcome": RecordOutcome.SUCCEEDED.value, **self._kept(attempt.path, text)}
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
        is_unknown: bool = False,
    ) -> Try | Suspension | Failure | Value:
        """Decide what follows a failed try, and record it where it must be."""
        if counts and (not error.retryable or attempt.number >= policy.max_attempts):
            failed = {
                "outcome": RecordOutcome.FAILED.value,
                "text": error_text(error),
                "is_unknown": 1 if is_unknown else None,
            }
            return self._end(attempt, options, failed, Failure(error)) or Failure(error)
        wait = delay if delay is not None else self._delay(policy, attempt.number)
        done = attempt.number if counts else attempt.number - 1
        following = replace(attempt, number=done + 1, delay=wait)
        if wait <= IN_PLACE and fits and not options.has_start:
            return following
        due = floor_ms(self.ports.clock.now() + wait)
        values: dict[str, Stored | None] = {
            "outcome": RecordOutcome.RETRYING.value,
            "text": error_text(error),
            "until_ms": to_ms(due),
            "is_unknown": 1 if is_unknown else None,
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
        effects = self._effects_before(path)
        if options.has_start:
            # A start says what was before it, and this try has ended.
            effects = earlier_effects(seen)
            is_unknown = values.get("is_unknown") is not None or (
                seen is not None and seen.is_unknown
            )
            if is_unknown and seen is not None and seen.is_compensated:
                effects.setdefault(self.journal.key_round(path), None)
        whole = {
            **values,
            **self._reversal(path, options, effects),
            "count": attempt.number,
            "began_ms": to_ms(attempt.began_at),
            "ended_ms": to_ms(self.ports.clock.now()),
            "is_private": 1 if options.is_private else None,
            "is_lazy": 1 if options.is_lazy else None,
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

    def _effects_before(self, path: str) -> Effects:
        """Return the effects that a step may have had, whether its record counts or not."""
        return effects_of(self.journal.stored(RecordKind.STEP, path))

    def _reversal(
        self, path: str, options: StepOptions, effects: Effects
    ) -> dict[str, Stored | None]:
        """Return the attributes of a record that its compensation reads.

        Code without the compensation keeps those of earlier effects: they are not reversed, and
        the compensation says so.
        """
        if not options.is_compensated and not effects:
            return {"is_compensated": None, "is_unknown": None}
        key_round = self.journal.key_round(path)
        return {
            "is_compensated": 1,
            "is_unknown": 1 if key_round in effects else None,
            "key_round": key_round or None,
            "effects_text": effects_text(effects, key_round),
        }

    def _interrupted(self, record: Record) -> Failure | Value:
        """Record that a step that runs once was interrupted: it may have had its effect."""
        values: dict[str, Stored | None] = {
            "outcome": RecordOutcome.FAILED.value,
            "count": record.count,
            "began_ms": record.began_ms,
            "ended_ms": to_ms(self.ports.clock.now()),
            "text": error_text(INTERRUPTED),
            "is_compensated": 1 if record.is_compensated else None,
            "is_unknown": 1 if record.is_compensated else None,
            "key_round": record.key_round or None,
            "effects_text": record.effects_text,
            "is_private": 1 if record.is_private else None,
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

    # --- other calls ---

    def now(self, path: str) -> datetime:
        """Return the time that was recorded at the first call."""
        record = self._find(RecordKind.STEP, path)
        if record is None:
            now_ms = to_ms(self.ports.clock.now())
            values: dict[str, Stored | None] = {
                "outcome": RecordOutcome.SUCCEEDED.value,
                "count": 1,
                "began_ms": now_ms,
                "ended_ms": now_ms,
                "text": json.dumps(now_ms),
            }
            floor = self._floor(RecordKind.STEP, path)
            _, record = self._put(RecordKind.STEP, path, values, self.scope.may_put(floor))
        return from_ms(int(json.loads(record.text or "0")))

    def open_branch(self, path: str) -> None:
        """Note that the handler came to a branch."""
        self.journal.open_branch(path)

    def version(self, path: str) -> int:
        """Return 1 if the run takes a change of the code, 0 if it was past it before."""
        if self.journal.change(path) is not None:
            return 1
        if self.journal.is_past(branch_of(path)):
            return 0
        values = {"outcome": RecordOutcome.SUCCEEDED.value, "text": "1"}
        floor = self._floor(RecordKind.CHANGE, path)
        self._put(RecordKind.CHANGE, path, values, self.scope.may_put(floor))
        return 1

    def place(self, path: str) -> Place:
        """Return how far an iteration is."""
        record = self._find(RecordKind.CURSOR, path)
        if record is None:
            return Place()
        names = json.loads(record.names_text or "{}")
        return Place(record.text or "null", record.is_settled, names)

    def save_place(self, path: str, place: Place) -> None:
        """Save how far an iteration is. Raises `RunLost` if another worker is further."""
        before = self.journal.stored(RecordKind.CURSOR, path)
        saves = before.count if before is not None else 0
        outcome = RecordOutcome.SUCCEEDED if place.is_done else RecordOutcome.WAITING
        now_ms = to_ms(self.ports.clock.now())
        values: dict[str, Stored | None] = {
            "outcome": outcome.value,
            "count": saves + 1,
            "began_ms": now_ms if before is None else before.began_ms,
            "ended_ms": now_ms if place.is_done else None,
            "text": place.cursor_text,
            "names_text": canonical_json(place.names) if place.names else None,
        }
        floor = self._floor(RecordKind.CURSOR, path)
        allowed = cursor_allowed(self.scope, floor, saves)
        is_ours, _ = self._put(RecordKind.CURSOR, path, values, allowed)
        if not is_ours:
            raise RunLost

    def before_restart(self) -> None:
        """Mark the signals that this segment consumed, for the next one."""
        self._require_writable()
        kept_until = self.ports.clock.now() + CONSUMED_KEPT
        for taken in sorted(self.journal.signals_taken()):
            name, _, signal_id = taken[1:].partition("#")
            update = mark_consumed(
                self.run_id, self.scope.created_ms, name, signal_id, self.segment, kept_until
            )
            self.ports.side_items.write_item(update)

    def reverse(self, payload_text: str) -> ReversedRun | None:
        """Open the run that a compensation reverses; ``None``: there is nothing to reverse."""
        return self.ports.compensations.open(payload_text)
