"""A running ``hourhand dev``: a real process, with the protocol's durations cut to a tenth."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import urlsplit

from hourhand.domain.ticks.timings import Timings
from hourhand.settings import Settings, settings_environment
from tests.acceptance.http_api import local_api

WAIT_SECONDS = 40.0
LOOK_SECONDS = 0.05
T = TypeVar("T")


def short_timings() -> Timings:
    """A tenth of everything, but for what whole seconds of SQS need."""
    return replace(Timings().scaled(0.1), early_wait=Timings().early_wait)


class Dev:
    """A running ``hourhand dev`` and everything that it printed.

    ``handlers`` is a file; ``environment`` comes on top of this process's.
    """

    def __init__(self, handlers: Path, environment: Mapping[str, str]) -> None:
        self.handlers = handlers
        folder = handlers.parent
        self.lines: list[str] = []
        command = [sys.executable, "-m", "hourhand.cli.main", "dev", "--handlers", handlers.stem]
        command += ["--port", "0", "--workers", "2", "--tick-seconds", "2", "--verbose"]
        timings = settings_environment(Settings(timings=short_timings()))["HOURHAND_TIMINGS"]
        self.process = subprocess.Popen(
            command,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            cwd=folder,
            env={
                **os.environ,
                **environment,
                "HOURHAND_TIMINGS": timings,
                # One that is killed leaves its scratch folder behind: there, it is pytest's.
                "TMPDIR": str(folder),
            },
        )
        self.reader = threading.Thread(target=self._read, daemon=True)
        self.reader.start()
        url = self.wait(lambda: self.match(r"API +(http://\S+)/v1"))
        self.port = int(urlsplit(url).port or 0)
        self.client = local_api(url)

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

    def end(self, number: signal.Signals) -> int:
        self.process.send_signal(number)
        code = self.process.wait(WAIT_SECONDS)
        self.reader.join()
        return code
