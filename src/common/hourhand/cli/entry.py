"""The entry point of the installed script: Ctrl-C stops it quietly at any moment.

This module imports next to nothing, so that it runs almost at once. Loading the rest takes some
tenths of a second, in which Ctrl-C would print the traceback of an import, or be lost in it.
"""

from __future__ import annotations

import os
import signal
import sys
from typing import Any

INTERRUPTED = 130
"""The same as in `hourhand.cli.exits`, which is not loaded yet."""


def run() -> None:
    """Run the command; the entry point of the installed script and of ``python -m``."""
    if sys.stdout is None:
        # The caller closed it, and only the exit code matters.
        sys.stdout = os.fdopen(os.open(os.devnull, os.O_WRONLY), "w")
    # A shell without job control starts what stands before & with SIGINT ignored. That stays so.
    is_heeded = signal.getsignal(signal.SIGINT) is signal.default_int_handler
    try:
        try:
            _heed(is_heeded, _end_at_once)
            from hourhand.cli.main import main

            # From here on there may be something to close and to print.
            _heed(is_heeded, signal.default_int_handler)
            main()
        finally:
            # What remains is the interpreter's shutdown, which waits for threads.
            _heed(is_heeded, _end_at_once)
    except KeyboardInterrupt:
        sys.exit(INTERRUPTED)


def _heed(is_heeded: bool, how: Any) -> None:
    if is_heeded:
        signal.signal(signal.SIGINT, how)


def _end_at_once(_number: int, _frame: Any) -> None:
    os._exit(INTERRUPTED)
