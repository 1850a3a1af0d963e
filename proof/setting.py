"""What the proof ran on: the commit, the machine in general words, and the tools with versions."""

from __future__ import annotations

import os
import platform
import re
import subprocess
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

ROOT = Path(__file__).parents[1]
PACKAGES = ("boto3", "moto", "schemathesis", "hypothesis", "pytest")
EMULATOR_PINS = "constraints-emulator.txt"
"""The emulator has an environment of its own; its version is the one that is pinned."""

WRITTEN = (
    *("docs/reliability.md", "proof/results"),
    *("docs/performance.md", "docs/performance", "bench/results"),
)
"""What the proof and the benchmarks write: results, and nothing that runs."""

TOOL_SECONDS = 10
NOT_THERE = "not installed"


def setting() -> list[tuple[str, str]]:
    """Return names and values; nothing that tells one machine of a kind from another."""
    return [
        ("commit", commit()),
        ("Python", f"{platform.python_implementation()} {platform.python_version()}"),
        ("system", f"{platform.system()} {platform.machine()}"),
        ("processor", _field(Path("/proc/cpuinfo"), "model name")),
        ("cores", str(os.cpu_count())),
        ("memory", _memory()),
        *((package, _version(package)) for package in PACKAGES),
        ("ministack", _pinned("ministack")),
        ("Spin", _spin()),
    ]


def commit() -> str:
    """Return what is checked out, and whether anything but results was changed since."""
    name = _told(["git", "rev-parse", "--short", "HEAD"])
    changes = _told(["git", "status", "--porcelain", "--", ".", *(f":!{path}" for path in WRITTEN)])
    if name is None or changes is None:
        return "unknown"
    return f"{name}, with changes that are in no commit" if changes else f"{name}, nothing changed"


def _memory() -> str:
    told = _field(Path("/proc/meminfo"), "MemTotal").split()
    return f"{int(told[0]) / 1024**2:.0f} GB" if told[0].isdigit() else "unknown"


def _spin() -> str:
    told = _told(["spin", "-V"])
    found = re.search(r"Version (\S+)", told or "")
    return found[1] if found else NOT_THERE


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return NOT_THERE


def _pinned(package: str) -> str:
    pins = ROOT / EMULATOR_PINS
    found = re.search(
        rf"^{package}==(\S+)", pins.read_text() if pins.exists() else "", re.MULTILINE
    )
    return found[1] if found else "unknown"


def _field(path: Path, name: str) -> str:
    """Read the first line of that name from a file of the system's; ``unknown`` without one."""
    if not path.exists():
        return "unknown"
    found = re.search(rf"^{name}\s*:\s*(.+)$", path.read_text(errors="replace"), re.MULTILINE)
    return found[1].strip() if found else "unknown"


def _told(command: list[str]) -> str | None:
    """Return what a tool prints; ``None`` where it is missing or fails."""
    try:
        done = subprocess.run(
            command, cwd=ROOT, capture_output=True, text=True, timeout=TOOL_SECONDS, check=True
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout.strip()
