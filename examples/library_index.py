"""The jobs of `make demo`: index Python's own standard library, one job per module.

In the checkout:

    $ make demo

Each job parses a module, counts what is in it and its identifiers, and writes a small JSON file. A
schedule takes a census of these files. Some handlers fail on purpose.

Two environment variables name places: LIBRARY_INDEX is the folder of the small files, and
LIBRARY_LEDGER (optional) is a file in which each run records its start and its end.
"""

from __future__ import annotations

import ast
import json
import os
import signal
import sysconfig
import tempfile
import time
import tokenize
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hourhand import JobContext, NotRetryable, Retry, job

QUICK = Retry(max_attempts=4, base_seconds=1)
RESTART_TAKES = 2


@dataclass
class Module:
    """A module by its path below the standard library, such as ``json/decoder.py``."""

    path: str


@job("index-module", timeout=60, retry=QUICK)
def index_module(ctx: JobContext, payload: Module) -> dict[str, Any]:
    """Parse one module of the standard library and count what is in it."""
    with noted(ctx):
        index = read_module(payload.path)
        keep(payload.path, index)
        return {name: index[name] for name in ("lines", "functions", "classes", "identifiers")}


@job("index-module-at-last", timeout=60, retry=QUICK)
def index_module_at_last(ctx: JobContext, payload: Module) -> dict[str, Any]:
    """Fail twice, as during the restart of a service, and then succeed."""
    with noted(ctx):
        if ctx.attempt <= RESTART_TAKES:
            raise ConnectionError(f"the index did not answer (attempt {ctx.attempt})")
        keep(payload.path, read_module(payload.path))
        return {"attempts": ctx.attempt, "last_error": str(ctx.last_error and ctx.last_error.type)}


@job("index-native-module", timeout=60, on_lost="retry", retry=Retry(max_attempts=2))
def index_native_module(ctx: JobContext, payload: Module) -> None:
    """Kill the process, as a crash in a native library does."""
    with noted(ctx):
        os.kill(os.getpid(), signal.SIGKILL)


@job("census", timeout=60, retry=QUICK)
def census(ctx: JobContext, payload: None) -> dict[str, Any]:
    """Count the modules that are indexed so far. A schedule submits it every few seconds."""
    with noted(ctx):
        if ctx.occurrence is None:
            raise NotRetryable("a census is taken by a schedule")
        folder = Path(os.environ["LIBRARY_INDEX"])
        return {
            "at": ctx.occurrence.at.isoformat(),
            "modules": sum(1 for _ in folder.glob("*.json")),
        }


def read_module(path: str) -> dict[str, Any]:
    """Return the counts of one module. Raises `NotRetryable` if it does not exist."""
    file = Path(sysconfig.get_paths()["stdlib"]) / path
    if not file.is_file():
        raise NotRetryable(f"the standard library has no module at {path}")
    with tokenize.open(file) as source:
        text = source.read()
    nodes = list(ast.walk(ast.parse(text, filename=path)))
    names = Counter(node.id for node in nodes if isinstance(node, ast.Name))
    return {
        "path": path,
        "lines": text.count("\n"),
        "functions": sum(isinstance(n, (ast.FunctionDef, ast.AsyncFunctionDef)) for n in nodes),
        "classes": sum(isinstance(node, ast.ClassDef) for node in nodes),
        "identifiers": len(names),
        "names": dict(names.most_common(50)),
    }


def keep(path: str, index: dict[str, Any]) -> None:
    """Write an index to its file, atomically. A second run replaces the first."""
    folder = Path(os.environ["LIBRARY_INDEX"])
    with tempfile.NamedTemporaryFile("w", dir=folder, suffix=".part", delete=False) as part:
        json.dump(index, part)
    Path(part.name).replace(folder / (path.replace("/", ".") + ".json"))


@contextmanager
def noted(ctx: JobContext) -> Iterator[None]:
    """Record when a run begins and ends. The report checks that no two overlap."""
    note(ctx, "begin")
    try:
        yield
    finally:
        note(ctx, "end")


def note(ctx: JobContext, what: str) -> None:
    """Append one line to the ledger. The system does not mix writes this short."""
    ledger = os.environ.get("LIBRARY_LEDGER")
    if ledger is None:
        return
    line = {"what": what, "job": ctx.job_id, "attempt": ctx.attempt, "pid": os.getpid()}
    text = json.dumps({**line, "at": time.monotonic()}) + "\n"
    descriptor = os.open(ledger, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
    try:
        os.write(descriptor, text.encode())
    finally:
        os.close(descriptor)
