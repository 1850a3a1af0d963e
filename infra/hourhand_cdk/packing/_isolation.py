"""Runs packed code in a separate process without credentials.

It gets no variables of AWS but a region, and none of ours; AWS's tools find no files in its empty
home and ask no metadata service. So an import that calls AWS by mistake fails. This is not a
sandbox: the process belongs to the same user, so it may read files by their absolute path, the
environment of other processes, and the network. Pack only code that you would run.

It has no libraries but those of the asset and Lambda's own: not even the environment that packs.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hourhand_cdk.packing._dependencies import installed_files
from hourhand_cdk.packing._pins import LAMBDA_HAS, distribution_closure

IMPORT_SECONDS = 60.0
"""How long an import may take; Lambda itself gives a cold start ten."""

SHOWN_LINES = 60
REGION = "us-east-1"
"""Lambda always names a region, and a client that a handler's module makes needs one."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Ended:
    """How the process ended: ``answer`` is what it wrote, ``None`` where it came to nothing."""

    answer: Any
    output: str
    exit_code: int


class Isolation:
    """Runs scripts of ours on packed trees. ``workspace``: a folder for what they need."""

    def __init__(
        self,
        workspace: Path,
        environment: Mapping[str, str],
        *,
        limit_seconds: float = IMPORT_SECONDS,
    ) -> None:
        """``environment``: what the worker function will be given besides; not AWS's."""
        self._limit_seconds = limit_seconds
        self._libraries = workspace / "lambda-libraries"
        self._environment = {
            name: value for name, value in environment.items() if not name.startswith("AWS_")
        }
        _link_lambda_libraries(self._libraries)

    def run(
        self,
        script: str,
        tree: Path,
        arguments: Sequence[str],
        environment: Mapping[str, str] | None = None,
    ) -> Ended:
        """Run ``script`` with ``tree`` as the function's folder.

        It gets the path of the file to answer to, the folders to import from, and ``arguments``.
        """
        with tempfile.TemporaryDirectory(prefix="hourhand-proof-") as empty:
            home = Path(empty) / "home"
            home.mkdir()
            answer = Path(empty) / "answer.json"
            # -I: no PYTHON variables, nothing of the user's. -S: no installed libraries.
            command = [sys.executable, "-I", "-S", "-B", script]
            command += [str(answer), str(tree), str(self._libraries), *arguments]
            given = {**self._environment, **(environment or {}), **_bare(home)}
            exit_code, output = _run(command, given, home, self._limit_seconds)
            written = json.loads(answer.read_text("utf-8")) if answer.is_file() else None
        return Ended(answer=written, output=output, exit_code=exit_code)


def _run(
    command: list[str], environment: dict[str, str], folder: Path, limit_seconds: float
) -> tuple[int, str]:
    # To a file, not a pipe: what the import may have started could hold a pipe open for ever.
    with tempfile.TemporaryFile() as said:
        process = subprocess.Popen(  # noqa: S603 (our own script)
            command,
            stdin=subprocess.DEVNULL,
            stdout=said,
            stderr=subprocess.STDOUT,
            env=environment,
            cwd=folder,
            start_new_session=True,
        )
        try:
            process.wait(limit_seconds)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        said.seek(0)
        lines = said.read().decode("utf-8", "replace").strip().splitlines()
    return process.returncode, "\n".join(lines[-SHOWN_LINES:])


def _bare(home: Path) -> dict[str, str]:
    return {
        "AWS_CONFIG_FILE": os.devnull,
        "AWS_DEFAULT_REGION": REGION,
        "AWS_EC2_METADATA_DISABLED": "true",
        "AWS_REGION": REGION,
        "AWS_SHARED_CREDENTIALS_FILE": os.devnull,
        "HOME": str(home),
        "LANG": "C.UTF-8",
        "PATH": os.defpath,
        "TMPDIR": str(home),
        "TZ": "UTC",
    }


def _link_lambda_libraries(to: Path) -> None:
    """Make a folder with what Lambda has of its own: boto3, and what it stands on."""
    to.mkdir()
    for name in distribution_closure(LAMBDA_HAS):
        roots = {
            (place.parts[0], Path(str(path).removesuffix(str(place))) / place.parts[0])
            for place, path in installed_files(name)
        }
        for root, path in sorted(roots):
            (to / root).symlink_to(path)
