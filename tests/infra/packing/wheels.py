"""Wheels made by hand: what an index would hold, without one."""

from __future__ import annotations

import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path


def make_wheel(
    folder: Path,
    name: str,
    version: str,
    files: Mapping[str, str] | None = None,
    *,
    requires: Sequence[str] = (),
    requires_python: str = ">=3",
    tag: str = "py3-none-any",
) -> Path:
    """Write a wheel; by default it holds one module of the distribution's name."""
    folder.mkdir(parents=True, exist_ok=True)
    notes = f"{name}-{version}.dist-info"
    metadata = ["Metadata-Version: 2.1", f"Name: {name}", f"Version: {version}"]
    metadata.append(f"Requires-Python: {requires_python}")
    metadata += [f"Requires-Dist: {required}" for required in requires]
    content = {
        **(files or {f"{name}.py": f"VERSION = {version!r}\n"}),
        f"{notes}/METADATA": "\n".join(metadata) + "\n",
        f"{notes}/WHEEL": f"Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: {tag}\n",
    }
    record = "".join(f"{place},,\n" for place in [*content, f"{notes}/RECORD"])
    path = folder / f"{name}-{version}-{tag}.whl"
    with zipfile.ZipFile(path, "w") as wheel:
        for place, text in {**content, f"{notes}/RECORD": record}.items():
            wheel.writestr(place, text)
    return path


def from_folder(folder: Path, *lines: str) -> str:
    """Return the text of a requirements file whose only index is ``folder``."""
    folder.mkdir(parents=True, exist_ok=True)
    return "\n".join(["--no-index", f"--find-links {folder}", *lines, ""])
