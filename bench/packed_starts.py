"""Starts of the packed functions as Lambda has them: read-only code, no cache of bytecode, one CPU.

Each package is started as it is, with its bytecode, and once more without. What Lambda's own
libraries are (boto3) has its bytecode in both.
"""

from __future__ import annotations

import os
import shutil
import stat
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from bench.function_rig import HANDLERS_MODULE, Installation
from bench.start_up_probe import ONE_CPU
from bench.targets import Target, at_most
from hourhand_cdk.packing import HandlerSource, Packed, pack
from hourhand_cdk.packing import Target as PackedFor

FUNCTIONS = ("api", "scheduler", "worker")
WITH, WITHOUT = "with bytecode", "without"
LIMIT = 0.8
"""Of what a start costs without bytecode, as measured where this was written, and some room."""


def row_name(function: str, kind: str) -> str:
    """Return what a start is called in the table."""
    return f"{function}, packed {kind}"


@contextmanager
def packages(installed: Installation, folder: Path) -> Iterator[dict[str, dict[str, Path]]]:
    """Pack the functions; yield the folders of each kind by function, which cannot be written."""
    source = HandlerSource(
        path=installed.handlers_folder / f"{HANDLERS_MODULE}.py", module=HANDLERS_MODULE
    )
    packed = pack(source, PackedFor.this_machine(), folder / "packed", measures=False)
    trees = {WITH: _trees(packed), WITHOUT: {}}
    for function, tree in trees[WITH].items():
        bare = folder / "bare" / function
        shutil.copytree(tree, bare, ignore=shutil.ignore_patterns("__pycache__"))
        trees[WITHOUT][function] = bare
    _make_writable(folder, is_writable=False)
    try:
        yield trees
    finally:
        _make_writable(folder, is_writable=True)


def environment(tree: Path, base: Mapping[str, str]) -> dict[str, str]:
    """Return ``base`` for a start of the package in ``tree``, under Lambda's conditions."""
    return {**base, "PYTHONPATH": str(tree), "PYTHONDONTWRITEBYTECODE": "1", ONE_CPU: "1"}


def targets(ratios: Mapping[str, float]) -> list[Target]:
    """Return what must be reached; ``ratios``: of the CPU with bytecode to that without."""
    return [
        at_most(
            f"{function}: CPU of imports and wiring, with packed bytecode against without",
            round(ratio, 3),
            LIMIT,
            " x",
        )
        for function, ratio in ratios.items()
    ]


def _trees(packed: Packed) -> dict[str, Path]:
    return {name: packed.api.parent / name for name in FUNCTIONS}


def _make_writable(folder: Path, *, is_writable: bool) -> None:
    for root, _, names in os.walk(folder):
        for path in (Path(root), *(Path(root) / name for name in names)):
            mode = stat.S_IMODE(path.stat().st_mode)
            path.chmod(mode | 0o200 if is_writable else mode & ~0o222)
