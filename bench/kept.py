"""The results that are kept in `bench/results/`: one JSON file for each benchmark."""

from __future__ import annotations

import functools
import json
import os
import platform
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from bench.catalogue import NAMES
from proof.setting import commit

# Once: a run of all benchmarks is of one commit, and git takes a moment.
_commit = functools.cache(commit)

RESULTS = Path(__file__).resolve().parent / "results"
INDENT = "  "
LINE_CHARACTERS = 120
DEEPEST = 4
"""The points of a plot's series: from here on, a value has one line, however long."""

Result = dict[str, Any]


def command(name: str) -> str:
    """Return the command that gives a benchmark's figures again."""
    return f"make bench ONLY={name}"


def keep(name: str, result: Mapping[str, Any], *, seconds: float, folder: Path = RESULTS) -> Result:
    """Write ``result`` with what it ran on, and return it so. ``seconds``: how long it took."""
    kept = {
        "benchmark": name,
        "command": command(name),
        "at": datetime.now(UTC).isoformat(timespec="seconds"),
        "seconds": round(seconds, 1),
        "commit": _commit(),
        "python": platform.python_version(),
        "cores": os.cpu_count(),
        "system": f"{platform.system()} {platform.machine()}",
        **result,
    }
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{name}.json").write_text(_text(kept) + "\n")
    return kept


def read(folder: Path = RESULTS) -> list[Result]:
    """Return all that is kept, in the order of the page."""
    found = [json.loads(file.read_text()) for file in sorted(folder.glob("*.json"))]
    return sorted(found, key=lambda one: _place(one["benchmark"]))


def _place(name: str) -> int:
    # One that is no longer in the catalogue comes last, and is seen.
    return NAMES.index(name) if name in NAMES else len(NAMES)


def _text(value: Any, depth: int = 0) -> str:
    """Return ``value`` as JSON, a short one on one line: a row is read, and compared, as a row."""
    line = json.dumps(value)
    short = depth > 0 and len(line) <= LINE_CHARACTERS
    if short or depth >= DEEPEST or not value or not isinstance(value, dict | list):
        return line
    if isinstance(value, dict):
        parts = [f"{json.dumps(key)}: {_text(item, depth + 1)}" for key, item in value.items()]
    else:
        parts = [_text(item, depth + 1) for item in value]
    inner = ",\n".join(INDENT * (depth + 1) + part for part in parts)
    opening, closing = "{}" if isinstance(value, dict) else "[]"
    return f"{opening}\n{inner}\n{INDENT * depth}{closing}"
