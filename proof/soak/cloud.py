"""The processes of the long run: ``hourhand dev`` with its children, watched, over an emulator."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections import deque
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from urllib.parse import urlsplit

from hourhand.domain.ticks.timings import Timings
from hourhand.settings import Settings, settings_environment
from proof.soak.load import SoakFailed
from proof.soak.on_start.sitecustomize import FOLDER
from proof.soak.probe import PLANT

ROOT = Path(__file__).parents[2]
ON_START = Path(__file__).parent / "on_start"
START_SECONDS = 60.0
END_SECONDS = 20.0
WORKERS = 2
"""Few, so that each has done everything before the warm-up is over."""

TICK_SECONDS = 6
LINES_KEPT = 200
_TICKS_A_SECOND = os.sysconf("SC_CLK_TCK")


def short_timings() -> Timings:
    """A tenth of everything, but for what whole seconds of SQS need."""
    return replace(Timings().scaled(0.1), early_wait=Timings().early_wait)


class Cloud:
    """``with Cloud(folder, plant):`` runs it. ``folder`` is where the probes answer."""

    def __init__(self, folder: Path, plant: str) -> None:
        self._folder, self._plant = folder, plant
        self.lines: deque[str] = deque(maxlen=LINES_KEPT)

    def __enter__(self) -> Cloud:
        own = {name: value for name, value in os.environ.items() if not name.startswith("AWS_")}
        own["PYTHONPATH"] = os.pathsep.join([str(ON_START), str(ROOT)])
        # glibc gives each thread a heap of its own, and malloc_trim leaves the top of all but the
        # first: what a large payload took would look like held by each connection that had one.
        own["MALLOC_ARENA_MAX"] = "1"
        # With each large block that is freed, glibc takes more of such blocks from the heap, where
        # they leave gaps. A fixed threshold gives them back to the system.
        own["MALLOC_MMAP_THRESHOLD_"] = "131072"
        self.emulator = _start(["proof.soak.emulator"], own)
        assert self.emulator.stdout is not None
        self.endpoint = self.emulator.stdout.readline().strip()
        timings = settings_environment(Settings(timings=short_timings()))["HOURHAND_TIMINGS"]
        arguments = ["hourhand.cli.main", "dev", "--handlers", "proof.soak.handlers"]
        arguments += ["--port", "0", "--backend", self.endpoint, "--workers", f"{WORKERS}"]
        arguments += ["--tick-seconds", f"{TICK_SECONDS}"]
        watched = {FOLDER: str(self._folder), PLANT: self._plant, "HOURHAND_TIMINGS": timings}
        self.api = _start(arguments, {**own, **watched, "TMPDIR": str(self._folder)})
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()
        self.address = urlsplit(self._wait_for_url())
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        for process in (self.api, self.emulator):
            process.send_signal(signal.SIGTERM)
            try:
                process.wait(END_SECONDS)
            except subprocess.TimeoutExpired:
                process.kill()

    def watched(self) -> set[int]:
        """Return the processes that run our code: the API's, the scheduler's and the workers'."""
        return {self.api.pid, *_children_of(self.api.pid)}

    def cpu_seconds(self) -> float:
        """Return the processor time that all of it took so far, the emulator and us included."""
        pids = {os.getpid(), self.emulator.pid, *self.watched()}
        return sum(_cpu_seconds(pid) for pid in pids)

    def emulator_cpu_seconds(self) -> float:
        """Return the emulator's part of it."""
        return _cpu_seconds(self.emulator.pid)

    def _read(self) -> None:
        assert self.api.stdout is not None
        with self.api.stdout as output:
            for line in output:
                self.lines.append(line.rstrip("\n"))

    def _wait_for_url(self) -> str:
        until = time.monotonic() + START_SECONDS
        while time.monotonic() < until and self.api.poll() is None:
            found = next((m for m in map(_api_in, list(self.lines)) if m), None)
            if found is not None:
                return found
            time.sleep(0.1)
        raise SoakFailed("\n".join(["The local cloud did not start:", *self.lines]))


def _api_in(line: str) -> str | None:
    found = re.search(r"API +(http://\S+)/v1", line)
    return found[1] if found else None


def _start(arguments: list[str], environment: dict[str, str]) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", *arguments],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        cwd=ROOT,
        env=environment,
    )


def _children_of(pid: int) -> set[int]:
    found = set()
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            parent = int(_stat(int(folder.name))[1])
        except OSError:
            # Gone meanwhile.
            continue
        if parent == pid:
            found.add(int(folder.name))
    return found


def _cpu_seconds(pid: int) -> float:
    try:
        fields = _stat(pid)
    except OSError:
        return 0.0
    return (int(fields[11]) + int(fields[12])) / _TICKS_A_SECOND


def _stat(pid: int) -> list[str]:
    """Return the fields of ``/proc/<pid>/stat`` after the name, which may hold blanks."""
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
