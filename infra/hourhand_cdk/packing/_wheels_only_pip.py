"""Runs pip so that it can start no other program, and judges markers by the target.

Run by its path: ``python -I _wheels_only_pip.py '{"python_version": "3.13"}' install ...``.

``--only-binary`` binds what an index offers, not a URL in the metadata of a wheel: that would be
built, which runs foreign code. Every build, and every version control, is a program of its own,
so none may be started. And pip judges markers by the interpreter that it runs on, whatever
``--platform`` says (https://github.com/pypa/pip/issues/10050), so it would leave out what only
the target needs.
"""

from __future__ import annotations

import json
import runpy
import sys
from typing import Any

_PROGRAM_EVENTS = frozenset(
    {
        "os.exec",
        "os.fork",
        "os.forkpty",
        "os.posix_spawn",
        "os.spawn",
        "os.system",
        "subprocess.Popen",
    }
)
"""Audit events: https://docs.python.org/3/library/audit_events.html"""


def main() -> None:
    """Take the markers from the arguments and leave the rest of them to pip."""
    markers: dict[str, str] = json.loads(sys.argv.pop(1))
    if markers:
        _judge_by(markers)
    sys.addaudithook(_refuse_programs)
    runpy.run_module("pip", run_name="__main__", alter_sys=True)


def _judge_by(markers: dict[str, str]) -> None:
    from pip._vendor.packaging import markers as judge  # noqa: PLC0415 (a part of pip)

    own = judge.default_environment

    def of_target() -> Any:
        return {**own(), **markers}

    judge.default_environment = of_target


def _refuse_programs(event: str, arguments: tuple[Any, ...]) -> None:
    if event in _PROGRAM_EVENTS:
        # An OSError, since pip also asks other programs for their versions, and does without.
        program = arguments[0] if arguments else event
        raise PermissionError(f"packing starts no programs, so nothing can be built: {program}")


if __name__ == "__main__":
    main()
