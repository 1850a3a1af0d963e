"""A process that serves the local cloud over memory, with its console, until its input ends.

In a process of its own it has handlers of its own: a registry is one for all of a process.
"""

from __future__ import annotations

import sys

from hourhand.local.memory_cloud import MemoryCloud, MemoryOptions

HANDLERS = "tests.browser.handlers"
WORKERS = 4
TICK_SECONDS = 1.0


def main() -> None:
    """Print the cloud's address as a line; end with whoever started this."""
    options = MemoryOptions(handlers=HANDLERS, port=0, tick_seconds=TICK_SECONDS, workers=WORKERS)
    cloud = MemoryCloud(options, tell=lambda news: None)
    cloud.start()
    sys.stdout.write(f"{cloud.url}\n")
    sys.stdout.flush()
    sys.stdin.read()


if __name__ == "__main__":
    main()
