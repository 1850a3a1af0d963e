"""The rig records what a cloud reports, and no process goes on without its hook."""

from __future__ import annotations

import io
import os
import subprocess
import sys

import pytest

from hourhand.local.events import ApiAnswered, ChildDied, Logged, Printed
from proof.rig import HOOK
from proof.rig.cloud import ON_START, ROOT
from proof.rig.news import Recorder

DIED = ChildDied(name="worker-1", pid=7, exit_code=-9, restart_seconds=0.1, at_monotonic=1.0)
LINE = Logged(name="worker-2", sentence="It ended.", level="INFO", fields={"a": 1, "b": None})
PRINTED = Printed(name="worker-2", line="hello")


def test_news_are_kept_by_kind_in_the_order_of_their_arrival() -> None:
    recorder = Recorder()
    for news in (LINE, DIED, PRINTED, LINE):
        recorder.note(news)
    recorder.note(ApiAnswered(method="GET", path="/", status=200, body="x" * 1000))
    assert recorder.of(Logged) == recorder.logged("It ended.") == [LINE, LINE]
    assert recorder.logged("It began.") == []
    assert recorder.of(ApiAnswered) == []
    ((_, died),) = recorder.timed(ChildDied)
    assert died == DIED


def test_the_log_has_a_line_for_what_a_reader_looks_for() -> None:
    log = io.StringIO()
    recorder = Recorder(log)
    for news in (DIED, LINE, PRINTED):
        recorder.note(news)
    lines = [line.partition(" ")[2] for line in log.getvalue().splitlines()]
    assert lines == [
        "worker-1: died: pid 7, exit code -9",
        'worker-2: It ended. {"a": 1}',
        "worker-2: hello",
    ]
    log.close()
    recorder.note(PRINTED)


@pytest.mark.parametrize(
    ("hook", "code"), [("os:getpid", 0), ("os:no_such_function", 1), ("no_such_module:f", 1)]
)
def test_a_process_whose_hook_fails_ends_at_once(hook: str, code: int) -> None:
    path = os.pathsep.join([str(ON_START), str(ROOT)])
    done = subprocess.run(
        [sys.executable, "-P", "-c", "print('went on')"],
        env={**os.environ, "PYTHONPATH": path, HOOK: hook},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout) == (code, "" if code else "went on\n")
