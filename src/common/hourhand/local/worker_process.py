"""A worker process of the local cloud: what Lambda calls an execution environment.

``python -m hourhand.local.worker_process`` reads invocations as JSON lines from standard input and
answers each with what the worker function returned. It ends when its input does.
"""

from __future__ import annotations

import os
import queue
from typing import Any

from hourhand.local.child_lines import take_over_streams, write_line
from hourhand.local.entry_points import LocalContext
from hourhand.local.environment import allow_current_folder
from hourhand.local.function_process import invoke, load_function, receive

FUNCTION = "worker"


def main() -> None:
    """Serve invocations until the input ends."""
    requests, replies = take_over_streams()
    allow_current_folder()
    handler = load_function(FUNCTION)
    invocations: queue.SimpleQueue[dict[str, Any]] = queue.SimpleQueue()
    receive(requests, invocations.put)
    # An empty batch wires the function and imports the handlers, before there is work.
    warm_up = LocalContext(function_name=FUNCTION, aws_request_id="warm-up")
    write_line(replies, {"ready": os.getpid(), **invoke(handler, {"Records": []}, warm_up)})
    while True:
        request = invocations.get()
        context = LocalContext(function_name=FUNCTION, aws_request_id=request["request_id"])
        answer = invoke(handler, request["event"], context)
        write_line(replies, {"request_id": request["request_id"], **answer})


if __name__ == "__main__":
    main()
