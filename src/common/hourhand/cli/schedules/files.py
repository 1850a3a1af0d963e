"""Schedules in files: which files, which schedules, and where a problem is."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from hourhand.cli.exits import WRONG_USAGE, CommandError
from hourhand.cli.schedules.definition import NOT_PUT
from hourhand.domain.ids import OWN_ID, json_integer

SUFFIXES = (".json", ".yaml", ".yml")
MAX_FILES = 1_000
MAX_FILE_BYTES = 10_000_000
MAX_PROBLEMS_SHOWN = 50

_STDIN = "-"
_NEVER_IN_A_FILE = NOT_PUT | {"managed_by"}
"""What the API returns and a file does not set, so that a schedule can be saved as it is shown."""


@dataclass(frozen=True, slots=True)
class Place:
    """Where a schedule was written: its file, its number in there from 1, and its fields' lines."""

    file: str
    number: int
    lines: Mapping[str, int] = field(default_factory=dict)

    def of(self, path: str) -> str:
        """Return where a field is, by its path; a part that has no line is where its whole is."""
        wanted = path
        while wanted and wanted not in self.lines:
            wanted = wanted[: max(wanted.rfind("."), wanted.rfind("["), 0)]
        line = self.lines.get(wanted)
        return f"{self.file}, schedule {self.number}" if line is None else f"{self.file}:{line}"


@dataclass(frozen=True, slots=True)
class FileSchedule:
    """A schedule as a file has it: the fields of a put."""

    id: str
    fields: Mapping[str, Any]
    place: Place


class Problems:
    """What is wrong with the files. Everything is judged before anything is refused."""

    def __init__(self) -> None:
        """Know of none."""
        self._found: list[str] = []

    def add(self, where: str, what: str) -> None:
        """Note a problem."""
        self._found.append(f"{where}: {what}")

    def require_none(self) -> None:
        """Raise `CommandError` that names every problem."""
        if not self._found:
            return
        count = len(self._found)
        shown = [f"  {problem}" for problem in self._found[:MAX_PROBLEMS_SHOWN]]
        if count > len(shown):
            shown.append(f"  and {count - len(shown):,} more")
        counted = "1 problem" if count == 1 else f"{count:,} problems"
        head = f"The files have {counted}, so nothing was changed."
        raise CommandError("\n".join([head, *shown]), WRONG_USAGE)


def read_schedules(paths: Sequence[str]) -> list[FileSchedule]:
    """Return the schedules of files, of all files in folders, and for ``-`` of stdin.

    Raises `CommandError` naming each problem: what cannot be read, what is no schedule, and IDs
    that are given twice.
    """
    problems = Problems()
    found: list[FileSchedule] = []
    places: dict[str, Place] = {}
    for name, text in _texts(paths, problems):
        for value, place in _values(name, text, problems):
            schedule = _schedule(value, place, problems)
            if schedule is None:
                continue
            first = places.setdefault(schedule.id, place)
            if first is not place:
                message = f"the ID {schedule.id} is already at {first.of('id')}"
                problems.add(place.of("id"), message)
            found.append(schedule)
    problems.require_none()
    return found


def _texts(paths: Iterable[str], problems: Problems) -> Iterator[tuple[str, str]]:
    for path in dict.fromkeys(paths):
        files = [Path(path)] if path == _STDIN or not Path(path).is_dir() else _in_folder(path)
        if not files:
            problems.add(path, f"the folder has no file that ends in {', '.join(SUFFIXES)}")
        if len(files) > MAX_FILES:
            problems.add(path, f"the folder has more than {MAX_FILES:,} files")
        for file in files[:MAX_FILES]:
            name = "stdin" if path == _STDIN else str(file)
            try:
                content = sys.stdin.buffer.read() if path == _STDIN else file.read_bytes()
                if len(content) > MAX_FILE_BYTES:
                    problems.add(name, f"it is larger than {MAX_FILE_BYTES:,} bytes")
                else:
                    yield name, content.decode("utf-8-sig")
            except OSError as error:
                problems.add(name, f"it cannot be read: {error.strerror or error}")
            except UnicodeDecodeError:
                problems.add(name, "it is not UTF-8 text")


def _in_folder(folder: str) -> list[Path]:
    """Return the files of a folder and the folders in it, without what is hidden."""
    return sorted(
        file
        for file in Path(folder).rglob("*")
        if file.suffix in SUFFIXES
        and file.is_file()
        and not any(part.startswith(".") for part in file.relative_to(folder).parts)
    )


def _values(name: str, text: str, problems: Problems) -> Iterator[tuple[Any, Place]]:
    """Yield each schedule of a file as it is written there, and its place."""
    number = 0
    read = _json_documents if name.endswith(".json") else _yaml_documents
    for value, lines in read(name, text, problems):
        entries = value if isinstance(value, list) else [value]
        for index, entry in enumerate(entries):
            number += 1
            prefix = f"[{index}]" if isinstance(value, list) else ""
            yield entry, Place(name, number, _below(lines, prefix))


def _below(lines: Mapping[str, int], prefix: str) -> dict[str, int]:
    """Return the lines of the fields of one entry, by their paths in it."""
    if not prefix:
        return dict(lines)
    return {
        path.removeprefix(prefix).removeprefix("."): line
        for path, line in lines.items()
        if path == prefix or path.startswith((f"{prefix}.", f"{prefix}["))
    }


def _json_documents(
    name: str, text: str, problems: Problems
) -> Iterator[tuple[Any, Mapping[str, int]]]:
    try:
        yield (
            json.loads(
                text,
                parse_int=json_integer,
                parse_constant=_refuse_constant,
                object_pairs_hook=_without_repetition,
            ),
            {},
        )
    except (ValueError, RecursionError) as error:
        problems.add(name, f"it is not valid JSON: {error}")


def _refuse_constant(constant: str) -> float:
    raise ValueError(f"{constant} is not a JSON number")


def _without_repetition(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, value in pairs:
        if name in found:
            raise ValueError(f"the field {name} is given twice")
        found[name] = value
    return found


def _yaml_documents(
    name: str, text: str, problems: Problems
) -> Iterator[tuple[Any, Mapping[str, int]]]:
    # PyYAML takes a while to import, and only this verb needs it.
    from hourhand.cli.schedules.yaml_values import YamlProblem, read_documents

    try:
        for document in read_documents(text):
            for path, line, message in document.problems:
                problems.add(f"{name}:{line}", f"{path or 'the document'} {message}")
            if document.value is not None:
                yield document.value, document.lines
    except YamlProblem as problem:
        problems.add(name, str(problem))


def _schedule(value: Any, place: Place, problems: Problems) -> FileSchedule | None:
    if not isinstance(value, dict):
        message = "a schedule must be an object with id, expression and handler"
        problems.add(place.of(""), message)
        return None
    schedule_id = value.get("id")
    if not isinstance(schedule_id, str) or OWN_ID.fullmatch(schedule_id) is None:
        shown = "is missing" if schedule_id is None else f"is {schedule_id!r}"
        message = f"id {shown}: it must be 1 to 100 of A-Z, a-z, 0-9, _ and -"
        problems.add(place.of("id"), message)
        return None
    fields = {
        name: each
        for name, each in value.items()
        if name not in _NEVER_IN_A_FILE and (each is not None or name == "payload")
    }
    return FileSchedule(schedule_id, fields, place)
