"""Child processes: what they say, print and die of is told."""

from __future__ import annotations

import os
import queue
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from hourhand.local.child_process import ChildCommand, ChildProcess, exit_reason

WAIT_SECONDS = 30

ECHO = """
import os, sys
from hourhand.local.child_lines import read_lines, take_over_streams, write_line
requests, replies = take_over_streams()
write_line(replies, {"ready": os.getpid(), "arguments": sys.argv[1:], "sees": os.environ["SEEN"]})
for request in read_lines(requests):
    print("printed", request["say"])
    write_line(replies, {"echo": request["say"]})
"""
DEAF = """
import signal, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
from hourhand.local.child_lines import take_over_streams, write_line
_, replies = take_over_streams()
write_line(replies, {"ready": True})
time.sleep(600)
"""
WITH_A_CHILD_OF_ITS_OWN = """
import os, time
from hourhand.local.child_lines import take_over_streams, write_line
_, replies = take_over_streams()
if os.fork() == 0:
    time.sleep(3)
    os._exit(0)
write_line(replies, {"ready": True})
time.sleep(600)
"""
HOLDS_THE_GIL = """
import re, signal
from hourhand.local.child_lines import take_over_streams, write_line
_, replies = take_over_streams()
signal.signal(signal.SIGTERM, lambda *_: None)
write_line(replies, {"ready": True})
re.match(r"(a+)+$", "a" * 60 + "b")
"""
PARENT = """
import os, sys, threading
from hourhand.cli.dev import ending_signals
from tests.unit.local.test_child_process import HOLDS_THE_GIL, Ears, start
from pathlib import Path

ears = Ears()
children = []
# As a slot starts its next process: in a thread that may end before the child does.
starter = threading.Thread(
    target=lambda: children.append(start(HOLDS_THE_GIL, Path(sys.argv[1]), ears))
)
with ending_signals() as asked:
    starter.start()
    starter.join()
    (child,) = children
    ears.replies.get(timeout=30)
    print(child.pid, flush=True)
    asked.wait()
    print("asked", flush=True)
    if sys.argv[2] == "ends":
        child.end()
    else:
        threading.Event().wait()
"""


class Ears:
    """A listener that keeps what it hears, in queues to wait on."""

    def __init__(self) -> None:
        self.replies: queue.Queue[dict[str, Any]] = queue.Queue()
        self.lines: queue.Queue[str] = queue.Queue()
        self.ends: queue.Queue[int] = queue.Queue()

    def heard(self, child: ChildProcess, message: dict[str, Any]) -> None:
        self.replies.put(message)

    def logged(self, child: ChildProcess, line: str) -> None:
        self.lines.put(line)

    def ended(self, child: ChildProcess, exit_code: int) -> None:
        self.ends.put(exit_code)


@pytest.fixture
def ears() -> Ears:
    return Ears()


def start(code: str, folder: Path, ears: Ears) -> ChildProcess:
    (folder / "a_child.py").write_text(code)
    command = ChildCommand(
        name="child-1",
        module="a_child",
        arguments=("--flag", "value"),
        environment={**os.environ, "PYTHONPATH": os.pathsep.join([str(folder), *sys.path])}
        | {"SEEN": "yes"},
    )
    return ChildProcess(command, ears)


def test_a_child_gets_arguments_environment_and_messages_and_answers(
    tmp_path: Path, ears: Ears
) -> None:
    child = start(ECHO, tmp_path, ears)
    try:
        ready = ears.replies.get(timeout=WAIT_SECONDS)
        assert ready == {"ready": child.pid, "arguments": ["--flag", "value"], "sees": "yes"}
        assert child.say({"say": "hello"})
        assert ears.replies.get(timeout=WAIT_SECONDS) == {"echo": "hello"}
        assert ears.lines.get(timeout=WAIT_SECONDS) == "printed hello"
    finally:
        child.end()
    assert ears.ends.get(timeout=WAIT_SECONDS) == 0


