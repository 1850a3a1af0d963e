"""The processes of the contest: each in a session of its own, and none outlives the contest."""

from __future__ import annotations

import contextlib
import json
import os
import queue
import signal
import subprocess
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import IO, Any

from bench.emulator import ROOT

LAST_LINES = 3
LINE_CHARACTERS = 200
PROCESSES = Path("/proc")
SESSION, USER_TIME, SPENT = 3, 11, 4
"""Places in ``/proc/PID/stat`` behind the name, and how many fields of time there are."""


class SceneFailed(Exception):
    """A contestant could not play a scene; the reason is told."""


class Child:
    """A process with all that it starts. One that ``talks`` answers lines of JSON."""

    def __init__(
        self, command: Sequence[str], environment: Mapping[str, str], log: Path, *, talks: bool
    ) -> None:
        """Start it in the root of the repository; what it prints goes to ``log``."""
        self._log = log
        with log.open("ab") as out:
            self._process = subprocess.Popen(
                list(command),
                cwd=ROOT,
                env=dict(environment),
                stdin=subprocess.PIPE if talks else subprocess.DEVNULL,
                stdout=subprocess.PIPE if talks else out,
                stderr=out,
                start_new_session=True,
                text=True,
            )
        self._answers: queue.SimpleQueue[str] = queue.SimpleQueue()
        self._asking = threading.Lock()
        if talks:
            assert self._process.stdout is not None
            threading.Thread(target=self._hear, args=(self._process.stdout,), daemon=True).start()

    def _hear(self, stream: IO[str]) -> None:
        for line in stream:
            self._answers.put(line)
        self._answers.put("")

    def ask(self, question: Mapping[str, Any], seconds: float) -> dict[str, Any]:
        """Send a line and return the answer; raise `SceneFailed` if none comes in time."""
        assert self._process.stdin is not None
        with self._asking:
            try:
                self._process.stdin.write(json.dumps(question) + "\n")
                self._process.stdin.flush()
                line = self._answers.get(timeout=seconds)
            except (OSError, queue.Empty) as error:
                raise SceneFailed(f"no answer within {seconds:.0f} s: {self._words()}") from error
        if not line:
            raise SceneFailed(f"its process ended: {self._words()}")
        answer: dict[str, Any] = json.loads(line)
        return answer

    @property
    def is_alive(self) -> bool:
        """Whether it has not ended."""
        return self._process.poll() is None

    def require_life(self) -> None:
        """Raise `SceneFailed` if it ended."""
        if self._process.poll() is not None:
            raise SceneFailed(f"its process ended: {self._words()}")

    def has_ended(self) -> bool:
        """Whether it ended well; raise `SceneFailed` if it ended otherwise."""
        code = self._process.poll()
        if code:
            raise SceneFailed(f"its process failed: {self._words()}")
        return code == 0

    def _words(self) -> str:
        lines = self._log.read_text(errors="replace").strip().splitlines()[-LAST_LINES:]
        return " / ".join(line[:LINE_CHARACTERS] for line in lines) or "it said nothing"

    def cpu_seconds(self) -> float:
        """Return the CPU of it and of all that it started, as the system counts it (Linux).

        Raises `SceneFailed` where there is no ``/proc``.
        """
        if not PROCESSES.is_dir():
            raise SceneFailed("the CPU of a process is read from /proc, which is not there")
        ticks = 0
        for entry in PROCESSES.iterdir():
            with contextlib.suppress(OSError):
                if entry.name.isdigit():
                    ticks += self._ticks_of((entry / "stat").read_text())
        return ticks / os.sysconf("SC_CLK_TCK")

    def _ticks_of(self, stat: str) -> int:
        # The name in parentheses may hold anything.
        fields = stat.rpartition(")")[2].split()
        if int(fields[SESSION]) != self._process.pid:
            return 0
        return sum(map(int, fields[USER_TIME : USER_TIME + SPENT]))

    def kill(self) -> None:
        """Kill it and all that it started, as a machine that fails does."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()


class Children:
    """Starts processes, and kills whatever is left of them at the end of the block."""

    def __init__(self, folder: Path) -> None:
        """Keep the logs in ``folder``."""
        self._folder = folder
        self._lock = threading.Lock()
        self._started: list[Child] = []

    def __enter__(self) -> Children:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        with self._lock:
            for child in self._started:
                child.kill()

    def start(
        self,
        name: str,
        command: Sequence[str],
        environment: Mapping[str, str],
        *,
        talks: bool = False,
    ) -> Child:
        """Start a process; ``name`` is that of its log."""
        with self._lock:
            log = self._folder / f"{name}-{len(self._started)}.log"
            child = Child(command, environment, log, talks=talks)
            self._started.append(child)
        return child
