"""Wheels made by hand: what an index would hold, without one."""

from __future__ import annotations

import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name, parse_wheel_filename

from hourhand_cdk.packing import InstallFailed, Target, Wanted


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


class WheelFolder:
    """An installer that unpacks the wheels of a folder, and notes what it was asked for."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.asked: list[tuple[Wanted, Target]] = []

    def install(self, wanted: Wanted, target: Target, to: Path) -> None:
        self.asked.append((wanted, target))
        for line in wanted.lines:
            requirement = Requirement(line)
            with zipfile.ZipFile(self._wheel(requirement)) as wheel:
                wheel.extractall(to)

    def _wheel(self, requirement: Requirement) -> Path:
        for path in sorted(self.folder.glob("*.whl"), reverse=True):
            name, version, *_ = parse_wheel_filename(path.name)
            if name == canonicalize_name(requirement.name) and requirement.specifier.contains(
                version
            ):
                return path
        raise InstallFailed(f"There is no wheel of {requirement}.")
