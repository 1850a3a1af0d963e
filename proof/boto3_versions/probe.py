"""Run by its path in a bare interpreter: starts a packed function, and has it answer one event.

``probe.py TREE LIBRARIES``: TREE is the function's folder, LIBRARIES the boto3 that stands for
Lambda's own. The event comes on standard input. The last line on standard output has the answer
and the version of botocore; before it stand the function's own log lines.
"""

from __future__ import annotations

import importlib
import json
import os
import sys
import time


class Context:
    """As much of Lambda's context as the functions look at."""

    invoked_function_arn = "arn:aws:lambda:us-east-1:000000000000:function:proof"
    function_version = "$LATEST"

    def __init__(self) -> None:
        self.aws_request_id = f"proof-{time.time_ns()}"

    def get_remaining_time_in_millis(self) -> int:
        return 900_000


def main() -> None:
    """Import, as Lambda's init phase does; answer; end at once."""
    tree, libraries = sys.argv[1:]
    sys.path.insert(0, tree)
    sys.path.append(libraries)
    function = importlib.import_module("main")
    answer = function.handler(json.loads(sys.stdin.read()), Context())
    version = importlib.import_module("botocore").__version__
    line = json.dumps({"answer": answer, "botocore": version}, default=str)
    sys.stdout.write(f"\n{line}\n")
    sys.stdout.flush()
    # Not sys.exit: a worker's threads may live on.
    os._exit(0)


if __name__ == "__main__":
    main()
