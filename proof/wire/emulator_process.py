"""ministack, run by its own Python, with the time of its queues moved by a world's timeline.

``HOURHAND_WIRE_TIMELINE`` names the file that says how far, as eight bytes.
"""

from __future__ import annotations

import importlib
import mmap
import os
import struct
import threading
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

TIMELINE = "HOURHAND_WIRE_TIMELINE"
LOOK_SECONDS = 1.0


def move_time(file: Path) -> None:
    """Let the queues live in the world's time."""
    with file.open("r+b") as opened:
        shared = mmap.mmap(opened.fileno(), 8)

    def now() -> float:
        ahead: float = struct.unpack_from("<d", shared)[0]
        return time.time() + ahead

    queues: Any = importlib.import_module("ministack.services.sqs")
    queues.time = SimpleNamespace(time=now)


def end_with_parent() -> None:
    """End this process when whoever started it is gone."""
    parent = os.getppid()

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(LOOK_SECONDS)
        os._exit(0)

    threading.Thread(target=watch, daemon=True).start()


if __name__ == "__main__":
    end_with_parent()
    move_time(Path(os.environ[TIMELINE]))
    importlib.import_module("ministack.app").main()
