"""Bodies that yield the calls of their context, so that each is a sync and an async handler."""

from __future__ import annotations

import inspect
from typing import Any


async def awaited(value: Any) -> Any:
    """Return a value, awaited if it can be."""
    return await value if inspect.isawaitable(value) else value


def driven(generator: Any) -> Any:
    """Run a body in a sync handler."""
    answer = None
    while True:
        try:
            answer = generator.send(answer)
        except StopIteration as end:
            return end.value


async def driven_async(generator: Any) -> Any:
    """Run a body in an async handler, which awaits what it yields."""
    answer = None
    while True:
        try:
            call = generator.send(answer)
        except StopIteration as end:
            return end.value
        try:
            answer = await awaited(call)
        except Exception as error:  # noqa: BLE001 - the body may expect it
            try:
                call = generator.throw(error)
            except StopIteration as end:
                return end.value
            answer = await awaited(call)
