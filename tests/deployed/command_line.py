"""The stock command line of the CDK, told to find everything on the emulator."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.deployed.account import ACCOUNT
from tests.deployed.emulator import REGION, ROOT, Emulator

CDK = ROOT / "infra" / "node_modules" / ".bin" / "cdk"
COMMAND_SECONDS = 300.0
SHOWN_LINES = 60


class CommandFailed(Exception):
    """The command line's last lines, and the emulator's, are in the text."""


def synthesise(assembly: Path, context: Mapping[str, str]) -> None:
    """Pack the handlers and write the templates; needs no account."""
    options = [part for name, text in context.items() for part in ("-c", f"{name}={text}")]
    _run(["synth", "--quiet", "--output", str(assembly), *options], {}, cwd=ROOT)


@dataclass(frozen=True, kw_only=True, slots=True)
class CommandLine:
    """Deploys to ``emulator`` what was synthesised. ``folder``: where it keeps what it writes."""

    emulator: Emulator
    folder: Path

    def bootstrap(self) -> None:
        """Make the account ready for deployments."""
        self._run(["bootstrap", f"aws://{ACCOUNT}/{REGION}"])

    def deploy(self, stack: str, assembly: Path) -> dict[str, str]:
        """Deploy; return the stack's outputs."""
        outputs = self.folder / "outputs.json"
        options = ["--require-approval", "never", "--outputs-file", str(outputs)]
        self._run(["deploy", stack, "--app", str(assembly), *options])
        found: dict[str, str] = json.loads(outputs.read_text(encoding="utf-8"))[stack]
        return found

    def destroy(self, stack: str, assembly: Path) -> None:
        """Remove the stack and all that it made."""
        self._run(["destroy", stack, "--app", str(assembly), "--force"])

    def _run(self, arguments: Sequence[str]) -> None:
        environment = {
            **self.emulator.client_environment(),
            # It caches account ids: those of an emulator must not be taken for a user's.
            "CDK_HOME": str(self.folder / "cdk-home"),
        }
        try:
            # In a folder without a cdk.json: with one, it would synthesise the app each time.
            _run(arguments, environment, cwd=self.folder)
        except CommandFailed as error:
            raise CommandFailed(f"{error}\n--- emulator:\n{self.emulator.log_tail()}") from error


def _run(arguments: Sequence[str], environment: Mapping[str, str], *, cwd: Path) -> None:
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("AWS_")}
    done = subprocess.run(
        [str(CDK), *arguments],
        cwd=cwd,
        env={
            **inherited,
            "CDK_DISABLE_CLI_TELEMETRY": "1",
            "CI": "true",
            "JSII_SILENCE_WARNING_END_OF_LIFE_NODE_VERSION": "1",
            "JSII_SILENCE_WARNING_UNTESTED_NODE_VERSION": "1",
            "NODE_NO_WARNINGS": "1",
            **environment,
        },
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=COMMAND_SECONDS,
        check=False,
    )
    if done.returncode != 0:
        said = "\n".join(done.stdout.splitlines()[-SHOWN_LINES:])
        raise CommandFailed(f"cdk {arguments[0]} ended with {done.returncode}:\n{said}")
