"""``hourhand check``: checks the bodies of durable handlers without running them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

from hourhand.cli.exits import DONE, FAILED, WRONG_USAGE, CommandError
from hourhand.cli.options import argument
from hourhand.cli.project import FILE, TABLE, handlers_path, project_handlers
from hourhand.cli.session import Session
from hourhand.cli.verbs import verb

MAX_FILES = 10_000

PathsArgument = Annotated[
    list[Path] | None,
    argument("PATH...", "Files and folders to check. Default: the handlers of this project."),
]


@verb(
    example="hourhand check jobs/orders.py",
    codes={FAILED: "there are findings"},
    asks_api=False,
    tells_times=False,
)
def check(session: Session, paths: PathsArgument = None) -> int:
    """Check that replays of durable handlers come to the same calls again.

    It reads the source and warns about clocks, random numbers, the environment, input and output,
    sets that are iterated, calls of the context that are not awaited, loops over ctx.iterate that
    are left early, and handlers of BaseException in the body of a durable handler and in the
    functions of the same file that the body calls. The functions of steps are not checked. A
    comment "hourhand: ok" takes a line out. See docs/reference/durable-runs.md.
    """
    files = sorted(_files(paths or [_project()]))
    count = 0
    for file in files:
        for finding in _findings(file):
            count += 1
            if session.is_json:
                session.print_json(finding)
            else:
                session.print_text(
                    "{file}:{line}:{column}: {handler}: {message}".format_map(finding)
                )
    if not session.is_json:
        told = "no findings" if count == 0 else f"{count} finding{'s' if count > 1 else ''}"
        session.remark(f"{len(files)} file{'s' if len(files) != 1 else ''} checked: {told}.")
    return FAILED if count else DONE


def _findings(file: Path) -> Iterator[dict[str, str | int]]:
    from hourhand.cli.check.rules import check_source

    try:
        found = check_source(file.read_text(encoding="utf-8"))
    except (OSError, ValueError, SyntaxError) as error:
        raise CommandError(f"{file} cannot be read as Python: {error}.", WRONG_USAGE) from error
    for one in found:
        yield {
            "file": str(file),
            "line": one.line,
            "column": one.column,
            "handler": one.handler,
            "message": one.message,
        }


def _files(paths: list[Path]) -> Iterator[Path]:
    count = 0
    for path in paths:
        if not path.exists():
            raise CommandError(f"There is no file or folder {path}.", WRONG_USAGE)
        for file in sorted(path.rglob("*.py")) if path.is_dir() else [path]:
            count += 1
            if count > MAX_FILES:
                message = f"More than {MAX_FILES:,} files: name the folder with the handlers."
                raise CommandError(message, WRONG_USAGE)
            yield file


def _project() -> Path:
    """Return the file or folder of the project's handlers. Raises `CommandError`."""
    module = project_handlers(Path.cwd())
    if module is None:
        message = f'Give a path, or name the handlers in {FILE}: handlers = "jobs" under {TABLE}.'
        raise CommandError(message, WRONG_USAGE)
    return handlers_path(Path.cwd(), module)
