"""Runs one benchmark in this process, and leaves its result in a file.

    python -m bench.single MODULE FILE

Each has a process of its own, so that what one does to its process (the environment, modules,
the memory that it once took) is in no figure of another, and a crash ends nothing but itself.
"""

from __future__ import annotations

import importlib
import json
import signal
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any


def main() -> int:
    """Run it; when told to end, unwind, so that the emulators that it started end, too."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    module, file = sys.argv[1:]
    result = importlib.import_module(module).run()
    check(result)
    Path(file).write_text(json.dumps(result, allow_nan=False))
    return 0


def check(result: Mapping[str, Any]) -> None:
    """Raise `ValueError` where ``result`` is not what a table and the page can show."""
    missing = {"ok", "columns", "rows"} - result.keys()
    if missing:
        raise ValueError(f"the result has no {', '.join(sorted(missing))}")
    for row in result["rows"]:
        if len(row) != len(result["columns"]):
            raise ValueError(f"a row has not the {len(result['columns'])} columns: {row}")
    must = result.get("must")
    if must is not None and result["ok"] != all(target["ok"] for target in must):
        raise ValueError("ok is not what its targets say")


if __name__ == "__main__":
    sys.exit(main())
