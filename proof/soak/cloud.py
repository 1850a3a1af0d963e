"""The processes of the long run: ``hourhand dev`` with its children, watched, over an emulator."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path
from types import TracebackType
from urllib.parse import urlsplit

from proof.ending import children_of_each, fields_of
from proof.rig import HOOK
from proof.rig.cloud import ON_START, ROOT
from proof.soak.load import SoakFailed
from proof.soak.probe import FOLDER, PLANT
from tests.e2e.dev_process import DevProcess

END_SECONDS = 20.0
WORKERS = 2
"""Few, so that each has done everything before the warm-up is over."""

TICK_SECONDS = 6
_TICKS_A_SECOND = os.sysconf("SC_CLK_TCK")


class Cloud:
    """``with Cloud(folder, plant):`` runs it. ``folder`` is where the probes answer."""

    def __init__(self, folder: Path, plant: str) -> None:
        self._folder, self._plant = folder, plant

    def __enter__(self) -> Cloud:
        own = {name: value for name, value in os.environ.items() if not name.startswith("AWS_")}
        own["PYTHONPATH"] = os.pathsep.join([str(ON_START), str(ROOT)])
        # glibc gives each thread a heap of its own, and malloc_trim leaves the top of all but the
        # first: what a large payload took would look like held by each connection that had one.
        own["MALLOC_ARENA_MAX"] = "1"
        # With each large block that is freed, glibc takes more of such blocks from the heap, where
        # they leave gaps. A fixed threshold gives them back to the system.
        own["MALLOC_MMAP_THRESHOLD_"] = "131072"
        self.emulator = subprocess.Popen(
            [sys.executable, "-m", "proof.soak.emulator"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            cwd=ROOT,
            env=own,
        )
        assert self.emulator.stdout is not None
        self.endpoint = self.emulator.stdout.readline().strip()
        arguments = ["--handlers", "proof.soak.handlers", "--backend", self.endpoint]
        arguments += ["--workers", f"{WORKERS}", "--tick-seconds", f"{TICK_SECONDS}"]
        watched = {HOOK: "proof.soak.probe:start", FOLDER: str(self._folder), PLANT: self._plant}
        environment = {**own, **watched, "TMPDIR": str(self._folder)}
        self.dev = DevProcess(arguments, environment, ROOT)
        try:
            self.address = urlsplit(self.dev.url)
        except AssertionError as error:
            self.__exit__(None, None, None)
            raise SoakFailed(f"The local cloud did not start: {error}") from error
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        for process in (self.dev.process, self.emulator):
            process.send_signal(signal.SIGTERM)
            try:
                process.wait(END_SECONDS)
            except subprocess.TimeoutExpired:
                process.kill()

    def watched(self) -> set[int]:
        """Return the processes that run our code: the API's, the scheduler's and the workers'."""
        api = self.dev.process.pid
        return {api, *children_of_each()[api]}

    def cpu_seconds(self) -> float:
        """Return the processor time that all of it took so far, the emulator and us included."""
        pids = {os.getpid(), self.emulator.pid, *self.watched()}
        return sum(_cpu_seconds(pid) for pid in pids)

    def emulator_cpu_seconds(self) -> float:
        """Return the emulator's part of it."""
        return _cpu_seconds(self.emulator.pid)


def _cpu_seconds(pid: int) -> float:
    fields = fields_of(pid)
    return (int(fields[11]) + int(fields[12])) / _TICKS_A_SECOND if fields else 0.0
