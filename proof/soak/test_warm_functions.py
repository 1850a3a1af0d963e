"""Hundreds of calls of the functions in one warm process leave no thread, file or socket behind."""

from __future__ import annotations

import itertools
import json
import os
import subprocess
import sys

import pytest

from proof.rig.cloud import ROOT
from proof.soak.probe import PLANT

JOBS = 60
HANDLES = ("threads", "files", "sockets")

pytestmark = pytest.mark.skipif(
    not sys.platform.startswith("linux"), reason="what a process holds is told by Linux's /proc"
)


@pytest.fixture(scope="module")
def told() -> dict[str, dict[str, int]]:
    """What the process said: what it held before and after, and after each kind of leak."""
    done = subprocess.run(
        [sys.executable, "-m", "proof.soak.warm_functions", str(JOBS)],
        cwd=ROOT,
        env={**os.environ, PLANT: ""},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return dict(json.loads(done.stdout))


def grown(before: dict[str, int], after: dict[str, int]) -> set[str]:
    return {kind for kind in HANDLES if after[kind] != before[kind]}


def test_hundreds_of_calls_leave_no_thread_file_or_socket(told: dict[str, dict[str, int]]) -> None:
    assert told["calls"] >= 200  # type: ignore[operator]  # the one number beside the samples
    assert grown(told["before"], told["after"]) == set()


def test_a_leak_in_a_handler_is_seen(told: dict[str, dict[str, int]]) -> None:
    kinds = ("after", "thread", "file", "socket")
    seen = [grown(told[before], told[kind]) for before, kind in itertools.pairwise(kinds)]
    assert seen == [{"threads"}, {"files"}, {"sockets"}]
