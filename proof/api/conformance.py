"""Runs schemathesis, in a process of its own, over the document that the server gives of itself."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

SETTINGS = Path(__file__).with_name("schemathesis.toml")
ROOT = Path(__file__).parents[2]
RUN_SECONDS = 600.0
MAX_TOLD_CHARACTERS = 6_000


@dataclass(frozen=True, kw_only=True, slots=True)
class Conformance:
    """What one run of schemathesis came to. ``failures``: told as it tells them."""

    examples: int
    operations: int
    failures: list[str]


def check_conformance(
    url: str,
    folder: Path,
    *,
    seed: int,
    examples_per_operation: int,
    phases: str = "examples,coverage,fuzzing,stateful",
    more: Sequence[str] = (),
) -> Conformance:
    """Call the API at ``url`` in all the ways that its document suggests, and in some it forbids.

    ``folder`` takes the report. Raises `RuntimeError` where schemathesis itself fails.
    """
    report = folder / f"conformance-{seed}.json"
    command = [
        *(sys.executable, "-m", "schemathesis.cli", "--config-file", str(SETTINGS), "run"),
        *(f"{url}/v1/openapi.json", "--seed", str(seed), "-n", str(examples_per_operation)),
        *("--phases", phases, "--continue-on-failure", "--no-color"),
        *("--report", "json", "--report-json-path", str(report), *more),
    ]
    # Where it may leave its notes: not in the repository.
    paths = [str(ROOT), str(ROOT / "src" / "common")]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(paths)}
    done = subprocess.run(
        command,
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        timeout=RUN_SECONDS,
        check=False,
    )
    if not report.exists():
        raise RuntimeError(f"schemathesis failed:\n{done.stdout[-3000:]}\n{done.stderr[-3000:]}")
    return _read(json.loads(report.read_text()), done)


def _read(report: dict[str, Any], done: subprocess.CompletedProcess[str]) -> Conformance:
    failures = []
    if done.returncode or report["failures"] or report["errors"] or not report["complete"]:
        _, mark, told = done.stdout.partition("= FAILURES =")
        failures = [
            f"{failure['title']}: {failure['operations']}" for failure in report["failures"]
        ]
        failures += [f"error: {error}" for error in report["errors"]]
        failures.append((mark + told or done.stdout)[:MAX_TOLD_CHARACTERS])
    return Conformance(
        examples=report["test_cases"]["generated"],
        operations=report["operations"]["tested"],
        failures=failures,
    )
