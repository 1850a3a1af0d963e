"""Imports packed handlers and writes their manifest. Run by its path, in isolation.

``_handlers_process.py ANSWER TREE LIBRARIES MODULE MANIFEST``: imports nothing but what TREE and
LIBRARIES hold, writes the manifest, and answers with the handlers' names and with warnings about
them, or with what is wrong.
"""

from __future__ import annotations

import json
import os
import sys
import traceback
from pathlib import Path

_OF_A_VERSION = (AttributeError, ImportError, NameError, SyntaxError, TypeError)
"""What code raises that was written for another version of Python."""


def main() -> None:
    """Read, write, answer, and end at once, whatever the import has started."""
    answer, tree, libraries, module, manifest = sys.argv[1:]
    sys.path.insert(0, tree)
    sys.path.append(libraries)
    Path(answer).write_text(json.dumps(_read(module, Path(manifest), tree)), encoding="utf-8")
    sys.stdout.flush()
    sys.stderr.flush()
    # Not sys.exit: it would wait for threads that the import started.
    os._exit(0)


def _read(module: str, manifest: Path, tree: str) -> dict[str, object]:
    from hourhand.aws.handler_manifest import write_manifest  # noqa: PLC0415 (from TREE)
    from hourhand.domain.errors import HourhandError  # noqa: PLC0415 (from TREE)
    from hourhand.handlers import describe, load_handlers  # noqa: PLC0415 (from TREE)

    notes: list[str] = []
    try:
        handlers = describe(load_handlers(module), notes.append)
    except HourhandError as error:
        cause = error.__cause__
        return {
            "error": error.detail,
            "traceback": _shown(cause, tree) if cause else "",
            "may_be_the_version": isinstance(cause, _OF_A_VERSION),
        }
    write_manifest(manifest, handlers)
    return {"handlers": [info.name for info in handlers], "notes": notes}


def _shown(error: BaseException, tree: str) -> str:
    """Return the traceback without frames of ours, its files named as they are in the asset."""
    shown = traceback.TracebackException.from_exception(error)
    ours = (str(Path(tree) / "hourhand"), str(Path(os.__file__).parent / "importlib"), "<frozen")
    shown.stack = traceback.StackSummary.from_list(
        frame for frame in shown.stack if not frame.filename.startswith(ours)
    )
    return "".join(shown.format()).replace(tree + os.sep, "")


if __name__ == "__main__":
    main()
