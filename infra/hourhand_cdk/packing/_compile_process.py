"""Compiles packed folders. Run by its path, by an interpreter of the functions' version.

``_compile_process.py ANSWER ROOT TREE...`` puts beside every module in each TREE the bytecode that
Python would make of it below ROOT, and answers with how many modules have it. What does not compile
(a module for another Python, a template) is left as it is: Python says so if it is ever imported.
"""

from __future__ import annotations

import hashlib
import importlib.util
import json
import py_compile
import sys
import warnings
from pathlib import Path

_MODE = 0o644


def main() -> None:
    """Compile, and answer."""
    answer, root, *trees = sys.argv[1:]
    # A library's doubtful escape sequence does not concern the user who packs it.
    warnings.simplefilter("ignore")
    done: dict[tuple[str, bytes], bytes | None] = {}
    count = sum(_compile_tree(Path(tree), root, done) for tree in trees)
    Path(answer).write_text(json.dumps({"modules": count}), encoding="utf-8")


def _compile_tree(tree: Path, root: str, done: dict[tuple[str, bytes], bytes | None]) -> int:
    count = 0
    for path in sorted(tree.rglob("*.py")):
        if not path.is_file():
            continue
        place = f"{root}/{path.relative_to(tree).as_posix()}"
        # The functions share most of their modules; each is compiled once.
        key = place, hashlib.sha256(path.read_bytes()).digest()
        compiled_to = Path(importlib.util.cache_from_source(str(path), optimization=""))
        if key in done:
            compiled = done[key]
            if compiled is not None:
                compiled_to.parent.mkdir(exist_ok=True)
                compiled_to.write_bytes(compiled)
        else:
            compiled = done[key] = _compile(path, compiled_to, place)
        if compiled is not None:
            compiled_to.chmod(_MODE)
            count += 1
    return count


def _compile(path: Path, to: Path, place: str) -> bytes | None:
    try:
        # Lambda's folder is read-only: nothing there is ever newer than its bytecode.
        py_compile.compile(
            str(path),
            cfile=str(to),
            dfile=place,
            doraise=True,
            optimize=0,
            invalidation_mode=py_compile.PycInvalidationMode.UNCHECKED_HASH,
        )
    except (py_compile.PyCompileError, ValueError, RecursionError):
        return None
    return to.read_bytes()


if __name__ == "__main__":
    main()
