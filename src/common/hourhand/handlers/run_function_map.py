"""A map of a durable run over a plain function: each item is a step of its own."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from typing import TYPE_CHECKING, Any

from hourhand.handlers._errors import MapFailed, StepFailed, Suspended
from hourhand.handlers.run_child_calls import MapResults

if TYPE_CHECKING:
    from hourhand.handlers.run_context import RunContext

MAX_THREADS = 16
"""The items that are worked off at a time."""


def map_in_threads(
    context: RunContext,
    path: str,
    function: Callable[[Any], Any],
    items: Sequence[Any],
    threads: int,
    tolerate: int | None,
) -> MapResults:
    """Call ``function`` with each item, in threads. Raises `MapFailed`.

    A step that must wait, for its retry or for another invocation, suspends the run once the others
    that began have ended.
    """

    def step(index: int) -> Any:
        if context.suspending or context.state.unwinding is not None:
            return Suspended("another item unwinds the run")
        # A context of its own: it belongs to its thread.
        own = context.below(f"{path}:")
        try:
            return own.carry_out_now(own.item_step(f"{path}:{index}", function, items[index]))
        except (StepFailed, Suspended) as end:
            return end

    with ThreadPoolExecutor(threads) as pool:
        # Each in a context of its own: one is not entered twice at a time.
        begun = [pool.submit(copy_context().run, step, index) for index in range(len(items))]
        ended = [one.result() for one in begun]
    return _results(context, path, ended, tolerate)


async def map_async(
    context: RunContext,
    path: str,
    function: Callable[[Any], Any],
    items: Sequence[Any],
    tasks: int,
    tolerate: int | None,
) -> MapResults:
    """Call ``function`` with each item, and await it. See `map_in_threads`."""
    room = asyncio.Semaphore(tasks)

    async def step(index: int) -> Any:
        async with room:
            if context.state.unwinding is not None:
                return Suspended("another item unwinds the run")
            own = context.below(f"{path}:")
            course = own.item_step(f"{path}:{index}", function, items[index])
            try:
                return await own.carry_out_async(course)
            except (StepFailed, Suspended) as end:
                return end

    ended = await asyncio.gather(*(step(index) for index in range(len(items))))
    return _results(context, path, ended, tolerate)


def _results(
    context: RunContext, path: str, ended: Sequence[Any], tolerate: int | None
) -> MapResults:
    if any(isinstance(end, Suspended) for end in ended):
        raise context.suspended_with_branches()
    failed = [n for n, end in enumerate(ended) if isinstance(end, StepFailed)]
    if tolerate is not None and len(failed) > tolerate:
        raise MapFailed(path, f"{len(failed)} of {len(ended)} items failed. {ended[failed[0]]}")
    values = (None if isinstance(end, StepFailed) else end for end in ended)
    return MapResults(values, [], failed)
