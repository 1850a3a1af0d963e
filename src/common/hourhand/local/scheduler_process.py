"""A scheduler process of the local cloud: EventBridge's rule and the function behind it.

``python -m hourhand.local.scheduler_process --tick-seconds 60 --name scheduler-1`` invokes the
scheduler function with the event of a scheduled rule, at once and then every so many seconds. Each
line of its standard input has it load the function again, and tick at once: the handlers' manifest
has changed. It ends when its standard input does.
"""

from __future__ import annotations

import argparse
import os
import sys
import threading
import time
import uuid
from datetime import UTC, datetime
from typing import Any

from hourhand.domain.times import rfc3339
from hourhand.local.child_lines import take_over_streams, write_line
from hourhand.local.entry_points import Handler, LocalContext
from hourhand.local.function_process import invoke, load_function, receive

FUNCTION = "scheduler"

TICK_LIMIT_SECONDS = 55
"""The deployed function's time limit: a tick ends before the next one begins."""


def scheduled_event(now: datetime) -> dict[str, Any]:
    """Return the event of an EventBridge rule with a schedule."""
    return {
        "version": "0",
        "id": str(uuid.uuid4()),
        "detail-type": "Scheduled Event",
        "source": "aws.events",
        "account": "000000000000",
        "time": rfc3339(now),
        "region": os.environ.get("AWS_REGION", ""),
        "resources": ["arn:aws:events:local:000000000000:rule/hourhand-tick"],
        "detail": {},
    }


def main() -> None:
    """Tick until the input ends."""
    options = _parse(sys.argv[1:])
    requests, replies = take_over_streams()
    changes = threading.Event()
    receive(requests, lambda _: changes.set())
    handler = load_function(FUNCTION)
    write_line(replies, {"ready": os.getpid()})
    next_tick = time.monotonic()
    while True:
        write_line(replies, _tick(handler, options.name))
        # Ticks that a long one ran over are skipped, as EventBridge's second try would find it.
        next_tick = max(next_tick + options.tick_seconds, time.monotonic())
        # That moment may have passed since it was read.
        if _is_changed_within(max(0.0, next_tick - time.monotonic()), changes):
            changes.clear()
            handler = load_function(FUNCTION)
            next_tick = time.monotonic()


def _is_changed_within(seconds: float, changes: threading.Event) -> bool:
    return changes.wait(seconds)


def _parse(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tick-seconds", type=float, required=True)
    parser.add_argument("--name", required=True)
    return parser.parse_args(arguments)


def _tick(handler: Handler, name: str) -> dict[str, Any]:
    # A lease is held by the request id, so the process's name in it identifies the leader.
    request_id = f"{name}-{uuid.uuid4().hex[:12]}"
    context = LocalContext(
        function_name=FUNCTION, aws_request_id=request_id, limit_seconds=TICK_LIMIT_SECONDS
    )
    began = time.monotonic()
    # The next tick is the retry of one that raised.
    answer = invoke(handler, scheduled_event(datetime.now(UTC)), context)
    return {"request_id": request_id, "took_seconds": time.monotonic() - began, **answer}


if __name__ == "__main__":
    main()
