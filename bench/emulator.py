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
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PROGRAM = ROOT / ".venv-emulator" / "bin" / "ministack"
START_SECONDS = 60.0
STOP_SECONDS = 10.0


def free_port() -> int:
    """Return a port of loopback that was free a moment ago."""
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
    port = free_port()
    endpoint = f"http://127.0.0.1:{port}"
    folder = Path(tempfile.gettempdir())
    environment = emulator_environment(port, folder)
    with running_server("The emulator", [str(PROGRAM)], environment, endpoint, folder):
        yield endpoint


def emulator_environment(port: int, home: Path) -> dict[str, str]:
    """Return a clean environment: Lambda code that the emulator runs would inherit it."""
    return {
        "PATH": os.defpath,
        "HOME": str(home),
        "GATEWAY_PORT": str(port),
        "BIND_HOST": "127.0.0.1",
        "MINISTACK_HOST": "127.0.0.1",
    }


@contextmanager
def running_server(
    name: str, program: Sequence[str], environment: Mapping[str, str], url: str, folder: Path
) -> Iterator[None]:
    """Run a server in ``folder``, from its first answer at ``url`` to the end of the block."""
    with tempfile.TemporaryFile() as log:
        process = subprocess.Popen(
            program, env=dict(environment), stdout=log, stderr=log, cwd=folder
        )
        try:
            _wait_until_it_answers(name, url, process)
            yield
        finally:
            process.terminate()
            try:
                process.wait(STOP_SECONDS)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait(STOP_SECONDS)


def _wait_until_it_answers(name: str, url: str, process: subprocess.Popen[bytes]) -> None:
    deadline = time.monotonic() + START_SECONDS
    while time.monotonic() < deadline:
        if process.poll() is not None:
            sys.exit(f"{name} ended at once with exit code {process.returncode}.")
        try:
            urllib.request.urlopen(url, timeout=1)  # noqa: S310 - loopback
        except urllib.error.HTTPError:
            return
        except OSError:
            time.sleep(0.1)
        else:
            return
    sys.exit(f"{name} did not answer within {START_SECONDS:.0f} s.")
