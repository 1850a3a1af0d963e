"""What the chaos puts into a worker or scheduler process: a clock that the driver can step.

Only what `hourhand.aws.clock` reads is shifted: it is the one place of the product that asks for
the time.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from hourhand.aws.clock import SystemClock
from hourhand.local import entry_points
from proof.chaos.board import Board
from proof.chaos.plants import PLANT_VARIABLE, PLANTS
from proof.rig import PLACE

HOOK = "proof.chaos.child:prepare"
BOARD_VARIABLE = "CHAOS_BOARD"
BEGAN = "chaos_began_at"
"""What a tick's answer has beside the product's own fields."""


def prepare() -> None:
    """Prepare a process that has a place in the cloud, before it begins."""
    place = os.environ.get(PLACE)
    if place is None:
        return
    board = Board(Path(os.environ[BOARD_VARIABLE]))
    planted = os.environ.get(PLANT_VARIABLE)
    if planted:
        PLANTS[planted]()
    _shift_clock(board, place)
    if place.startswith("scheduler"):
        _note_ticks(board, place)


def _shift_clock(board: Board, place: str) -> None:
    right = SystemClock.now

    def shifted(clock: SystemClock) -> datetime:
        offset_ms = round(board.clock_offset(place) * 1000)
        return right(clock) + timedelta(milliseconds=offset_ms)

    setattr(SystemClock, "now", shifted)  # noqa: B010 - a method is replaced, on purpose


def _note_ticks(board: Board, place: str) -> None:
    board.set_ticking(place, 0.0)
    load = entry_points.load_entry_point

    def load_noting(
        function: str, services: Callable[[], Any] | None = None
    ) -> Callable[[Any, Any], Any]:
        handler = load(function, services)

        def tick(event: Any, context: Any) -> Any:
            began = time.time()
            board.set_ticking(place, began)
            try:
                return {**handler(event, context), BEGAN: began}
            finally:
                board.set_ticking(place, 0.0)

        return tick

    entry_points.load_entry_point = load_noting
