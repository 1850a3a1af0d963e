"""The user's ``requirements.txt``, read for the names and places of its lines.

uv judges the file. Packing reads it for messages, and to notice that it changed.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from packaging.requirements import InvalidRequirement, Requirement
from packaging.utils import canonicalize_name

from hourhand_cdk.packing._errors import PackingError

MAX_FILES = 50
"""Files that may name one another by ``-r`` and ``-c``."""

MAX_NAME = 255
"""A longer word is no name of a file."""

_INCLUDES = re.compile(r"(-r|--requirements?|(?P<c>-c|--constraints?))[\s=]*(?P<file>\S.*)")
_COMMENT = re.compile(r"(^|\s)#.*$")


@dataclass(frozen=True, kw_only=True, slots=True)
class Line:
    """One requirement, or a constraint. ``place``: its file and line."""

    place: str
    text: str
    requirement: Requirement
    is_constraint: bool

    def __str__(self) -> str:
        return f"{self.place}: {self.text}"

    @property
    def name(self) -> str:
        """The distribution, in the spelling of indexes."""
        return canonicalize_name(self.requirement.name)


@dataclass(frozen=True, kw_only=True, slots=True)
class Requirements:
    """``digest`` changes with the files, and with the wheels that they name."""

    path: Path
    lines: tuple[Line, ...]
    digest: str

    @property
    def pinned(self) -> frozenset[str]:
        """The names that may have one version only."""
        return frozenset(line.name for line in self.lines if _is_pinned(line.requirement))


def read_requirements(path: Path) -> Requirements:
    """Read ``path`` and the files that it names.

    Raises `PackingError` for a file that cannot be read, and for a line that asks for a build.
    """
    lines: list[Line] = []
    digest = hashlib.sha256()
    waiting, seen = [(path, False)], set[tuple[Path, bool]]()
    while waiting:
        file, is_constraint = waiting.pop()
        if (file.resolve(), is_constraint) in seen:
            continue
        seen.add((file.resolve(), is_constraint))
        if len(seen) > MAX_FILES:
            raise PackingError(f"{file}: more than {MAX_FILES} files name one another.")
        text = _read(file)
        digest.update(text.encode())
        for number, content in _logical_lines(text):
            place = f"{file.name} line {number}"
            for wheel in _wheels_beside(file.parent, content):
                status = wheel.stat()
                digest.update(f"{wheel} {status.st_size} {status.st_mtime_ns}\n".encode())
            included = _INCLUDES.fullmatch(content)
            if included:
                waiting.append(
                    (file.parent / included["file"], is_constraint or bool(included["c"]))
                )
            elif content.startswith("--no-binary"):
                # To uv it is an exception from --no-build.
                raise PackingError(f"{place}: --no-binary is refused: packing runs no builds.")
            else:
                lines += _line(place, content, is_constraint=is_constraint)
    return Requirements(path=path, lines=tuple(lines), digest=digest.hexdigest())


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise PackingError(f"{path} cannot be read: {error}.") from error


def _logical_lines(text: str) -> Iterator[tuple[int, str]]:
    """Yield each line that is not empty, its continuations joined, and its number."""
    pending, first = "", 0
    for number, raw in enumerate(text.splitlines(), start=1):
        first = first or number
        line = _COMMENT.sub("", raw)
        if line.endswith("\\"):
            pending += line[:-1]
            continue
        content = (pending + line).strip()
        if content:
            yield first, content
        pending, first = "", 0
    if pending.strip():
        yield first, pending.strip()


def _wheels_beside(folder: Path, content: str) -> Iterator[Path]:
    """Yield the wheels of this machine that a line names: by their path, or by their folder."""
    for word in re.split(r"[\s=]+", content):
        beside = folder / word
        if len(word) > MAX_NAME:
            continue
        if beside.suffix == ".whl" and beside.is_file():
            yield beside
        elif beside.is_dir():
            yield from sorted(beside.glob("*.whl"))


def _line(place: str, content: str, *, is_constraint: bool) -> Iterator[Line]:
    """Yield the line; nothing where it is an option, a path or a mistake, which uv reports."""
    try:
        requirement = Requirement(content.partition(" --")[0])
    except InvalidRequirement:
        return
    yield Line(place=place, text=content, requirement=requirement, is_constraint=is_constraint)


def _is_pinned(requirement: Requirement) -> bool:
    return any(
        one.operator in {"==", "==="} and not one.version.endswith("*")
        for one in requirement.specifier
    )
