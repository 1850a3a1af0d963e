"""A running ``hourhand dev``: a real process, with the protocol's durations cut to a tenth."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import urlsplit

from hourhand.domain.ticks.timings import Timings
from hourhand.settings import Settings, settings_environment
from tests.acceptance.http_api import local_api

WAIT_SECONDS = 40.0
LOOK_SECONDS = 0.05
LINES_KEPT = 20_000
TIMINGS = Timings().shortened(0.1)
SETTINGS = Settings(timings=TIMINGS)
T = TypeVar("T")


class DevProcess:
    """A running ``hourhand dev`` with ``arguments``, and the lines that it printed last."""

    def __init__(
        self, arguments: Sequence[str], environment: Mapping[str, str], folder: Path
    ) -> None:
        self.lines: deque[str] = deque(maxlen=LINES_KEPT)
        self.process = subprocess.Popen(
            [sys.executable, "-m", "hourhand.cli.main", "dev", "--port", "0", *arguments],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            cwd=folder,
            env={
                **environment,
                "HOURHAND_TIMINGS": settings_environment(SETTINGS)["HOURHAND_TIMINGS"],
            },
        )
        self.reader = threading.Thread(target=self._read, daemon=True)
        self.reader.start()

    @property
    def url(self) -> str:
        """Where the API is, once it is printed."""
        return self.wait(lambda: self.match(r"API +(http://\S+)/v1"))

    def _read(self) -> None:
        assert self.process.stdout is not None
        with self.process.stdout as output:
            for line in output:
                self.lines.append(line.rstrip("\n"))

    def wait(self, look: Callable[[], T | None]) -> T:
        """Wait until ``look`` finds something."""
        until = time.monotonic() + WAIT_SECONDS
        while time.monotonic() < until:
            found = look()
            if found is not None:
                return found
            time.sleep(LOOK_SECONDS)
        raise AssertionError("\n".join(["It did not happen. What was printed:", *self.lines]))

    def match(self, pattern: str) -> str | None:
        """Return the first group of the first line that matches."""
        found = (re.search(pattern, line) for line in list(self.lines))
        return next((match[1] for match in found if match), None)

    def end(self, number: signal.Signals) -> int:
        self.process.send_signal(number)
        code = self.process.wait(WAIT_SECONDS)
        self.reader.join()
        return code


class Dev(DevProcess):
    """A running ``hourhand dev`` whose ``handlers`` are a file.

    ``environment`` comes on top of this process's.
    """

    def __init__(self, handlers: Path, environment: Mapping[str, str]) -> None:
        self.handlers = handlers
        folder = handlers.parent
        arguments = ["--handlers", handlers.stem, "--workers", "2", "--tick-seconds", "2"]
        # One that is killed leaves its scratch folder behind: there, it is pytest's.
        scratch = {"TMPDIR": str(folder)}
        super().__init__(
            [*arguments, "--verbose"], {**os.environ, **environment, **scratch}, folder
        )
        self.port = int(urlsplit(self.url).port or 0)
        self.client = local_api(self.url)

    def pids(self) -> set[int]:
        """Return the process ids of all children that there ever were."""
        found = (re.search(r"started .*\(pid (\d+)\)", line) for line in list(self.lines))
        return {int(match[1]) for match in found if match}

    def submit(self, **body: Any) -> dict[str, Any]:
        answer = self.client.post("/v1/jobs", body)
        assert answer.status == 201, answer
        return answer.body

    def job(self, job_id: str) -> dict[str, Any]:
        return self.client.get(f"/v1/jobs/{job_id}").body

    def reach(self, job_id: str, *statuses: str) -> dict[str, Any]:
        """Wait until the job is in one of these states."""

        def look() -> dict[str, Any] | None:
            job = self.job(job_id)
            return job if job["status"] in statuses else None

        return self.wait(look)
