"""The emulator of AWS and the proxy before it, as processes on loopback."""

from __future__ import annotations

import io
import json
import sys
import urllib.request
import zipfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

import boto3

from bench.emulator import emulator_environment, free_port, running_server
from hourhand.aws.clients import client_config
from proof.wire import emulator_process
from proof.wire.faults import proxy_rules

ROOT = Path(__file__).resolve().parents[2]
PROGRAMS = ROOT / ".venv-emulator" / "bin"
STUB = "hourhand-wire-scheduler"
"""The function that the scheduler's further invocations go to."""

START_SECONDS = 60.0


@dataclass(frozen=True, slots=True)
class Servers:
    """Where they answer: the emulator itself, and the proxy that all functions are given."""

    direct: str
    proxied: str


def are_installed() -> bool:
    """Whether `make emulator` was run since it brings the proxy."""
    return (PROGRAMS / "microburst").exists() and (PROGRAMS / "ministack").exists()


@contextmanager
def running_servers(folder: Path, timeline: Path) -> Iterator[Servers]:
    """Start both; end them with the block."""
    if not are_installed():
        sys.exit("The emulator and its proxy are not installed; run `make emulator` first.")
    emulator_port, proxy_port = free_port(), free_port()
    direct, proxied = (f"http://127.0.0.1:{port}" for port in (emulator_port, proxy_port))
    environment = emulator_environment(emulator_port, folder)
    environment[emulator_process.TIMELINE] = str(timeline)
    with ExitStack() as stack:
        python = str(PROGRAMS / "python")
        program = [python, str(Path(emulator_process.__file__))]
        stack.enter_context(running_server("ministack", program, environment, direct, folder))
        proxy = [
            str(PROGRAMS / "microburst"),
            *("--upstream", direct, "--host", "127.0.0.1", "--port", str(proxy_port)),
        ]
        health = f"{proxied}/_microburst/health"
        stack.enter_context(running_server("microburst", proxy, environment, health, folder))
        _set_rules(proxied)
        _make_function(direct)
        yield Servers(direct, proxied)


def _make_function(direct: str) -> None:
    """Make what the scheduler invokes besides itself: it answers, and the world does its work."""
    code = io.BytesIO()
    with zipfile.ZipFile(code, "w") as packed:
        packed.writestr("main.py", "def handler(event, context):\n    return None\n")
    client = boto3.client("lambda", endpoint_url=direct, config=client_config())
    client.create_function(
        FunctionName=STUB,
        Runtime="python3.13",
        Role="arn:aws:iam::000000000000:role/stub",
        Handler="main.handler",
        Code={"ZipFile": code.getvalue()},
    )


def _set_rules(proxied: str) -> None:
    request = urllib.request.Request(  # noqa: S310 (loopback)
        f"{proxied}/_microburst/rules",
        data=json.dumps(proxy_rules()).encode(),
        headers={"content-type": "application/json"},
        method="POST",
    )
    with urllib.request.urlopen(request, timeout=START_SECONDS) as answer:  # noqa: S310
        assert answer.status == 200, answer.read()
