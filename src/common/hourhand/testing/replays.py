"""Replays of exported journals against new code: the safety net for changes of durable handlers."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, cast

from hourhand.domain.ids import canonical_json
from hourhand.domain.jobs.job import Content, ErrorInfo, Job, JobStatus
from hourhand.domain.runs.answers import Suspension
from hourhand.domain.runs.joins import ChildrenCall, JoinedCall, JoinRecord
from hourhand.domain.runs.records import (
    KIND_NAMES,
    Journal,
    Record,
    RecordKind,
    RecordOutcome,
    error_text,
)
from hourhand.domain.times import to_ms
from hourhand.handlers import Handler, JobContext, Registry, is_suspension
from hourhand.handlers._runs.context import RunContext, branch_of, durable_context
from hourhand.handlers._runs.state import Restart, RunState
from hourhand.memory.clock import START, MemoryClock
from hourhand.memory.job_store import MemoryJobStore
from hourhand.memory.object_store import MemoryObjectStore
from hourhand.memory.randomness import MemoryRandomness
from hourhand.memory.side_item_store import MemorySideItemStore
from hourhand.memory.telemetry import RecordingTelemetry
from hourhand.services.runs.children import Children
from hourhand.services.runs.invocation import Invocation
from hourhand.services.runs.journals import scope_of
from hourhand.services.runs.results import RunPorts
from hourhand.testing.events import ENDPOINT

_KINDS = {name: kind for kind, name in KIND_NAMES.items()}
_HOUR = timedelta(hours=1)


class ReplayMismatch(AssertionError):
    """The new code calls something else where the journal has a record, or something raised."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Replay:
    """How far a journal carries new code.

    ``outcome``: ``returned``, ``raised``, ``waits`` (for ``waits_for``), ``restarts``, or
    ``new_call``: it came to a call that has no record, and would go on. ``left_over``: paths of
    records that it did not come to.
    """

    outcome: str
    result: Any = None
    error: BaseException | None = None
    waits_for: str | None = None
    left_over: tuple[str, ...] = ()


def replay(journal: Mapping[str, Any], handler: Callable[..., Any]) -> Replay:
    """Run ``handler`` over an exported journal: ``hourhand runs journal ID``.

    No function of a step is called and nothing is written. Private results are None. Raises
    `ReplayMismatch` where the run would end so, and `ValueError` for what is no journal.
    """
    try:
        records = [_record(each) for each in journal["records"]]
        payload = journal["payload"]
        job = _job(journal)
    except (KeyError, TypeError) as wrong:
        raise ValueError(f"This is no journal: {wrong!r}") from wrong
    entry = _entry_of(str(journal["handler"]), handler)
    clock = MemoryClock(_latest(records))
    run = Invocation(
        _ports(clock),
        job,
        Journal(records, round_=job.round, resets={}),
        scope_of(job, clock.now() + _HOUR),
        replays_only=True,
    )
    context = durable_context(
        JobContext(job_id=job.id, run_at=job.run_at, deadline=clock.now() + _HOUR),
        run,
        RunState(is_async=inspect.iscoroutinefunction(handler)),
    )
    value, error = _call(entry, context, canonical_json(payload))
    return _judged(branch_of(context).state, run, value, error)


def _judged(state: RunState, run: Invocation, value: Any, error: BaseException | None) -> Replay:
    left_over = tuple(run.journal.unvisited())
    match state.unwinding:
        case ErrorInfo() as ended:
            raise ReplayMismatch(f"{ended.type}: {ended.message}")
        case Suspension() as suspension:
            return Replay(outcome="waits", waits_for=suspension.name, left_over=left_over)
        case Restart():
            return Replay(outcome="restarts", left_over=left_over)
        case None if error is not None:
            return Replay(outcome="raised", error=error, left_over=left_over)
        case None:
            return Replay(outcome="returned", result=value, left_over=left_over)
    return Replay(outcome="new_call", left_over=left_over)


def _call(
    handler: Handler, context: RunContext, payload_text: str
) -> tuple[Any, BaseException | None]:
    try:
        value = handler.function(context, *handler.arguments(payload_text))
        if inspect.isawaitable(value):
            value = asyncio.run(_awaited(value))
        branch_of(context).before_end()
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # noqa: BLE001 - what the handler raises is what is asked for
        return None, None if is_suspension(error) else error
    return value, None


