"""Ended from outside, a part of the proof takes with it whatever it started."""

from __future__ import annotations

import atexit
import contextlib
import os
import signal
import subprocess
import sys
from collections import defaultdict
from pathlib import Path
from types import FrameType

TERMINATED = 128 + signal.SIGTERM
SECONDS_TO_END = 20.0
SECONDS_BETWEEN_LOOKS = 1.0
PROCESSES = Path("/proc")


def unwind_on_sigterm() -> None:
    """Let SIGTERM end this process by `SystemExit`, so that its context managers end what is open.

    A second SIGTERM does not disturb them. The code of a job swallows what it is ended by, as it
    shall when it is deployed: then it is raised again, until it is under way. Processes that are
    forked from this one, which must not end what is its, end as if this had never been called.
    """
    owner, ending = os.getpid(), SystemExit(TERMINATED)

    def end(number: int, _: FrameType | None) -> None:
        if os.getpid() != owner:
            signal.signal(number, signal.SIG_DFL)
            os.kill(os.getpid(), number)
            return
        # Not SIG_IGN, which programs that are started while it ends would inherit.
        signal.signal(number, lambda *_: None)
        signal.signal(signal.SIGALRM, end_again)
        signal.setitimer(signal.ITIMER_REAL, SECONDS_BETWEEN_LOOKS, SECONDS_BETWEEN_LOOKS)
        # The interpreter forgets who handles the alarm before it is gone.
        atexit.register(signal.setitimer, signal.ITIMER_REAL, 0)
        raise ending

    def end_again(_: int, __: FrameType | None) -> None:
        if not _is_under_way(ending):
            raise ending

    signal.signal(signal.SIGTERM, end)


def _is_under_way(error: BaseException) -> bool:
    """Whether what runs at the moment, such as the end of a context manager, runs due to it."""
    handled = sys.exc_info()[1]
    while handled is not None and handled is not error:
        handled = handled.__context__
    return handled is error


def end_group(process: subprocess.Popen[bytes], seconds: float = SECONDS_TO_END) -> None:
    """End a process that leads a group, and all that it started, in whatever group and state.

    It has some ``seconds`` to end them by itself. What is stopped goes on, since it would neither
    hear the signal nor see the end of its input.
    """
    started = _descendants(process.pid)
    for pid in started:
        _send(pid, signal.SIGCONT)
    _send_group(process.pid, signal.SIGCONT)
    _send_group(process.pid, signal.SIGTERM)
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(seconds)
    # Its leader being gone does not mean that the group is.
    _send_group(process.pid, signal.SIGKILL)
    for pid, began in started.items():
        if began and _began(pid) == began:
            _send(pid, signal.SIGKILL)
    process.wait()


def _send(pid: int, number: signal.Signals) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, number)


def _send_group(leader: int, number: signal.Signals) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.killpg(leader, number)


def children_of_each() -> dict[int, list[int]]:
    """Return the processes that each process started; nothing where no system tells."""
    children: dict[int, list[int]] = defaultdict(list)
    for folder in PROCESSES.glob("[0-9]*"):
        fields = fields_of(int(folder.name))
        if fields:
            children[int(fields[1])].append(int(folder.name))
    return children


def _descendants(root: int) -> dict[int, str]:
    """Return what a process started and that started, by when."""
    children = children_of_each()
    found: dict[int, str] = {}
    waiting = [root]
    while waiting:
        for pid in children[waiting.pop()]:
            found[pid] = _began(pid)
            waiting.append(pid)
    return found


def _began(pid: int) -> str:
    """Return when a process began, which tells it from a later one of its number; empty: gone."""
    fields = fields_of(pid)
    return fields[19] if fields else ""


def fields_of(pid: int) -> list[str]:
    """Return the fields of ``/proc/<pid>/stat`` from the state on; none where it is gone."""
    try:
        told = (PROCESSES / str(pid) / "stat").read_text()
    except OSError:
        return []
    # Its name comes before, in brackets, and may hold anything.
    return told.rpartition(")")[2].split()
