"""The user's ``requirements.txt``: read and judged before any installer sees it.

Only what an installer can answer with wheels is let through: names with versions, markers and
hashes, and where to find them. What could build, run or point to foreign code is refused, with
its file and line. The format: https://pip.pypa.io/en/stable/reference/requirements-file-format/
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from packaging.requirements import InvalidRequirement, Requirement
from packaging.utils import canonicalize_name

from hourhand_cdk.packing._errors import PackingError

MAX_FILES = 50
"""Files that may name one another by ``-r`` and ``-c``."""

_FILES = frozenset({"-r", "--requirement"})
_CONSTRAINT_FILES = frozenset({"-c", "--constraint"})
_INDEX_OPTIONS = {
    "-i": "--index-url",
    "--index-url": "--index-url",
    "--extra-index-url": "--extra-index-url",
    "-f": "--find-links",
    "--find-links": "--find-links",
    "--trusted-host": "--trusted-host",
}
_INDEX_FLAGS = frozenset({"--no-index", "--require-hashes"})
_ALWAYS_SO = frozenset({"--only-binary", "--prefer-binary"})
_REASONS = {
    "-e": "an editable install runs the project's build",
    "--editable": "an editable install runs the project's build",
    "--no-binary": "only wheels are packed: building runs foreign code",
    "--pre": "name the pre-release's version itself, such as package==2.0rc1",
}
_COMMENT = re.compile(r"(^|\s)#.*$")
_LINK = re.compile(r"^[./~]|^file:|://|\.(whl|zip|tar\.gz|tgz|tar\.bz2)$|^(git|hg|svn|bzr)\+")
_HASHES = re.compile(r"(\s+--hash[= ](sha256|sha384|sha512):[0-9a-f]+)*\s*")


@dataclass(frozen=True, kw_only=True, slots=True)
class Line:
    """One requirement. ``place``: its file and line, for messages."""

    place: str
    text: str
    requirement: Requirement

    @property
    def name(self) -> str:
        """The distribution, as indexes spell it."""
        return canonicalize_name(self.requirement.name)

    def applies(self, markers: dict[str, str]) -> bool:
        """Whether its marker holds; ``markers`` override what is true of this interpreter."""
        marker = self.requirement.marker
        return marker is None or marker.evaluate({**markers, "extra": ""})


@dataclass(frozen=True, kw_only=True, slots=True)
class Requirements:
    """What is to be installed, under which constraints, and ``options``: where to find it."""

    lines: tuple[Line, ...] = ()
    constraints: tuple[Line, ...] = ()
    options: tuple[str, ...] = ()

    @property
    def pinned(self) -> frozenset[str]:
        """The names that may have one version only."""
        return frozenset(line.name for line in (*self.lines, *self.constraints) if _is_pinned(line))


def read_requirements(path: Path) -> Requirements:
    """Read ``path`` and what it names. Raises `PackingError` naming file and line."""
    reader = _Reader()
    reader.read(path, is_constraints=False)
    return Requirements(
        lines=tuple(reader.lines),
        constraints=tuple(reader.constraints),
        options=tuple(dict.fromkeys(reader.options)),
    )


class _Reader:
    """Follows ``-r`` and ``-c`` from file to file, each read once."""

    def __init__(self) -> None:
        self.lines: list[Line] = []
        self.constraints: list[Line] = []
        self.options: list[str] = []
        self._read: set[tuple[Path, bool]] = set()

    def read(self, path: Path, *, is_constraints: bool) -> None:
        if (path.resolve(), is_constraints) in self._read:
            return
        self._read.add((path.resolve(), is_constraints))
        if len(self._read) > MAX_FILES:
            raise PackingError(f"{path}: more than {MAX_FILES} files name one another.")
        try:
            text = path.read_text(encoding="utf-8-sig")
        except (OSError, UnicodeDecodeError) as error:
            raise PackingError(f"{path} cannot be read: {error}.") from error
        for number, content in _logical_lines(text):
            place = f"{path.name} line {number}"
            if content.startswith("-"):
                self._take_option(path, place, content, is_constraints)
            else:
                line = _read_line(place, content)
                (self.constraints if is_constraints else self.lines).append(line)

    def _take_option(self, path: Path, place: str, content: str, is_constraints: bool) -> None:
        option, value = _split_option(place, content)
        if option in _FILES | _CONSTRAINT_FILES:
            if not value or "://" in value:
                raise PackingError(f"{place}: {option} takes a file, not {value!r}.")
            is_constraints = is_constraints or option in _CONSTRAINT_FILES
            self.read(path.parent / value, is_constraints=is_constraints)
        elif option in _INDEX_OPTIONS:
            self.options.append(f"{_INDEX_OPTIONS[option]} {_location(path, place, option, value)}")
        elif option in _INDEX_FLAGS:
            self.options.append(option)
        elif option not in _ALWAYS_SO:
            reason = _REASONS.get(option, "packing knows only the options of indexes, -r and -c")
            raise PackingError(f"{place}: {option} is refused: {reason}.")


def _logical_lines(text: str) -> Iterator[tuple[int, str]]:
    """Yield each line that says something, its continuations joined, and its number."""
    pending, first = "", 0
    for number, raw in enumerate(text.splitlines(), start=1):
        first = first or number
        # A comment ends its line, and with it the requirement that a backslash left open.
        line = _COMMENT.sub("", raw)
        if line.endswith("\\"):
            pending += line[:-1] + " "
            continue
        content = (pending + line).strip()
        if content:
            yield first, content
        pending, first = "", 0
    if pending.strip():
        yield first, pending.strip()


def _split_option(place: str, content: str) -> tuple[str, str]:
    try:
        words = shlex.split(content)
    except ValueError as error:
        raise PackingError(f"{place}: {content!r} cannot be read: {error}.") from error
    option, _, value = words[0].partition("=")
    # -rother.txt and -e./here are written without a space, too.
    if not option.startswith("--") and len(option) > len("-r"):
        option, value = option[:2], words[0][2:]
    given = [value] if value else []
    values = [*given, *words[1:]]
    if len(values) > 1:
        raise PackingError(f"{place}: {option} takes one value, not {' '.join(values)!r}.")
    return option, "".join(values)


def _location(path: Path, place: str, option: str, value: str) -> str:
    if not value:
        raise PackingError(f"{place}: {option} needs a value.")
    beside = path.parent / value
    # The installer reads a file of ours, elsewhere, so what is beside the user's is named in full.
    if option in {"-f", "--find-links"} and "://" not in value and beside.exists():
        return beside.resolve().as_posix()
    return value


def _read_line(place: str, content: str) -> Line:
    text, space, rest = content.partition(" --")
    if not _HASHES.fullmatch(space + rest if space else ""):
        raise PackingError(
            f"{place}: of a requirement's own options only --hash is taken, not --{rest}."
        )
    # Before it is parsed: thing-1.0.zip may be a name, too, and an installer looks for the file.
    if _LINK.search(text.partition(";")[0].strip()):
        raise _no_link(place, text)
    try:
        requirement = Requirement(text.strip())
    except InvalidRequirement as error:
        raise PackingError(f"{place}: {text!r} is no requirement: {_first_line(error)}") from error
    if requirement.url is not None:
        raise _no_link(place, text)
    return Line(place=place, text=content, requirement=requirement)


def _no_link(place: str, text: str) -> PackingError:
    return PackingError(
        f"{place}: {text.strip()!r} is refused: paths, URLs and version control can hold code that "
        "is run when it is built. Name a distribution of an index; --find-links takes a folder "
        "of wheels."
    )


def _first_line(error: Exception) -> str:
    return str(error).splitlines()[0]


def _is_pinned(line: Line) -> bool:
    return any(
        one.operator in {"==", "==="} and not one.version.endswith("*")
        for one in line.requirement.specifier
    )
