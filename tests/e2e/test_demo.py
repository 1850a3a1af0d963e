"""The demo as a newcomer runs it: real processes, real time, and Ctrl-C."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
import uuid
from pathlib import Path
from urllib.request import urlopen

import pytest

MARK = "HOURHAND_TEST_DEMO"
"""Every process of a demo inherits this variable, so that a test finds those that are left."""


def start(mark: str, *arguments: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "hourhand.cli", "demo", "--quick", *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, MARK: mark},
    )


def processes(mark: str) -> list[str]:
    """Return the ids of the processes that have the mark in their environment."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            environment = (folder / "environ").read_bytes()
        except OSError:
            # It ended meanwhile, or is not ours.
            continue
        if f"{MARK}={mark}".encode() in environment:
            found.append(folder.name)
    return found


def console_of(line: str) -> str:
    found = re.fullmatch(r"Watch it live: (http://127\.0\.0\.1:\d+/console/)\n", line)
    assert found is not None, line
    return found[1]


def test_the_quick_demo_keeps_every_promise_and_can_be_watched_from_its_first_line_on() -> None:
    with start(uuid.uuid4().hex, "--json") as demo:
        assert demo.stdout is not None
        assert demo.stderr is not None
        url = console_of(demo.stderr.readline())
        with urlopen(url) as page:  # noqa: S310 - of loopback
            assert page.headers["content-type"].startswith("text/html")
        with urlopen(url.replace("/console/", "/v1/health"), timeout=60) as answer:  # noqa: S310
            assert json.load(answer)["status"] == "ok"
        progress = demo.stderr.read()
        verdict = json.loads(demo.stdout.read())
        assert demo.wait() == 0, verdict
    assert "Killed the leading scheduler" in progress
    assert "Another scheduler took over." in progress
    assert verdict["is_good"] is True
    assert verdict["submitted"] == 60
    assert verdict["from_schedules"] >= 5
    assert verdict["statuses"] == {"SUCCEEDED": 58 + verdict["from_schedules"], "DEAD": 2}
    assert {"FAILED": 7, "LOST": 2}.items() <= verdict["outcomes"].items()


@pytest.mark.skipif(not Path("/proc/self/environ").exists(), reason="needs Linux's /proc")
@pytest.mark.parametrize("moment", ["starts", "runs"])
def test_ctrl_c_ends_every_process_of_the_demo(moment: str) -> None:
    mark = uuid.uuid4().hex
    with start(mark) as demo:
        assert demo.stdout is not None
        console_of(demo.stdout.readline())
        while moment == "runs" and "Submitting" not in demo.stdout.readline():
            pass
        demo.send_signal(signal.SIGINT)
        out, err = demo.communicate()
        assert demo.returncode == 130
    assert out.splitlines()[-1] == "Interrupted. Every process of the demo has ended."
    assert err == ""
    give_up_at = time.monotonic() + 10
    while processes(mark) and time.monotonic() < give_up_at:
        time.sleep(0.1)
    assert processes(mark) == []