def test_a_killed_child_is_told_of_once_with_how_it_died(tmp_path: Path, ears: Ears) -> None:
    child = start(ECHO, tmp_path, ears)
    ears.replies.get(timeout=WAIT_SECONDS)
    child.signal(signal.SIGKILL)
    assert ears.ends.get(timeout=WAIT_SECONDS) == -signal.SIGKILL
    assert not child.say({"say": "anybody there?"})
    child.end()
    assert ears.ends.empty()


def test_a_child_that_does_not_end_by_itself_is_made_to(
    tmp_path: Path, ears: Ears, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("hourhand.local.child_process.END_SECONDS", 0.2)
    child = start(DEAF, tmp_path, ears)
    ears.replies.get(timeout=WAIT_SECONDS)
    child.end()
    assert ears.ends.get(timeout=WAIT_SECONDS) == -signal.SIGKILL


def test_a_death_is_noticed_though_what_the_child_started_lives_on(
    tmp_path: Path, ears: Ears
) -> None:
    child = start(WITH_A_CHILD_OF_ITS_OWN, tmp_path, ears)
    ears.replies.get(timeout=WAIT_SECONDS)
    child.signal(signal.SIGKILL)
    # The grandchild holds the pipes open for three seconds.
    assert ears.ends.get(timeout=2.5) == -signal.SIGKILL


# --- a child that holds the interpreter's lock ---


@pytest.fixture
def parent(
    tmp_path: Path, request: pytest.FixtureRequest
) -> Iterator[tuple[subprocess.Popen[str], int]]:
    """A process with such a child, and the child's id."""
    process = subprocess.Popen(
        [sys.executable, "-c", PARENT, str(tmp_path), request.param],
        cwd=Path(__file__).parents[3],
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    child = int(process.stdout.readline())
    yield process, child
    process.kill()
    process.communicate()
    if lives(child):
        os.kill(child, signal.SIGKILL)


def lives(pid: int) -> bool:
    """Whether a process runs: not one that only its parent has yet to take note of."""
    asked = ["ps", "-o", "stat=", "-p", str(pid)]
    state = subprocess.run(asked, capture_output=True, text=True, check=False).stdout.strip()
    return bool(state) and not state.startswith("Z")


def wait_for_the_end(pid: int) -> None:
    until = time.monotonic() + WAIT_SECONDS
    while lives(pid):
        assert time.monotonic() < until, "a child lives on"
        time.sleep(0.05)


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux ends a child with its parent")
@pytest.mark.parametrize("parent", ["waits"], indirect=True)
def test_a_child_that_holds_the_gil_ends_with_a_parent_that_is_killed(
    parent: tuple[subprocess.Popen[str], int],
) -> None:
    process, child = parent
    assert lives(child), "though the thread that asked for it has ended"
    process.send_signal(signal.SIGKILL)
    wait_for_the_end(child)


@pytest.mark.parametrize("parent", ["waits"], indirect=True)
def test_a_child_that_holds_the_gil_ends_with_a_parent_that_is_asked_twice(
    parent: tuple[subprocess.Popen[str], int],
) -> None:
    process, child = parent
    process.send_signal(signal.SIGINT)
    assert process.stdout is not None
    assert process.stdout.readline() == "asked\n"
    process.send_signal(signal.SIGINT)
    wait_for_the_end(child)
    assert process.wait(WAIT_SECONDS) == 128 + signal.SIGINT


@pytest.mark.parametrize("parent", ["ends"], indirect=True)
def test_a_child_that_holds_the_gil_ends_with_a_parent_that_is_asked_to_end(
    parent: tuple[subprocess.Popen[str], int],
) -> None:
    process, child = parent
    process.send_signal(signal.SIGINT)
    assert process.wait(WAIT_SECONDS) == 0
    assert not lives(child)


def test_a_child_that_cannot_be_started_is_an_error_to_whom_asked(ears: Ears) -> None:
    command = ChildCommand(name="child-1", module="a_child", environment={"A\0": "B"})
    with pytest.raises(ValueError, match="null"):
        ChildProcess(command, ears)


def test_an_end_is_told_in_words() -> None:
    assert exit_reason(-signal.SIGKILL) == "killed by signal 9 (Killed)"
    assert exit_reason(70) == "exit code 70"
