"""A scheduler process of the local cloud that says when each of its sweeps begins.

``python -m bench.lateness.watched_scheduler --tick-seconds 4 --name scheduler-1``: all else is
`hourhand.local.scheduler_process`. Whoever started it may then kill it in mid-sweep.
"""

from __future__ import annotations

import sys
from typing import Any

from hourhand.local import scheduler_process
from hourhand.services.ticks.sweep import Sweep

SWEEP_BEGINS = "the sweep begins"


def main() -> None:
    """Tick until the input ends."""
    begin = Sweep.__init__

    def told(*arguments: Any, **named: Any) -> None:
        print(SWEEP_BEGINS, file=sys.stderr, flush=True)
        begin(*arguments, **named)

    # This process is the bench's own: nobody else's sweeps speak.
    Sweep.__init__ = told  # type: ignore[method-assign]
    scheduler_process.main()


if __name__ == "__main__":
    main()
