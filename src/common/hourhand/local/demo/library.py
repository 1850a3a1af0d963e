"""The demo's real input: the modules of the standard library that this Python came with."""

from __future__ import annotations

import sysconfig
from pathlib import Path

_NOT_MODULES = frozenset(
    {"__pycache__", "dist-packages", "idle_test", "site-packages", "test", "tests"},
)


def standard_library_modules() -> list[str]:
    """Return them as paths below the library's folder, such as ``json/decoder.py``."""
    folder = Path(sysconfig.get_paths()["stdlib"])
    found = (path.relative_to(folder) for path in folder.rglob("*.py"))
    return sorted(path.as_posix() for path in found if not _NOT_MODULES & set(path.parts))
