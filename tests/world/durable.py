"""Durable handlers in a simulated world: functions over a `RunContext`, in one thread."""

from __future__ import annotations

import asyncio
import inspect
import logging
from collections.abc import Callable
from typing import Any

from hourhand.domain.jobs.job import Job
from hourhand.handlers import Handler, Registry, Snooze, StopSignal, is_suspension, result_text
from hourhand.handlers._context import attempt_of
from hourhand.handlers._runs.context import branch_of
from hourhand.ports.clock import Clock
from hourhand.ports.handler_directory import HandlerInfo
from hourhand.ports.handler_runner import Finished, Pulse
from hourhand.testing import Crash
from hourhand.worker import (
    Raised,
    Returned,
    error_info,
    finished_call,
    handler_of,
    job_context,
    run_context,
)
from tests.world.runs import Behaviour, HandlerKilled
from tests.world.world import World

WEEK = 7 * 86_400
DURABLE = HandlerInfo(name="greet", run_timeout_seconds=WEEK)


def durable_world(**options: Any) -> World:
    """Return a world whose one handler is durable."""
    return World(handlers=(DURABLE,), **options)


def inline_payload(job: Job) -> str:
    """Return a payload that is in the job's own item."""
    return job.payload.text or "null"


def durable(
    function: Callable[[Any], Any],
    clock: Clock,
    *,
    run_timeout_seconds: int | None = WEEK,
    payload_of: Callable[[Job], str] = inline_payload,
) -> Behaviour:
    """Return what a worker does whose durable handler is ``function``; it takes the context.

    Without ``run_timeout_seconds`` the handler is not durable, and reverses runs at most.
    ``payload_of``: reads a payload that may not be in the job's own item.
    """
    registered = Registry().add("greet", function, run_timeout_seconds=run_timeout_seconds)

    def behave(job: Job, pulse: Pulse) -> Finished:
        handler = handler_of(job, lambda _name: registered)
        context = job_context(
            job,
            None,
            _Stop(clock),
            clock=clock,
            logger=logging.getLogger("tests"),
            pulse=pulse,
        )
        opened = run_context(context, handler, pulse)
        if isinstance(opened, Finished):
            return opened
        branch_of(opened).state.passes = (Crash, HandlerKilled)
        return finished_call(_call(handler, opened, payload_of(job)), opened, None)

    return behave


def _call(handler: Handler, context: Any, payload_text: str) -> Returned | Raised:
    try:
        value = handler.function(context, *handler.arguments(payload_text))
        if inspect.isawaitable(value):
            value = asyncio.run(_awaited(value))
        attempt_of(context).before_end()
        return Returned(result_text(value))
    except Exception as error:  # noqa: BLE001 - whatever a handler raises is its failure
        wish = error if isinstance(error, Snooze) else None
        return Raised(error_info(error), wish)
    except BaseException as error:
        if not is_suspension(error):
            raise
        return Returned("null", was_unwound=True)


async def _awaited(value: Any) -> Any:
    return await value


class _Stop(StopSignal):
    """Waits by the clock of the world."""

    def __init__(self, clock: Clock) -> None:
        super().__init__()
        self._clock = clock

    def wait(self, seconds: float | None = None) -> bool:
        self._clock.sleep(seconds or 0)
        return bool(self)