async def _awaited(value: Any) -> Any:
    return await value


def _entry_of(name: str, function: Callable[..., Any]) -> Handler:
    return Registry().add(name, function, run_timeout_seconds=1)


def _ports(clock: MemoryClock) -> RunPorts:
    return RunPorts(
        jobs=MemoryJobStore(),
        side_items=MemorySideItemStore(),
        objects=MemoryObjectStore(),
        clock=clock,
        randomness=MemoryRandomness(),
        telemetry=RecordingTelemetry(),
        compensations=_NothingToReverse(),
        children=cast("Children", _EndedChildren()),
        api_url=ENDPOINT,
    )


class _NothingToReverse:
    """A replayed run reverses no other run."""

    def open(self, _payload_text: str) -> None:
        """Return nothing to reverse."""


class _EndedChildren:
    """The children of a replayed run: their results are not in the journal, and are null."""

    def read(self, job_ids: Sequence[str]) -> dict[str, Job]:
        """Return children that ended: whether they succeeded, the journal says."""
        null = Content(size_bytes=4, text="null")
        return {
            job_id: Job(
                id=job_id,
                handler="",
                status=JobStatus.SUCCEEDED,
                run_at=START,
                created_at=START,
                payload=null,
                result=null,
            )
            for job_id in job_ids
        }

    def result_text(self, _: Job) -> str:
        """Return null."""
        return "null"


def _job(journal: Mapping[str, Any]) -> Job:
    return Job(
        id=str(journal["job_id"]),
        handler=str(journal["handler"]),
        status=JobStatus.RUNNING,
        run_at=START,
        created_at=START,
        payload=Content(size_bytes=4, text="null"),
        round=int(journal["round"]),
        segment=int(journal["segment"]),
        token=max((int(each["token"]) for each in journal["records"]), default=0) + 1,
    )


def _record(each: Mapping[str, Any]) -> Record:
    error = each["error"]
    text = canonical_json(each["result"])
    if error is not None:
        text = error_text(ErrorInfo(type=error["type"], message=error["message"]))
    return Record(
        kind=RecordKind(_KINDS[each["kind"]]),
        path=each["path"],
        created_ms=to_ms(START),
        outcome=RecordOutcome(each["outcome"]),
        round=each["round"],
        token=each["token"],
        index=each["index"],
        count=each["attempts"],
        began_ms=_ms(each["started_at"]),
        ended_ms=_ms(each["finished_at"]),
        until_ms=_ms(each["until"]),
        text=text,
        signal=each["signal_id"],
        waits_for=each["waits_for"],
        is_compensated=each["compensates"],
        names_text=None if each["names"] is None else canonical_json(each["names"]),
        joined=_joined(each),
    )


def _joined(each: Mapping[str, Any]) -> JoinedCall | None:
    """Return the children of a call as they ended."""
    found = each.get("children")
    if found is None:
        return None
    ends = {int(index): int(code) for index, code in found["ends"].items()}
    names = ("total", "handler", "is_map", "is_abandoned", "window", "tolerate", "min_success")
    call = ChildrenCall(**{name: found[name] for name in names})
    return JoinedCall(
        str(found["key"]),
        tuple(
            JoinRecord(
                key=str(found["key"]),
                number=number,
                created_ms=to_ms(START),
                round=each["round"],
                token=each["token"],
                order=each["index"],
                began_ms=_ms(each["started_at"]),
                path=each["path"],
                expected=call.expected(number),
                call=call,
                ends={
                    index % call.chunk: code
                    for index, code in ends.items()
                    if index // call.chunk == number
                },
                result_text=None if each["result"] is None else canonical_json(each["result"]),
            )
            for number in range(call.records)
        ),
    )


def _ms(text: str | None) -> int | None:
    return None if text is None else to_ms(datetime.fromisoformat(text))


def _latest(records: list[Record]) -> datetime:
    """Return a time at which each sleep is over that the run came past."""
    times = [time for r in records for time in (r.began_ms, r.ended_ms) if time is not None]
    past = [to_ms(START), *times]
    newest = max(records, key=lambda record: record.order, default=None)
    sleeps = [r.until_ms for r in records if r.until_ms is not None and r is not newest]
    return datetime.fromtimestamp(max([*past, *sleeps]) / 1000, tz=START.tzinfo)
