"""A process that serves the local cloud over memory, with its console, until its input ends.

In a process of its own it has handlers of its own: a registry is one for all of a process.
"""

from __future__ import annotations

import sys
from datetime import timedelta

from hourhand.domain.ticks.timings import Timings
from hourhand.local.cloud import CloudOptions, LocalCloud

HANDLERS = "tests.browser.handlers"
WORKERS = 4
TICK_SECONDS = 1.0
TIMINGS = Timings(heartbeat=timedelta(seconds=1))
"""A job's progress is told with its heartbeat, and no test wants to wait long for it."""


def main() -> None:
    """Print the cloud's address as a line; end with whoever started this."""
    options = CloudOptions(
        handlers=HANDLERS, port=0, tick_seconds=TICK_SECONDS, workers=WORKERS, timings=TIMINGS
    )
    cloud = LocalCloud(options, tell=lambda news: None)
    cloud.start()
    sys.stdout.write(f"{cloud.url}\n")
    sys.stdout.flush()
    sys.stdin.read()


if __name__ == "__main__":
    main()
