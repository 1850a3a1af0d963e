"""Folders that become assets: the same content always has the same bytes, modes and times."""

from __future__ import annotations

import hashlib
import os
import shutil
import stat
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from io import RawIOBase
from pathlib import Path, PurePosixPath

FILE_MODE, PROGRAM_MODE, FOLDER_MODE = 0o644, 0o755, 0o755
FIXED_TIME = 315_532_800
"""1980-01-01, where the times of zip files begin."""

_INSTALLERS_NOTES = frozenset(
    {"INSTALLER", "RECORD", "REQUESTED", "direct_url.json", "uv_build.json", "uv_cache.json"}
)
"""What an installer says about itself and about this machine; no code reads it when it runs."""

_COMPILED = frozenset({".pyc", ".pyo"})


def tidy(folder: Path) -> None:
    """Take from an installed folder what differs between machines: scripts, bytecode, notes."""
    shutil.rmtree(folder / "bin", ignore_errors=True)
    (folder / ".lock").unlink(missing_ok=True)
    for cached in sorted(folder.rglob("__pycache__")):
        shutil.rmtree(cached)
    for path in sorted(folder.rglob("*")):
        if path.is_file() and is_installers_note(PurePosixPath(path.relative_to(folder))):
            path.unlink()


def is_installers_note(place: PurePosixPath) -> bool:
    """Whether a file is of no use to code, and differs between machines."""
    if place.suffix in _COMPILED or "__pycache__" in place.parts:
        return True
    return place.parent.suffix == ".dist-info" and place.name in _INSTALLERS_NOTES


def files_below(folder: Path) -> Iterator[tuple[PurePosixPath, Path]]:
    """Yield every file by its place, in one order on every machine."""
    found: list[tuple[PurePosixPath, Path]] = []
    for root, _, names in os.walk(folder):
        above = Path(root)
        place = PurePosixPath(above.relative_to(folder).as_posix())
        found += [(place / name, above / name) for name in names]
    yield from sorted(found)


def copy_tree(
    folder: Path, to: Path, keeps: Callable[[PurePosixPath], bool] = lambda _: True
) -> None:
    """Copy the files whose place ``keeps`` accepts; what is there already stays."""
    for place, path in files_below(folder):
        if keeps(place):
            copy_file(path, to / place)


def copy_file(path: Path, to: Path) -> None:
    """Copy one file, and make the folders above it."""
    to.parent.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(path, to)
    is_program = path.stat().st_mode & stat.S_IXUSR
    to.chmod(PROGRAM_MODE if is_program else FILE_MODE)


def settle(folder: Path) -> None:
    """Give everything below ``folder``, and itself, one time and one mode."""
    for root, _, names in os.walk(folder):
        above = Path(root)
        for name in names:
            os.utime(above / name, (FIXED_TIME, FIXED_TIME))
        above.chmod(FOLDER_MODE)
        os.utime(above, (FIXED_TIME, FIXED_TIME))


def tree_digest(folder: Path) -> str:
    """Return a hash of every file's place, mode and content."""
    digest = hashlib.sha256()
    for place, path in files_below(folder):
        content = path.read_bytes()
        head = f"{place}\0{path.stat().st_mode:o}\0{len(content)}\0"
        digest.update(head.encode() + content)
    return digest.hexdigest()


@dataclass(frozen=True, kw_only=True, slots=True)
class TreeSize:
    """Bytes as they lie, and the largest entries of the root with theirs."""

    unzipped_bytes: int
    largest: tuple[tuple[str, int], ...]


def tree_size(folder: Path, *, shown: int = 5) -> TreeSize:
    """Add up the files below ``folder``; of its entries, the ``shown`` largest are named."""
    parts: dict[str, int] = {}
    for place, path in files_below(folder):
        parts[place.parts[0]] = parts.get(place.parts[0], 0) + path.stat().st_size
    largest = sorted(parts.items(), key=lambda part: (-part[1], part[0]))
    return TreeSize(unzipped_bytes=sum(parts.values()), largest=tuple(largest[:shown]))


def zipped_bytes(folder: Path) -> int:
    """Return how large an archive of ``folder`` is, by really compressing it."""
    counter = _Counter()
    with zipfile.ZipFile(counter, "w", zipfile.ZIP_DEFLATED) as archive:
        for place, path in files_below(folder):
            archive.write(path, place.as_posix())
    return counter.bytes_written


class _Counter(RawIOBase):
    """Counts what is written to it and keeps none of it."""

    def __init__(self) -> None:
        self.bytes_written = 0

    def writable(self) -> bool:
        return True

    def write(self, data: object) -> int:
        size = memoryview(data).nbytes  # type: ignore[arg-type]  # zipfile writes bytes
        self.bytes_written += size
        return size
