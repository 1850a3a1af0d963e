"""Imports packed code, and nothing but what TREE and LIBRARIES hold. Run by its path, in isolation.

``_probe_process.py ANSWER TREE LIBRARIES MODULE MANIFEST`` imports the handlers, writes their
manifest, and answers with their names and with warnings about them, or with what is wrong.

``_probe_process.py ANSWER TREE LIBRARIES`` imports the function and wires it, as a cold start does:
AWS_LAMBDA_INITIALIZATION_TYPE is set, so the import wires it, and a worker imports its handlers. It
answers with the seconds of CPU, the interpreter's own start left out.
"""

from __future__ import annotations

import importlib
import json
import os
import sys
import time
import traceback
from pathlib import Path

_OF_A_VERSION = (AttributeError, ImportError, NameError, SyntaxError, TypeError)
"""What code raises that was written for another version of Python."""


def main() -> None:
    """Import, answer, and end at once, whatever the import has started."""
    answer, tree, libraries, *named = sys.argv[1:]
    sys.path.insert(0, tree)
    sys.path.append(libraries)
    found = _read(tree, *named) if named else _cold_start()
    Path(answer).write_text(json.dumps(found), encoding="utf-8")
    sys.stdout.flush()
    sys.stderr.flush()
    # Not sys.exit: it would wait for threads that the import started.
    os._exit(0)


def _cold_start() -> dict[str, object]:
    started = time.process_time()
    importlib.import_module("main")
    return {"cpu_seconds": time.process_time() - started}


def _read(tree: str, module: str, manifest: str) -> dict[str, object]:
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
    write_manifest(Path(manifest), handlers)
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
