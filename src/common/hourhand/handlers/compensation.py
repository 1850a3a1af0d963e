"""The built-in handler that reverses the steps of a run that ended."""

from __future__ import annotations

import asyncio
import inspect
import json
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from typing import Any

from hourhand.domain.durable.calls import NOT_DURABLE
from hourhand.domain.durable.reversals import COMPENSATION
from hourhand.domain.ids import canonical_json
from hourhand.domain.jobs.job import ErrorInfo
from hourhand.domain.jobs.run_times import DEFAULT_RUN
from hourhand.handlers._errors import is_suspension
from hourhand.handlers._registry import Handler, Registry
from hourhand.handlers.run_context import RunContext
from hourhand.handlers.run_state import RunState
from hourhand.ports.durable_run import ReversedRun

MAX_NAMED = 10
"""Steps that are named which could not be reversed."""


class NotReversed(Exception):
    """A step of a run may have had its effect, and the code registers no reversal for it."""


def compensation_handler(find: Callable[[str], Handler]) -> Handler:
    """Return the handler of compensations; ``find`` returns the handlers whose steps it reverses.

    Raises `UnknownHandler`, as ``find``.
    """

    def compensate(context: RunContext, payload: dict) -> dict[str, Any]:  # type: ignore[type-arg]
        """Reverse the steps of a run, the newest first."""
        reversed_run = context.run.reverse(canonical_json(payload))
        if reversed_run is None:
            return {"run": payload["run"], "reversed": []}
        handler = find(reversed_run.job.handler)
        if not handler.is_durable:
            raise context.state.unwind(NOT_DURABLE)
        state = _replay(context, handler, reversed_run)
        if isinstance(state.unwinding, ErrorInfo):
            # The code does not fit the journal: this job ends as the run would.
            raise context.state.unwind(state.unwinding)
        path_of = reversed_run.run.path_of
        functions = {path_of(path, older): function for path, older, function in state.reversals}
        done = []
        for path, function in reversed(functions.items()):
            if path in reversed_run.outcomes:
                key, text = reversed_run.outcomes[path]
                result = None if text is None else json.loads(text)
                context.step_at(path, _to_the_end, function, result, key)
                done.append(path)
        left = sorted(reversed_run.outcomes.keys() - functions.keys())
        if left:
            raise NotReversed(
                f"The replay of the run came to no step {', '.join(left[:MAX_NAMED])}. Deploy code "
                "that calls it with compensate, then redrive this job."
            )
        return {"run": payload["run"], "reversed": done}

    return Registry().add(
        COMPENSATION, compensate, run_timeout_seconds=int(DEFAULT_RUN.total_seconds())
    )


def _replay(context: RunContext, handler: Handler, target: ReversedRun) -> RunState:
    """Replay a run to the end of its journal; return the state, with the reversals of its steps."""
    is_async = inspect.iscoroutinefunction(handler.function)
    replayed = RunContext(
        job_id=target.job.id,
        run_at=target.job.run_at,
        deadline=context.deadline,
        tenant=target.job.tenant,
        tags=dict(target.job.tags),
        idempotency_key=target.job.idempotency_key,
        logger=context.logger,
        ends_at_monotonic=context.ends_at_monotonic,
        monotonic=context.monotonic,
        run=target.run,
        limit_seconds=target.job.timeout_seconds,
        state=RunState(is_async=is_async),
    )
    arguments = handler.arguments(target.payload_text)
    # Its end was an error, or it was cancelled: it raises here what it raised there.
    try:
        value = handler.function(replayed, *arguments)
        if inspect.isawaitable(value):
            _wait_for(value)
    except Exception:  # noqa: BLE001, S110 - whatever the handler raises, it raised before
        pass
    except BaseException as error:
        if not is_suspension(error):
            raise
    return replayed.state


def _to_the_end(function: Callable[[Any, str], Any], result: Any, key: str) -> Any:
    """Call a reversal; one of an ``async`` handler may be ``async``, too."""
    value = function(result, key)
    return _wait_for(value) if inspect.isawaitable(value) else value


def _wait_for(value: Any) -> Any:
    # A thread has one loop, and this one may have a loop already.
    with ThreadPoolExecutor(1) as thread:
        return thread.submit(copy_context().run, asyncio.run, _awaited(value)).result()


async def _awaited(value: Any) -> Any:
    return await value
