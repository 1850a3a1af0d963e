"""A worker or scheduler process as the local cloud has it, with a clock that the driver can step.

``python -m proof.chaos.child worker`` is `hourhand.local.worker_process`, and with
``scheduler`` and its options `hourhand.local.scheduler_process`. Only what `hourhand.aws.clock`
reads is shifted: it is the one place of the product that asks for the time.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from hourhand.aws.clock import SystemClock
from hourhand.local import entry_points
from proof.chaos.board import Board
from proof.chaos.plants import PLANT_VARIABLE, PLANTS

BOARD_VARIABLE = "CHAOS_BOARD"
SLOT_VARIABLE = "CHAOS_SLOT"
BEGAN = "chaos_began_at"
"""What a tick's answer has beside the product's own fields."""


def main() -> None:
    """Become what the first argument says."""
    board, slot = Board(Path(os.environ[BOARD_VARIABLE])), int(os.environ[SLOT_VARIABLE])
    kind = sys.argv.pop(1)
    planted = os.environ.get(PLANT_VARIABLE)
    if planted:
        PLANTS[planted]()
    _shift_clock(board, slot)
    if kind == "scheduler":
        from hourhand.local import scheduler_process  # noqa: PLC0415 - only one of the two

        _tell_ticks(board, slot)
        scheduler_process.main()
    else:
        from hourhand.local import worker_process  # noqa: PLC0415

        worker_process.main()


def _shift_clock(board: Board, slot: int) -> None:
    right = SystemClock.now

    def shifted(clock: SystemClock) -> datetime:
        offset_ms = round(board.clock_offset(slot) * 1000)
        return right(clock) + timedelta(milliseconds=offset_ms)

    setattr(SystemClock, "now", shifted)  # noqa: B010 - a method is replaced, on purpose


def _tell_ticks(board: Board, slot: int) -> None:
    board.set_ticking(slot, 0.0)
    load = entry_points.load_entry_point

    def load_telling(function: str) -> Callable[[Any, Any], Any]:
        handler = load(function)

        def tick(event: Any, context: Any) -> Any:
            began = time.time()
            board.set_ticking(slot, began)
            try:
                return {**handler(event, context), BEGAN: began}
            finally:
                board.set_ticking(slot, 0.0)

        return tick

    entry_points.load_entry_point = load_telling


if __name__ == "__main__":
    main()
