"""Installing distributions into a folder, from wheels alone: uv if there is one, else pip."""

from __future__ import annotations

import importlib.util
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from hourhand_cdk.packing import _wheels_only_pip
from hourhand_cdk.packing._errors import InstallFailed
from hourhand_cdk.packing._target import Target

INSTALL_SECONDS = 540.0
SHOWN_LINES = 25


@dataclass(frozen=True, kw_only=True, slots=True)
class Wanted:
    """What to install: lines of a requirements file. ``is_complete``: add no dependencies."""

    lines: tuple[str, ...]
    constraints: tuple[str, ...] = ()
    options: tuple[str, ...] = ()
    is_complete: bool = False


class Installer(Protocol):
    """Puts wheels into a folder."""

    def install(self, wanted: Wanted, target: Target, to: Path) -> None:
        """Install for ``target``. Raises `InstallFailed` with what the installer said."""


class UvInstaller:
    """uv, of the given path."""

    def __init__(self, program: str) -> None:
        """``program``: the path of uv."""
        self._program = program

    def install(self, wanted: Wanted, target: Target, to: Path) -> None:
        """Install for ``target``."""
        command = [self._program, "pip", "install", "--quiet", "--link-mode", "copy"]
        command += ["--python", sys.executable, "--only-binary", ":all:", "--target", str(to)]
        if not target.is_this_machine:
            triple = target.platform.removesuffix(f"_{target.machine}")
            command += ["--python-version", target.python]
            command += ["--python-platform", f"{target.machine}-{triple}"]
        _run(command, wanted, target)


class PipInstaller:
    """pip, of the interpreter that runs this."""

    def install(self, wanted: Wanted, target: Target, to: Path) -> None:
        """Install for ``target``."""
        with tempfile.TemporaryDirectory(prefix="hourhand-wheels-") as wheels:
            # Until some release, pip's install judges by its own interpreter which Python a
            # distribution requires; its download has always judged by --python-version.
            command = _pip_command("download", target)
            _run([*command, "--dest", wheels], wanted, target)
            found = Wanted(
                lines=tuple(str(path) for path in sorted(Path(wheels).glob("*.whl"))),
                options=("--no-index",),
                is_complete=True,
            )
            command = _pip_command("install", target)
            command += ["--ignore-requires-python", "--no-compile", "--no-warn-script-location"]
            _run([*command, "--target", str(to)], found, target)


def _pip_command(verb: str, target: Target) -> list[str]:
    # Not quietly: pip tells between which lines a conflict is as mere information.
    markers = json.dumps(target.markers)
    command = [sys.executable, "-I", _wheels_only_pip.__file__, markers, verb]
    command += ["--disable-pip-version-check", "--no-input", "--only-binary", ":all:"]
    if not target.is_this_machine:
        command += ["--implementation", "cp", "--python-version", target.python]
        for platform in target.wheel_platforms:
            command += ["--platform", platform]
    return command


def find_installer() -> Installer:
    """Return uv if it is on the path, else pip. Raises `InstallFailed` where there is neither."""
    program = shutil.which("uv")
    if program is not None:
        return UvInstaller(program)
    if importlib.util.find_spec("pip") is not None:
        return PipInstaller()
    raise InstallFailed("Neither uv nor pip is here. Install one: both can pack.")


def _run(command: Sequence[str], wanted: Wanted, target: Target) -> None:
    with tempfile.TemporaryDirectory(prefix="hourhand-install-") as folder:
        lines = Path(folder) / "requirements.txt"
        _write(lines, (*wanted.options, *wanted.lines))
        constraints = Path(folder) / "constraints.txt"
        _write(constraints, wanted.constraints)
        whole = [*command, "-r", str(lines), "-c", str(constraints)]
        if wanted.is_complete:
            whole.append("--no-deps")
        try:
            done = subprocess.run(  # noqa: S603 (the installer, with our own arguments)
                whole,
                # Not where the caller is: a file there may be called like a distribution.
                cwd=folder,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                encoding="utf-8",
                errors="replace",
                # Not ours: a requirements file has no business with a folder of this process.
                env={name: value for name, value in os.environ.items() if name != "PYTHONPATH"},
                timeout=INSTALL_SECONDS,
                check=False,
            )
        except subprocess.TimeoutExpired as error:
            raise InstallFailed(
                f"Installing for {target} took more than {INSTALL_SECONDS:.0f} s."
            ) from error
    if done.returncode != 0:
        said = "\n".join(done.stdout.strip().splitlines()[-SHOWN_LINES:])
        raise InstallFailed(
            f"The requirements could not be installed for {target}. Only wheels are taken: "
            "what has none for it must be put, built, on an index or into a folder that "
            f"--find-links names.\n{said}"
        )


def _write(path: Path, lines: Iterable[str]) -> None:
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
