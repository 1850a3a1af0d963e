"""What the processes of the functions have alike: the function, its input and its answers."""

from __future__ import annotations

import contextlib
import os
import threading
import traceback
from collections.abc import Callable
from typing import IO, Any

from hourhand.local.child_lines import read_lines
from hourhand.local.entry_points import MEMORY_VARIABLE, Handler, LocalContext, load_entry_point


def load_function(function: str) -> Handler:
    """Load a function over what the environment names: the cloud's memory, or an endpoint."""
    access = os.environ.get(MEMORY_VARIABLE)
    if not access:
        return load_entry_point(function)
    from hourhand.local.memory_functions import load_memory_function

    return load_memory_function(function, access)


def receive(requests: IO[str], take: Callable[[dict[str, Any]], object]) -> None:
    """Call ``take`` with what arrives, from a thread; end the process when nothing more can.

    Even in the middle of an invocation: the cloud that would take the outcome is gone.
    """

    def run() -> None:
        for message in read_lines(requests):
            take(message)
        os._exit(0)

    threading.Thread(target=run, daemon=True).start()


def invoke(handler: Handler, event: Any, context: LocalContext) -> dict[str, Any]:
    """Return what the function returned, or the error that it raised, as Lambda reports it."""
    try:
        return {"result": handler(event, context)}
    except Exception as error:  # noqa: BLE001 (an invocation's error is its answer)
        # User code may have closed what is written to; the answer has a stream of its own.
        with contextlib.suppress(OSError, ValueError):
            traceback.print_exc()
        return {"error": {"errorType": type(error).__name__, "errorMessage": str(error)}}
