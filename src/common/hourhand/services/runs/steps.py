"""The steps of a durable run, and the other calls that are recorded at once."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime, timedelta

from hourhand.domain.ids import canonical_json
from hourhand.domain.jobs.job import ErrorInfo
from hourhand.domain.jobs.retry import RetryPolicy
from hourhand.domain.jobs.waiting import WaitKind
from hourhand.domain.runs import names
from hourhand.domain.runs.answers import (
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
from hourhand.domain.runs.calls import (
    BeforeRestart,
    BeginStep,
    EndStep,
    FailStep,
    OpenBranch,
    PathOf,
    PlaceOf,
    RecordedNow,
    ResultOf,
    Reverse,
    SavePlace,
    StartStep,
    VersionOf,
)
from hourhand.domain.runs.effects import Effects, earlier_effects, effects_of, effects_text
from hourhand.domain.runs.names import branch_of, renamed
from hourhand.domain.runs.records import Record, RecordKind, RecordOutcome, error_text
from hourhand.domain.runs.signals import CONSUMED_KEPT, mark_consumed
from hourhand.domain.runs.writes import (
    cursor_allowed,
    interruption_allowed,
    outcome_allowed,
    start_allowed,
    step_allowed,
)
from hourhand.domain.side_items import Stored
from hourhand.domain.times import floor_ms, from_ms, to_ms
from hourhand.ports.durable_run import ReversedRun
from hourhand.services.runs.records import Answers, RunRecords

MAX_REWRITES = 5
"""How often a record may change between our read and our write before the call gives up."""

INTERRUPTED = ErrorInfo(
    type="StepInterrupted",
    message="The worker was lost while the step ran. Whether it had its effect is not known.",
    retryable=False,
)


# --- steps ---


def path_of(run: RunRecords, call: PathOf) -> str:
    """Return the path under which a call is recorded: its own, or that of an older name."""
    if run.journal.stored(RecordKind.STEP, call.path) is not None:
        return call.path
    older = (renamed(call.path, name) for name in call.aliases)
    return next((p for p in older if run.journal.stored(RecordKind.STEP, p)), call.path)


def begin_step(run: RunRecords, call: BeginStep) -> Value | Recorded | Failure | Try | Suspension:
    """Look a step up; see the port."""
    record = run.find(RecordKind.STEP, call.path)
    number, delay = 1, timedelta(0)
    if record is not None:
        match record.outcome:
            case RecordOutcome.SUCCEEDED:
                return Recorded() if call.options.is_lazy else Value(run.text_of(record))
            case RecordOutcome.FAILED:
                return Failure(record.error)
            case RecordOutcome.RETRYING:
                number = record.count + 1
                delay = run.time_to(record.until_ms)
                if delay > IN_PLACE:
                    return Suspension(WaitKind.TIME, call.path, from_ms(record.until_ms or 0))
            case _:
                number = max(record.count, 1)
                if call.options.is_once and record.round == run.scope.round:
                    return _interrupted(run, record)
    if not call.fits and run.new_records > 0:
        return NOW
    key = names.step_key(run.run_id, run.segment, call.path, run.journal.key_round(call.path))
    return Try(call.path, number, key, run.ports.clock.now(), record, delay)


def result_of(run: RunRecords, call: ResultOf) -> Value:
    """Return the result of a step that is recorded."""
    record = run.journal.stored(RecordKind.STEP, call.path)
    assert record is not None, "begin_step comes first"
    return Value(run.text_of(record))


def start_step(run: RunRecords, call: StartStep) -> Try | Value | Failure:
    """Record that the function of a step is about to be called, for one that needs it."""
    attempt = call.attempt
    run.require_writable()
    attempt = replace(attempt, began_at=run.ports.clock.now(), delay=timedelta(0))
    if not call.options.has_start:
        return attempt
    values: dict[str, Stored | None] = {
        "outcome": RecordOutcome.STARTED.value,
        "count": attempt.number,
        "began_ms": to_ms(attempt.began_at),
        "is_private": 1 if call.options.is_private else None,
        **_reversal(run, attempt.path, call.options, _effects_before(run, attempt.path)),
    }
    floor = run.floor(RecordKind.STEP, attempt.path, is_once=call.options.is_once)
    allowed = start_allowed(run.scope, floor, attempt.seen, is_once=call.options.is_once)
    is_ours, standing = run.put(RecordKind.STEP, attempt.path, values, allowed)
    if not is_ours:
        return _settled(run, standing)
    # Written first, read after: the component that ends the run writes it, then reads the
    # journal. So this worker sees the end, or that component sees the start.
    run.require_own()
    return replace(attempt, seen=standing)


def end_step(run: RunRecords, call: EndStep) -> Value | Failure:
    """Record a result; return what is recorded, which may be that of another worker."""
    values = {"outcome": RecordOutcome.SUCCEEDED.value, **run.kept(call.attempt.path, call.text)}
    return _end(run, call.attempt, call.options, values, Value(call.text)) or Value(call.text)


def fail_step(run: RunRecords, call: FailStep) -> Try | Suspension | Failure | Value:
    """Decide what follows a failed try, and record it where it must be."""
    attempt, options = call.attempt, call.options
    is_last = attempt.number >= call.policy.max_attempts
    failed: dict[str, Stored | None] = {
        "outcome": RecordOutcome.FAILED.value,
        "text": error_text(call.error),
        "is_unknown": 1 if call.is_unknown else None,
    }
    if call.counts and (not call.error.retryable or is_last):
        failure = Failure(call.error)
        return _end(run, attempt, options, failed, failure) or failure
    wait = call.delay if call.delay is not None else _delay(run, call.policy, attempt.number)
    done = attempt.number if call.counts else attempt.number - 1
    following = replace(attempt, number=done + 1, delay=wait)
    if wait <= IN_PLACE and call.fits and not options.has_start:
        return following
    due = floor_ms(run.ports.clock.now() + wait)
    retried = {**failed, "outcome": RecordOutcome.RETRYING.value, "until_ms": to_ms(due)}
    ended = _end(run, replace(attempt, number=done), options, retried, None)
    if ended is not None:
        return ended
    if wait <= IN_PLACE and call.fits:
        seen = run.journal.stored(RecordKind.STEP, attempt.path)
        return replace(following, seen=seen)
    return Suspension(WaitKind.TIME, attempt.path, due)


def _end(
    run: RunRecords,
    attempt: Try,
    options: StepOptions,
    values: Mapping[str, Stored | None],
    answer: Value | Failure | None,
) -> Value | Failure | None:
    """Record how a try ended; return ``answer``, or what another worker recorded before."""
    path, seen = attempt.path, attempt.seen
    effects = _effects_before(run, path)
    if options.has_start:
        # A start says what was before it, and this try has ended.
        effects = earlier_effects(seen)
        is_unknown = values.get("is_unknown") is not None or (seen is not None and seen.is_unknown)
        if is_unknown and seen is not None and seen.is_compensated:
            effects.setdefault(run.journal.key_round(path), None)
    whole = {
        **values,
        **_reversal(run, path, options, effects),
        "count": attempt.number,
        "began_ms": to_ms(attempt.began_at),
        "ended_ms": to_ms(run.ports.clock.now()),
        "is_private": 1 if options.is_private else None,
        "is_lazy": 1 if options.is_lazy else None,
    }
    floor = run.floor(RecordKind.STEP, path, is_once=options.is_once)
    for _ in range(MAX_REWRITES):
        if options.has_start:
            # The start names the try that began; one that is not counted keeps its number.
            started = seen.count if seen is not None else attempt.number
            allowed = outcome_allowed(run.scope, started)
        else:
            allowed = step_allowed(run.scope, floor, seen)
        is_ours, standing = run.put(RecordKind.STEP, path, whole, allowed)
        if is_ours:
            return answer
        if options.has_start or standing.outcome is not RecordOutcome.RETRYING:
            break
        if isinstance(answer, Value):
            # Another worker failed where this one succeeded: its result stands.
            seen = standing
            continue
        break
    return _settled(run, standing)


def _effects_before(run: RunRecords, path: str) -> Effects:
    """Return the effects that a step may have had, whether its record counts or not."""
    return effects_of(run.journal.stored(RecordKind.STEP, path))


def _reversal(
    run: RunRecords, path: str, options: StepOptions, effects: Effects
) -> dict[str, Stored | None]:
    """Return the attributes of a record that its compensation reads.

    Code without the compensation keeps those of earlier effects: they are not reversed, and
    the compensation says so.
    """
    if not options.is_compensated and not effects:
        return {"is_compensated": None, "is_unknown": None}
    key_round = run.journal.key_round(path)
    return {
        "is_compensated": 1,
        "is_unknown": 1 if key_round in effects else None,
        "key_round": key_round or None,
        "effects_text": effects_text(effects, key_round),
    }


def _interrupted(run: RunRecords, record: Record) -> Failure | Value:
    """Record that a step that runs once was interrupted: it may have had its effect."""
    values: dict[str, Stored | None] = {
        "outcome": RecordOutcome.FAILED.value,
        "count": record.count,
        "began_ms": record.began_ms,
        "ended_ms": to_ms(run.ports.clock.now()),
        "text": error_text(INTERRUPTED),
        "is_compensated": 1 if record.is_compensated else None,
        "is_unknown": 1 if record.is_compensated else None,
        "key_round": record.key_round or None,
        "effects_text": record.effects_text,
        "is_private": 1 if record.is_private else None,
    }
    if record.token >= run.scope.token:
        raise RunLost
    allowed = interruption_allowed(run.scope, record)
    is_ours, standing = run.put(RecordKind.STEP, record.path, values, allowed)
    return Failure(INTERRUPTED) if is_ours else _settled(run, standing)


def _settled(run: RunRecords, standing: Record) -> Value | Failure:
    """Return what another worker recorded. Raises `RunLost` if that is no end."""
    if standing.outcome is RecordOutcome.SUCCEEDED:
        return Value(run.text_of(standing))
    if standing.outcome is RecordOutcome.FAILED and standing.round == run.scope.round:
        return Failure(standing.error)
    raise RunLost


def _delay(run: RunRecords, policy: RetryPolicy, number: int) -> timedelta:
    return policy.delay(number, run.ports.randomness.fraction())


# --- other calls ---


def now(run: RunRecords, call: RecordedNow) -> datetime:
    """Return the time that was recorded at the first call."""
    record = run.find(RecordKind.STEP, call.path)
    if record is None:
        now_ms = to_ms(run.ports.clock.now())
        values: dict[str, Stored | None] = {
            "outcome": RecordOutcome.SUCCEEDED.value,
            "count": 1,
            "began_ms": now_ms,
            "ended_ms": now_ms,
            "text": json.dumps(now_ms),
        }
        floor = run.floor(RecordKind.STEP, call.path)
        _, record = run.put(RecordKind.STEP, call.path, values, run.scope.may_put(floor))
    return from_ms(int(json.loads(record.text or "0")))


def open_branch(run: RunRecords, call: OpenBranch) -> None:
    """Note that the handler came to a branch."""
    run.journal.open_branch(call.path)


def version(run: RunRecords, call: VersionOf) -> int:
    """Return 1 if the run takes a change of the code, 0 if it was past it before."""
    if run.journal.change(call.path) is not None:
        return 1
    if run.journal.is_past(branch_of(call.path)):
        return 0
    values = {"outcome": RecordOutcome.SUCCEEDED.value, "text": "1"}
    floor = run.floor(RecordKind.CHANGE, call.path)
    run.put(RecordKind.CHANGE, call.path, values, run.scope.may_put(floor))
    return 1


def place(run: RunRecords, call: PlaceOf) -> Place:
    """Return how far an iteration is."""
    record = run.find(RecordKind.CURSOR, call.path)
    if record is None:
        return Place()
    names = json.loads(record.names_text or "{}")
    return Place(record.text or "null", record.is_settled, names)


def save_place(run: RunRecords, call: SavePlace) -> None:
    """Save how far an iteration is. Raises `RunLost` if another worker is further."""
    before = run.journal.stored(RecordKind.CURSOR, call.path)
    saves = before.count if before is not None else 0
    outcome = RecordOutcome.SUCCEEDED if call.place.is_done else RecordOutcome.WAITING
    now_ms = to_ms(run.ports.clock.now())
    values: dict[str, Stored | None] = {
        "outcome": outcome.value,
        "count": saves + 1,
        "began_ms": now_ms if before is None else before.began_ms,
        "ended_ms": now_ms if call.place.is_done else None,
        "text": call.place.cursor_text,
        "names_text": canonical_json(call.place.names) if call.place.names else None,
    }
    floor = run.floor(RecordKind.CURSOR, call.path)
    allowed = cursor_allowed(run.scope, floor, saves)
    is_ours, _ = run.put(RecordKind.CURSOR, call.path, values, allowed)
    if not is_ours:
        raise RunLost


def before_restart(run: RunRecords, _: BeforeRestart) -> None:
    """Mark the signals that this segment consumed, for the next one."""
    run.require_writable()
    kept_until = run.ports.clock.now() + CONSUMED_KEPT
    for taken in sorted(run.journal.signals_taken()):
        name, _sign, signal_id = taken[1:].partition("#")
        update = mark_consumed(
            run.run_id, run.scope.created_ms, name, signal_id, run.segment, kept_until
        )
        run.ports.side_items.write_item(update)


def reverse(run: RunRecords, call: Reverse) -> ReversedRun | None:
    """Open the run that a compensation reverses; ``None``: there is nothing to reverse."""
    return run.ports.compensations.open(call.payload_text)


ANSWERS: Answers = {
    PathOf: path_of,
    BeginStep: begin_step,
    ResultOf: result_of,
    StartStep: start_step,
    EndStep: end_step,
    FailStep: fail_step,
    RecordedNow: now,
    OpenBranch: open_branch,
    VersionOf: version,
    PlaceOf: place,
    SavePlace: save_place,
    BeforeRestart: before_restart,
    Reverse: reverse,
}
"""What answers each call."""
