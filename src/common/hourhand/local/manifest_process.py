"""Reads the handlers in a process of their own: the cloud itself never imports user code.

``python -m hourhand.local.manifest_process --handlers examples.quickstart --to manifest.json``
writes the manifest and prints, as one line of JSON, warnings about the handlers and the files that
they are made of; or it prints what is wrong with them, and exits with 1.
"""

from __future__ import annotations

import argparse
import importlib
import importlib.util
import sys
import sysconfig
import traceback
from pathlib import Path
from typing import IO

import hourhand
from hourhand.aws.handler_manifest import write_manifest
from hourhand.domain.errors import HourhandError
from hourhand.handlers import describe, load_handlers
from hourhand.local.child_lines import take_over_streams, write_line
from hourhand.local.environment import allow_current_folder

ADVICE = (
    "Import the module that registers it in {module}, or start hourhand dev with --handlers and "
    "that module."
)


def main() -> None:
    """Read, write, print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--handlers", required=True)
    parser.add_argument("--to", required=True, type=Path)
    options = parser.parse_args()
    _, replies = take_over_streams()
    allow_current_folder()
    sys.exit(_read(options.handlers, options.to, replies))


def _read(module: str, to: Path, replies: IO[str]) -> int:
    notes: list[str] = []
    try:
        handlers = describe(load_handlers(module), notes.append)
    except HourhandError as error:
        if error.__cause__ is not None:
            _show(error.__cause__)
        write_line(replies, {"error": error.detail, "files": _files(module)})
        return 1
    # Whole or not at all: the API may read it at any moment.
    part = to.with_suffix(".part")
    write_manifest(part, handlers, advice=ADVICE.format(module=module))
    part.replace(to)
    write_line(replies, {"notes": notes, "files": _files(module)})
    return 0


def _show(error: BaseException) -> None:
    """Print the traceback of ``error`` without the frames of ours and of the import system."""
    ours = (str(Path(hourhand.__file__).parent), str(Path(importlib.__file__).parent))
    shown = traceback.TracebackException.from_exception(error)
    shown.stack = traceback.StackSummary.from_list(
        frame
        for frame in shown.stack
        if not frame.filename.startswith((*ours, "<frozen importlib"))
    )
    sys.stderr.write("".join(shown.format()))


def _files(module: str) -> list[str]:
    """Return the user's own files behind ``module``, and those beside it; of a package its folder.

    A module that is added to a package changes the folder alone.
    """
    loaded = {
        Path(file)
        for one in list(sys.modules.values())
        if isinstance(file := getattr(one, "__file__", None), str)
    }
    try:
        spec = importlib.util.find_spec(module)
    except (ImportError, ValueError):
        spec = None
    if spec is not None and spec.origin is not None:
        loaded.update(Path(spec.origin).parent.glob("*.py"))
    libraries = [Path(path) for path in set(sysconfig.get_paths().values())]
    libraries.append(Path(hourhand.__file__).parent)
    files = [
        str(file)
        for file in loaded
        if file.suffix == ".py" and not any(file.is_relative_to(at) for at in libraries)
    ]
    folders = () if spec is None else spec.submodule_search_locations or ()
    return sorted([*files, *folders])


if __name__ == "__main__":
    main()
