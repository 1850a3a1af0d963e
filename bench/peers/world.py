"""What all contestants share: the emulator, the counting proxy, processes, a folder, and time."""

from __future__ import annotations

import os
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import boto3

from bench.emulator import ROOT, emulator
from bench.peers.children import Child, Children, SceneFailed

REGION = "us-east-1"
ANSWER_SECONDS = 10.0
LOOK_SECONDS = 0.02
"""How often a scene looks whether something has happened."""

Calls = Counter[str]


class World:
    """The stage. Calls that go by a role's endpoint are counted, those of ``client`` are not."""

    def __init__(self, endpoint: str, folder: Path, children: Children) -> None:
        """Start the proxy in front of ``endpoint``."""
        self.endpoint, self.folder, self.children = endpoint, folder, children
        self.stopping = threading.Event()
        port = endpoint.rpartition(":")[2]
        command = (sys.executable, "-m", "bench.peers.counting_proxy", port)
        self._proxy: Child = children.start("proxy", command, self.environment(), talks=True)

    def environment(self, endpoint: str | None = None) -> dict[str, str]:
        """Return the environment of a process that calls AWS at ``endpoint``.

        Nothing of the caller's own is in it: no real account is ever reached.
        """
        environment = {
            "PATH": os.defpath,
            "HOME": str(self.folder),
            "TMPDIR": str(self.folder),
            "AWS_ACCESS_KEY_ID": "bench",
            "AWS_SECRET_ACCESS_KEY": "bench",
            "AWS_DEFAULT_REGION": REGION,
            "AWS_REGION": REGION,
            "AWS_EC2_METADATA_DISABLED": "true",
        }
        return environment | ({"AWS_ENDPOINT_URL": endpoint} if endpoint else {})

    def client(self, service: Any) -> Any:
        """Make a boto3 client that calls the emulator itself."""
        return boto3.client(
            service,
            endpoint_url=self.endpoint,
            region_name=REGION,
            aws_access_key_id="bench",
            aws_secret_access_key="bench",  # noqa: S106 - the emulator takes any
        )

    def open(self, role: str) -> str:
        """Return an endpoint whose calls are counted for ``role``."""
        port = self._proxy.ask({"open": role}, ANSWER_SECONDS)["port"]
        return f"http://127.0.0.1:{port}"

    def calls(self, role: str) -> Calls:
        """Return what was counted for ``role`` so far."""
        counted = self._proxy.ask({"counts": True}, ANSWER_SECONDS)["counts"]
        return Counter(counted.get(role, {}))

    def pause(self, seconds: float) -> None:
        """Let time pass; raise `SceneFailed` when the contest is being stopped."""
        if self.stopping.wait(seconds):
            raise SceneFailed("the contest was stopped")

    def wait_until(
        self, is_so: Callable[[], bool], seconds: float, what: str, *needed: Child
    ) -> None:
        """Wait for ``is_so``; raise `SceneFailed` if it takes too long or a child dies first."""
        deadline = time.monotonic() + seconds
        while not is_so():
            for child in needed:
                child.require_life()
            if time.monotonic() >= deadline:
                raise SceneFailed(f"{what} did not happen within {seconds:.0f} s")
            self.pause(LOOK_SECONDS)


@contextmanager
def world() -> Iterator[World]:
    """Yield a stage with an emulator of its own; when it ends, so do all processes on it."""
    with (
        tempfile.TemporaryDirectory(prefix="hourhand-peers-") as folder,
        emulator() as endpoint,
        Children(Path(folder)) as children,
    ):
        fresh = World(endpoint, Path(folder), children)
        try:
            yield fresh
        finally:
            fresh.stopping.set()


PEERS_PYTHON = ROOT / ".venv-peers" / "bin" / "python"
"""The peers' own environment: they ask for other versions of packages than we do."""
