"""A worker process of the local cloud: what Lambda calls an execution environment.

``python -m hourhand.local.worker_process`` reads invocations as JSON lines from standard input and
answers each with what the worker function returned. It ends when its input does.
"""

from __future__ import annotations

import contextlib
import os
import queue
import threading
import traceback
from collections.abc import Callable
from typing import IO, Any

from hourhand.local.child_lines import read_lines, take_over_streams, write_line
from hourhand.local.entry_points import LocalContext, load_function
from hourhand.local.environment import allow_current_folder

FUNCTION = "worker"


def main() -> None:
    """Serve invocations until the input ends."""
    requests, replies = take_over_streams()
    allow_current_folder()
    handler = load_function(FUNCTION)
    invocations: queue.SimpleQueue[dict[str, Any]] = queue.SimpleQueue()
    threading.Thread(target=_receive, args=(requests, invocations), daemon=True).start()
    # An empty batch wires the function and imports the handlers, before there is work.
    warm_up = LocalContext(function_name=FUNCTION, aws_request_id="warm-up")
    write_line(replies, {"ready": os.getpid(), **_invoke(handler, {"Records": []}, warm_up)})
    while True:
        request = invocations.get()
        context = LocalContext(function_name=FUNCTION, aws_request_id=request["request_id"])
        answer = _invoke(handler, request["event"], context)
        write_line(replies, {"request_id": request["request_id"], **answer})


def _receive(requests: IO[str], invocations: queue.SimpleQueue[dict[str, Any]]) -> None:
    """Pass on what arrives; end the process when nothing more can.

    Even in the middle of an invocation: the cloud that would take the outcome is gone.
    """
    for message in read_lines(requests):
        invocations.put(message)
    os._exit(0)


def _invoke(handler: Callable[[Any, Any], Any], event: Any, context: LocalContext) -> Any:
    """Return what the function returned, or the error that it raised, as Lambda reports it."""
    try:
        return {"result": handler(event, context)}
    except Exception as error:  # noqa: BLE001 (an invocation's error is its answer)
        # User code may have closed what is written to; the answer has a stream of its own.
        with contextlib.suppress(OSError, ValueError):
            traceback.print_exc()
        return {"error": {"errorType": type(error).__name__, "errorMessage": str(error)}}


if __name__ == "__main__":
    main()
