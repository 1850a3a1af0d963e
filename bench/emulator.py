"""Starts and ends the emulator that counts write units as DynamoDB does, on loopback."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PROGRAM = ROOT / ".venv-emulator" / "bin" / "ministack"
START_SECONDS = 60.0
STOP_SECONDS = 10.0


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


@contextmanager
def emulator() -> Iterator[str]:
    """Yield the endpoint of an emulator that lives as long as the block.

    Exits with a clear message where it is not installed or does not start.
    """
    if not PROGRAM.exists():
        sys.exit("The emulator is not installed; run `make emulator` first.")
    port = _free_port()
    endpoint = f"http://127.0.0.1:{port}"
    # A clean environment: Lambda code that the emulator runs would inherit it.
    environment = {
        "PATH": os.defpath,
        "HOME": tempfile.gettempdir(),
        "GATEWAY_PORT": str(port),
        "BIND_HOST": "127.0.0.1",
        "MINISTACK_HOST": "127.0.0.1",
    }
    with tempfile.TemporaryFile() as log:
        process = subprocess.Popen(
            [str(PROGRAM)], env=environment, stdout=log, stderr=log, cwd=tempfile.gettempdir()
        )
        try:
            _wait_until_it_answers(endpoint, process)
            yield endpoint
        finally:
            process.terminate()
            try:
                process.wait(STOP_SECONDS)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait(STOP_SECONDS)


def _wait_until_it_answers(endpoint: str, process: subprocess.Popen[bytes]) -> None:
    deadline = time.monotonic() + START_SECONDS
    while time.monotonic() < deadline:
        if process.poll() is not None:
            sys.exit(f"The emulator ended at once with exit code {process.returncode}.")
        try:
            urllib.request.urlopen(endpoint, timeout=1)  # noqa: S310 - loopback
        except urllib.error.HTTPError:
            return
        except OSError:
            time.sleep(0.1)
        else:
            return
    sys.exit(f"The emulator did not answer within {START_SECONDS:.0f} s.")
