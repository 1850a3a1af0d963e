"""uv, which chooses and installs the wheels of a target, and finds the Pythons of this machine."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from hourhand_cdk.packing._errors import InstallFailed
from hourhand_cdk.packing._target import Target

INSTALL_SECONDS = 540.0
SHOWN_LINES = 25


@dataclass(frozen=True, kw_only=True, slots=True)
class Wanted:
    """What to install: a requirements file, further ``lines``, and limits on what they bring.

    ``excludes``: names of distributions that are not installed, whatever asks for them.
    """

    lines: tuple[str, ...] = ()
    file: Path | None = None
    constraints: tuple[str, ...] = ()
    excludes: tuple[str, ...] = ()


def uv_program() -> str | None:
    """Return the path of uv, which the extra ``infra`` installs; ``None`` without it."""
    try:
        from uv import find_uv_bin  # noqa: PLC0415 (packing for this machine does without)

        return find_uv_bin()
    except (ImportError, FileNotFoundError):
        return None


def install(wanted: Wanted, target: Target, to: Path, cache: Path) -> None:
    """Install wheels for ``target`` into ``to``; ``cache`` keeps what uv downloads.

    No build runs. Raises `InstallFailed` with what uv printed.
    """
    program = uv_program()
    if program is None:
        raise InstallFailed("uv is not installed here. Install hourhand with its extra infra.")
    with tempfile.TemporaryDirectory(prefix="hourhand-install-") as name:
        folder = Path(name)
        command = [program, "pip", "install", "--quiet", "--no-progress", "--color", "never"]
        command += ["--no-build", "--no-editable", "--link-mode", "copy"]
        command += ["--python", sys.executable, "--target", str(to), "--cache-dir", str(cache)]
        # Not the settings of the handlers' own project: they may allow builds.
        command += ["--project", str(folder)]
        command += ["--constraints", _written(folder / "constraints.txt", wanted.constraints)]
        command += ["--excludes", _written(folder / "excludes.txt", wanted.excludes)]
        if not target.is_this_machine:
            command += ["--python-version", target.python, "--python-platform", target.platform]
        if wanted.file is not None:
            command += ["--requirements", str(wanted.file)]
        try:
            done = subprocess.run(  # noqa: S603 (uv, with our own arguments)
                [*command, *wanted.lines],
                # uv finds a wheel by its path from here.
                cwd=folder if wanted.file is None else wanted.file.parent,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                encoding="utf-8",
                errors="replace",
                timeout=INSTALL_SECONDS,
                check=False,
            )
        except subprocess.TimeoutExpired as error:
            raise InstallFailed(f"uv took more than {INSTALL_SECONDS:.0f} s.") from error
    if done.returncode != 0:
        raise InstallFailed("\n".join(done.stdout.strip().splitlines()[-SHOWN_LINES:]))


def _written(path: Path, lines: Iterable[str]) -> str:
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return str(path)
