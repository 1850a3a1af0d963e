"""The bytecode of packed modules, so that a cold start need not compile them.

Lambda's folder is read-only, so Python would compile every module again at each cold start. Python
takes the bytecode as valid (PEP 552, unchecked hashes), whatever the times of the files, which a
deployment does not keep. An interpreter of the functions' version writes it, because they ignore
the bytecode of any other version.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from hourhand_cdk.packing import _compile_process
from hourhand_cdk.packing._errors import PackingError
from hourhand_cdk.packing._target import Target
from hourhand_cdk.packing._uv import uv_program

LAMBDA_FOLDER = "/var/task"
"""Where Lambda puts a function's code: the name of each module's file in the bytecode."""

COMPILE_SECONDS = 300.0
FIND_SECONDS = 30.0
SHOWN_LINES = 15

_PRINT_VERSION = (
    "import sys; v = sys.version_info; "
    "print(sys.implementation.name, f'{v.major}.{v.minor}', v.releaselevel)"
)


@dataclass(frozen=True, slots=True)
class Compiler:
    """An interpreter of the version that a target runs."""

    program: str

    def compile(self, trees: Sequence[Path]) -> int:
        """Put the bytecode of every module beside it; return how many modules have it.

        The same modules have the same bytecode, whatever machine and folder they are packed in.
        """
        with tempfile.TemporaryDirectory(prefix="hourhand-compile-") as folder:
            answer = Path(folder) / "answer.json"
            script = _compile_process.__file__
            # -S and -s: nothing of this environment. Not -I, which would ignore the hash seed, by
            # which sets of constants are ordered.
            command = [self.program, "-S", "-s", "-B", script, str(answer), LAMBDA_FOLDER]
            done = subprocess.run(  # noqa: S603 (an interpreter, with our own script)
                [*command, *map(str, trees)],
                cwd=folder,
                env={"PATH": os.defpath, "PYTHONHASHSEED": "0", "LANG": "C.UTF-8"},
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                encoding="utf-8",
                errors="replace",
                timeout=COMPILE_SECONDS,
                check=False,
            )
            if done.returncode or not answer.is_file():
                said = "\n".join(done.stdout.strip().splitlines()[-SHOWN_LINES:])
                raise PackingError(f"{self.program} could not compile the functions.\n{said}")
            modules: int = json.loads(answer.read_text("utf-8"))["modules"]
            return modules


def remove_bytecode(tree: Path) -> None:
    """Remove what `Compiler.compile` put below ``tree``."""
    for folder in sorted(tree.rglob("__pycache__")):
        shutil.rmtree(folder)


def find_compiler(
    target: Target, find: Callable[[str], str | None] | None = None
) -> Compiler | None:
    """Return an interpreter of the version of ``target``: this one, or one that ``find`` finds.

    ``None`` where there is none. An interpreter before its final release is none: the format of
    its bytecode may be another. ``find``: by default uv, on the PATH and among its own.
    """
    if Target.this_machine().python == target.python:
        program: str | None = sys.executable
    else:
        program = (find or _found_by_uv)(target.python)
    is_right = program and _printed([program, "-I", "-S", "-c", _PRINT_VERSION]) == (
        f"cpython {target.python} final"
    )
    return Compiler(program) if program and is_right else None


UNCOMPILED_COST = "for 1.5 to 1.8 times the CPU of a start"
"""As `make bench ONLY=start-up` measured the three functions (docs/performance.md, start-up)."""


def missing_note(target: Target) -> str:
    """Return the note for a pack without bytecode, because no interpreter was found."""
    return (
        f"the functions hold no bytecode, because no Python {target.python} was found here. Each "
        f"cold start compiles every module, {UNCOMPILED_COST}. Install it "
        f"(.venv/bin/uv python install {target.python}, or python{target.python} on the PATH) and "
        "pack again."
    )


def too_large_note(function: str) -> str:
    """Return the note for a function that would be too large for Lambda with bytecode."""
    return (
        f"the {function} function holds no bytecode, because with it the function would be larger "
        f"than Lambda accepts. Each of its cold starts compiles every module, {UNCOMPILED_COST}."
    )


def _found_by_uv(python: str) -> str | None:
    uv = uv_program()
    # What is installed already: packing fetches no interpreter.
    find = ["python", "find", "--no-python-downloads", "--no-project", python]
    return None if uv is None else _printed([uv, *find])


def _printed(command: Sequence[str]) -> str | None:
    """Return what a program printed; nothing where it cannot be run, or fails."""
    try:
        done = subprocess.run(  # noqa: S603 (an interpreter or uv, with our own arguments)
            command,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            encoding="utf-8",
            errors="replace",
            timeout=FIND_SECONDS,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout.strip() if done.returncode == 0 else None
