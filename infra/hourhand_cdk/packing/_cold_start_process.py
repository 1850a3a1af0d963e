"""Imports a packed function and wires it, as a cold start does. Run by its path, in isolation.

``_cold_start_process.py ANSWER TREE LIBRARIES`` answers with the seconds of CPU, the interpreter's
own start left out. AWS_LAMBDA_INITIALIZATION_TYPE is set, so the import wires the function, and
a worker imports its handlers.
"""

from __future__ import annotations

import importlib
import json
import os
import sys
import time
from pathlib import Path


def main() -> None:
    """Import, wire, answer, and end at once, whatever the import has started."""
    answer, tree, libraries = sys.argv[1:]
    sys.path.insert(0, tree)
    sys.path.append(libraries)
    started = time.process_time()
    importlib.import_module("main")
    seconds = time.process_time() - started
    Path(answer).write_text(json.dumps({"cpu_seconds": seconds}), encoding="utf-8")
    os._exit(0)


if __name__ == "__main__":
    main()
