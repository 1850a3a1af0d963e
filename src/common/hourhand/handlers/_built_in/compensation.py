"""The built-in handler that reverses the steps of a run that ended."""

from __future__ import annotations

import asyncio
import inspect
import json
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from typing import Any

from hourhand.domain.ids import canonical_json
from hourhand.domain.jobs.job import ErrorInfo
from hourhand.domain.jobs.run_times import DEFAULT_RUN
from hourhand.domain.runs.answers import NOT_DURABLE
from hourhand.domain.runs.calls import IsRecorded, PathOf, Reverse
from hourhand.domain.runs.reversals import COMPENSATION
from hourhand.handlers._context import Attempt, JobContext
from hourhand.handlers._errors import NotRetryable, ResultNotJson, StepFailed, holds_suspension
from hourhand.handlers._registry import Handler, Registry
from hourhand.handlers._results import kept_text
from hourhand.handlers._runs.context import RunContext, branch_of, durable_context
from hourhand.handlers._runs.state import RunState
from hourhand.handlers._runs.steps import step_at
from hourhand.ports.durable_run import Effect, ReversedRun

MAX_NAMED = 10
"""Steps that are named which could not be reversed."""

SAME_FIRST = 2
"""Attempts that are lost in a row before reversals that may kill their process come last."""


Reversed = tuple[Effect, Callable[[Any, str], Any]]
"""What an effect is reversed by."""


class NotReversed(Exception):
    """A step of a run may have had its effect, and the code registers no reversal for it."""


class ReversalsFailed(NotRetryable):
    """The reversals of some steps failed permanently; all others were called."""


def compensation_handler(find: Callable[[str], Handler]) -> Handler:
    """Return the handler of compensations; ``find`` returns the handlers whose steps it reverses.

    Raises `UnknownHandler`, as ``find``.
    """

    def compensate(context: RunContext, payload: dict) -> dict[str, Any]:  # type: ignore[type-arg]
        """Reverse the steps of a run, the newest first."""
        branch = branch_of(context)
        reversed_run: ReversedRun | None = branch.answer_now(Reverse(canonical_json(payload)))
        if reversed_run is None:
            return {"run": payload["run"], "reversed": []}
        handler = find(reversed_run.job.handler)
        if not handler.is_durable:
            raise branch.state.unwind(NOT_DURABLE)
        state = _replay(context, handler, reversed_run)
        if isinstance(state.unwinding, ErrorInfo):
            # The code does not fit the journal: this job ends as the run would.
            raise branch.state.unwind(state.unwinding)
        answer = reversed_run.run.answer
        functions = {answer(PathOf(path, older)): each for path, older, each in state.reversals}
        effects, done, failed = reversed_run.effects, [], []
        newest_first = [
            (effect, functions[path])
            for path in reversed(functions)
            for effect in effects.get(path, ())
        ]
        for (path, key, text), function in _killers_last(context, newest_first):
            result = None if text is None else json.loads(text)
            try:
                step_at(branch, path, _to_the_end, function, result, key)
                done.append(path)
            except StepFailed as error:
                failed.append(str(error))
        left = sorted(effects.keys() - functions.keys())
        told = (
            f"{len(failed)} reversals failed. {'; '.join(failed[:MAX_NAMED])}. " if failed else ""
        )
        if left:
            raise NotReversed(
                f"The replay of the run came to no step {', '.join(left[:MAX_NAMED])}. Deploy code "
                f"that calls it with compensate, then redrive this job. {told}"
            )
        if failed:
            raise ReversalsFailed(f"{told}Redrive this job to repeat only these.")
        return {"run": payload["run"], "reversed": done}

    return Registry().add(
        COMPENSATION, compensate, run_timeout_seconds=int(DEFAULT_RUN.total_seconds())
    )


def _killers_last(context: RunContext, reversals: list[Reversed]) -> list[Reversed]:
    """Return the reversals in their order, behind all others those that may kill their process.

    Such a reversal leaves no record. The order is no part of the journal: each has its own path.
    """
    unknown = [one for one in reversals if not branch_of(context).run.answer(IsRecorded(one[0][0]))]
    killers = unknown[: max(context.attempt - SAME_FIRST, 0)]
    return [one for one in reversals if one not in killers] + killers


def _replay(context: RunContext, handler: Handler, target: ReversedRun) -> RunState:
    """Replay a run to the end of its journal; return the state, with the reversals of its steps."""
    is_async = inspect.iscoroutinefunction(handler.function)
    branch = branch_of(context)
    attempt = Attempt(
        ends_at_monotonic=branch.ends_at_monotonic,
        monotonic=branch.monotonic,
        limit_seconds=target.job.timeout_seconds,
    )
    replayed = JobContext(
        job_id=target.job.id,
        run_at=target.job.run_at,
        deadline=context.deadline,
        tenant=target.job.tenant,
        tags=dict(target.job.tags),
        idempotency_key=target.job.idempotency_key,
        logger=context.logger,
        _attempt=attempt,
    )
    state = RunState(is_async=is_async, passes=branch.state.passes)
    arguments = handler.arguments(target.payload_text)
    # Its end was an error, or it was cancelled: it raises here what it raised there.
    try:
        value = handler.function(durable_context(replayed, target.run, state), *arguments)
        if inspect.isawaitable(value):
            _wait_for(value)
    except BaseException as error:  # noqa: BLE001 - whatever it raises, it raised before
        if not holds_suspension(error):
            state.failure(error)
    return state


def _to_the_end(function: Callable[[Any, str], Any], result: Any, key: str) -> Any:
    """Call a reversal; one of an ``async`` handler may be ``async``, too.

    It ran, whatever it returned: what cannot be kept is left out.
    """
    value = function(result, key)
    value = _wait_for(value) if inspect.isawaitable(value) else value
    try:
        kept_text(value)
    except ResultNotJson:
        return None
    return value


def _wait_for(value: Any) -> Any:
    # A thread has one loop, and this one may have a loop already.
    with ThreadPoolExecutor(1) as thread:
        return thread.submit(copy_context().run, asyncio.run, _awaited(value)).result()


async def _awaited(value: Any) -> Any:
    return await value
