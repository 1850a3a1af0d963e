"""One version of the functions, in a process of its own: what Lambda runs of one deployment.

``python function_process.py api scheduler`` takes invocations of these functions as JSON lines,
``{"function", "event", "id"}``, one after the other, and answers each with what the function
returned. Which version it runs decides ``PYTHONPATH``; so it uses only what every version has.
"""

from __future__ import annotations

import sys
import traceback
from collections.abc import Callable
from typing import Any

import hourhand
from hourhand.local.child_lines import read_lines, take_over_streams, write_line
from hourhand.local.entry_points import load_entry_point
from hourhand.local.lambda_context import LocalContext


def main(functions: list[str]) -> None:
    """Serve invocations until the input ends."""
    requests, replies = take_over_streams()
    handlers = {name: load_entry_point(name) for name in functions}
    if "worker" in handlers:
        # An empty batch wires the function and imports the handlers, before there is work.
        handlers["worker"]({"Records": []}, LocalContext(function_name="", aws_request_id=""))
    write_line(replies, {"ready": hourhand.__file__})
    for request in read_lines(requests):
        write_line(replies, _invoke(handlers[request["function"]], request))


def _invoke(handler: Callable[[Any, Any], Any], request: dict[str, Any]) -> dict[str, Any]:
    context = LocalContext(function_name=request["function"], aws_request_id=request["id"])
    try:
        return {"result": handler(request["event"], context)}
    except Exception as error:  # noqa: BLE001 (an invocation's error is its answer)
        traceback.print_exc()
        return {"error": f"{type(error).__name__}: {error}"}


if __name__ == "__main__":
    main(sys.argv[1:])
