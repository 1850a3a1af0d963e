"""``hourhand init``: writes a small project of the user's own, from the files in ``_project``."""

from __future__ import annotations

import importlib.metadata
import json
import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

import typer

from hourhand.cli.exits import FAILED, REFUSED, WRONG_USAGE, CommandError
from hourhand.cli.session import Session
from hourhand.cli.verbs import verb

TEMPLATE = Path(__file__).parents[1] / "_project"
TEMPLATE_NAME, TEMPLATE_SOURCE = "hourhand-project", "git+https://GIT_URL"
"""What stands in the files for the name of the project, and for the source of Hourhand."""

LEFT_OUT = frozenset({"__pycache__"})
_NAME = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9._-]{0,62}[A-Za-z0-9])?")
"""What pyproject.toml accepts as a name (PyPA, names and normalization), up to 64 characters."""

DirArgument = Annotated[
    Path,
    typer.Argument(metavar="DIR", help="Folder of the project. It is created if it is missing."),
]
NameOption = Annotated[
    str | None,
    typer.Option(
        "--name", metavar="NAME", help="Name of the project. Default: that of the folder."
    ),
]
SourceOption = Annotated[
    str | None,
    typer.Option(
        "--source",
        metavar="URL",
        help="Where the project installs Hourhand from: git+https://...@COMMIT, or file:///... of "
        "a checkout. Default: where this command was installed from.",
    ),
]


@verb(
    example="hourhand init shop",
    codes={
        FAILED: "a file could not be written",
        WRONG_USAGE: "wrong usage",
        REFUSED: "a file is there already; nothing was written",
    },
    asks_api=False,
    tells_times=False,
)
def init(
    session: Session,
    folder: DirArgument = Path(),
    name: NameOption = None,
    source: SourceOption = None,
) -> None:
    """Write a small project: a handler, its test, a schedule, a README and a CI workflow.

    The project runs with `hourhand dev`, is tested with `pytest`, and deploys with `hourhand
    deploy`. The command overwrites no file. It prints the commands to type next.
    """
    folder = folder.absolute()
    name = _project_name(folder, name)
    source = source or installed_from()
    files = dict(_files(name, source or TEMPLATE_SOURCE))
    _write(folder, files)
    commands = list(_next_commands(folder))
    if session.is_json:
        written = sorted(map(str, files))
        session.print_json({"folder": str(folder), "files": written, "next": commands})
        return
    session.print_text(f"Wrote {len(files)} files to {folder}. Next, type:")
    for command in commands:
        session.print_text(f"  {command}")
    session.remark("README.md has these commands, and those that deploy.")
    if source is None:
        session.remark(
            f"Replace {TEMPLATE_SOURCE} in pyproject.toml and README.md by the address that you "
            "install Hourhand from, or give it with --source.",
            "yellow",
        )


def installed_from() -> str | None:
    """Return where pip installed Hourhand from, as a requirement names it; ``None``: unknown."""
    try:
        text = importlib.metadata.distribution("hourhand").read_text("direct_url.json")
        found = json.loads(text or "{}")
    except (importlib.metadata.PackageNotFoundError, ValueError):
        return None
    url = found.get("url")
    # The recorded form is that of PyPA's specification "Direct URL Data Structure".
    commit = found.get("vcs_info", {}).get("commit_id")
    if url is None or "archive_info" in found:
        return None
    return f"git+{url}@{commit}" if commit else str(url)


def _project_name(folder: Path, name: str | None) -> str:
    # Only for a folder's name: a name that was typed is taken as it is, or refused.
    found = re.sub(r"[^A-Za-z0-9]+", "-", folder.name).strip("-") if name is None else name
    if not _NAME.fullmatch(found):
        message = f"{found!r} cannot be the name of a project: give one with --name, such as shop."
        raise CommandError(message, WRONG_USAGE)
    return found


def _files(name: str, source: str) -> Iterator[tuple[Path, str]]:
    """Yield each file of the project, by its path in the project."""
    for path in sorted(TEMPLATE.rglob("*")):
        inside = path.relative_to(TEMPLATE)
        if path.is_file() and not LEFT_OUT & set(inside.parts):
            text = path.read_text(encoding="utf-8")
            yield inside, text.replace(TEMPLATE_NAME, name).replace(TEMPLATE_SOURCE, source)


def _write(folder: Path, files: dict[Path, str]) -> None:
    """Write the files. Raises `CommandError`, and then writes none if one is there already."""
    there = [str(path) for path in files if (folder / path).exists()]
    if there:
        message = f"{folder} has {', '.join(there)} already. Nothing was written."
        raise CommandError(f"{message} Choose another folder: hourhand init DIR", REFUSED)
    try:
        for path, text in files.items():
            file = folder / path
            file.parent.mkdir(parents=True, exist_ok=True)
            # Between the check and now another program may have written it.
            with file.open("x", encoding="utf-8") as opened:
                opened.write(text)
    except OSError as error:
        raise CommandError(f"{error.filename} cannot be written: {error.strerror}.") from error


def _next_commands(folder: Path) -> Iterator[str]:
    if folder != Path.cwd():
        yield f"cd {_shortest(folder)}"
    yield "python3 -m venv .venv && source .venv/bin/activate"
    yield "pip install -e '.[dev]'"
    yield "pytest"
    yield "hourhand dev"


def _shortest(folder: Path) -> str:
    current = Path.cwd()
    shown = folder.relative_to(current) if folder.is_relative_to(current) else folder
    return shlex.quote(str(shown))
