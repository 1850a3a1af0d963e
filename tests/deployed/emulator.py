"""Starts and ends ministack on loopback, over TLS, in a folder of its own."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import socket
import ssl
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from tests.deployed.certificate import write_certificate

ROOT = Path(__file__).parents[2]
PYTHON = ROOT / ".venv-emulator" / "bin" / "python"
PROGRAM = Path(__file__).with_name("emulator_process.py")

REGION = "eu-central-1"
KEY = "test"
"""As key and as secret, the root of the account, which may do everything under AUTH, too."""

STARTS = 5
START_SECONDS = 30.0
END_SECONDS = 10.0
LOOK_SECONDS = 0.1
SHOWN_LINES = 50


class EmulatorFailed(Exception):
    """It did not start. Its last lines are in the text."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Emulator:
    """A running ministack. ``enforces_iam``: it asks each caller for rights, functions too."""

    folder: Path
    port: int
    certificate: Path
    process: subprocess.Popen[bytes]
    enforces_iam: bool

    @classmethod
    def start(cls, folder: Path, *, enforces_iam: bool) -> Self:
        """Start one; raise `EmulatorFailed` if it does not come up on any of a few ports."""
        certificate, key = write_certificate(folder)
        for _ in range(STARTS):
            port = free_port()
            environment = {
                # Nothing else of this process's: the functions inherit it.
                "PATH": os.environ["PATH"],
                "HOME": str(folder),
                "TMPDIR": str(folder),
                "AUTH": "true" if enforces_iam else "false",
                "AWS_DEFAULT_REGION": REGION,
                "AWS_EC2_METADATA_DISABLED": "true",
                "BIND_HOST": "127.0.0.1",
                "GATEWAY_PORT": str(port),
                "MINISTACK_HOST": "127.0.0.1",
                "MINISTACK_SSL_CERT": str(certificate),
                "MINISTACK_SSL_KEY": str(key),
                "USE_SSL": "1",
            }
            with (folder / "emulator.log").open("ab") as log:
                process = subprocess.Popen(
                    [str(PYTHON), str(PROGRAM)],
                    cwd=folder,
                    env=environment,
                    stdin=subprocess.DEVNULL,
                    stdout=log,
                    stderr=subprocess.STDOUT,
                    # The functions' processes are of its group, and end with it.
                    start_new_session=True,
                )
            emulator = cls(
                folder=folder,
                port=port,
                certificate=certificate,
                process=process,
                enforces_iam=enforces_iam,
            )
            if emulator._is_up():
                return emulator
            emulator.end()
        raise EmulatorFailed(f"ministack did not start. It said:\n{log_tail(folder)}")

    @property
    def endpoint(self) -> str:
        """Where it answers for every service."""
        return f"https://127.0.0.1:{self.port}"

    @property
    def trust(self) -> ssl.SSLContext:
        """What trusts its certificate."""
        return ssl.create_default_context(cafile=str(self.certificate))

    def client_environment(self) -> dict[str, str]:
        """Return what an AWS SDK or the CDK's command line needs in order to call it as root."""
        return {
            "AWS_ACCESS_KEY_ID": KEY,
            "AWS_SECRET_ACCESS_KEY": KEY,
            "AWS_REGION": REGION,
            "AWS_DEFAULT_REGION": REGION,
            "AWS_ENDPOINT_URL": self.endpoint,
            "AWS_CA_BUNDLE": str(self.certificate),
            "NODE_EXTRA_CA_CERTS": str(self.certificate),
            "AWS_CONFIG_FILE": os.devnull,
            "AWS_SHARED_CREDENTIALS_FILE": os.devnull,
            "AWS_EC2_METADATA_DISABLED": "true",
        }

    def denials(self) -> list[dict[str, Any]]:
        """Return every refusal so far: ``action``, ``resource``, ``principal``."""
        lines = (self.folder / "emulator.log").read_text(errors="replace").splitlines()
        told = (line.removeprefix("DENIED ") for line in lines if line.startswith("DENIED "))
        return [json.loads(text) for text in told]

    def log_tail(self) -> str:
        """Return the last lines that it and its functions wrote."""
        return log_tail(self.folder)

    def end(self) -> None:
        """End it and everything that it started; nothing of it is to be kept."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait(END_SECONDS)

    def _is_up(self) -> bool:
        until = time.monotonic() + START_SECONDS
        while time.monotonic() < until and self.process.poll() is None:
            try:
                with (
                    socket.create_connection(("127.0.0.1", self.port), timeout=1) as connection,
                    self.trust.wrap_socket(connection, server_hostname="127.0.0.1"),
                ):
                    return True
            except OSError:
                time.sleep(LOOK_SECONDS)
        return False


def log_tail(folder: Path) -> str:
    """Return the last lines of the emulator's log."""
    text = (folder / "emulator.log").read_text(errors="replace")
    return "\n".join(text.splitlines()[-SHOWN_LINES:])


def free_port() -> int:
    """Return a port that nobody had a moment ago; it may be taken by the time it is used."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port
