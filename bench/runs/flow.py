"""The flow that every contestant runs: five steps, and one kill of its worker.

The name of a run says in which step its worker is killed, and when: ``cut`` in the middle of the
step, ``done`` right behind its effect, before anything can record it. The step itself sends the
kill, to its whole process group, and only once. The peers' Python runs this, too, so it needs only
the standard library.
"""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

from bench.peers import runs

STEPS = 5
CUT, DONE = "cut", "done"


def run_name(moment: str, number: int) -> str:
    """Return the name of the run whose worker is killed in a step."""
    return f"{moment}-{number}"


def step_name(run: str, number: int) -> str:
    """Return under which name the record has a step of a run."""
    return f"{run}.{number}"


def step(run: str, number: int, seconds: float) -> int:
    """Do the work of a step; its effect is the line that it writes at its end."""
    moment, _, killed = run.partition("-")
    is_killed = int(killed) == number
    name = step_name(run, number)
    runs.note(runs.BEGUN, name)
    time.sleep(seconds / 2)
    if is_killed and moment == CUT:
        _kill_once(name)
    time.sleep(seconds / 2)
    runs.note(runs.ENDED, name)
    if is_killed and moment == DONE:
        _kill_once(name)
    return number


def _kill_once(name: str) -> None:
    mark = Path(f"{os.environ[runs.FILE]}.{name}.killed")
    try:
        mark.touch(exist_ok=False)
    except FileExistsError:
        return
    os.killpg(0, signal.SIGKILL)
