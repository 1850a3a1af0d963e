"""The installed command as a process of its own: in a real terminal, in a pipe, and interrupted."""

from __future__ import annotations

import fcntl
import itertools
import json
import os
import pty
import re
import signal
import struct
import subprocess
import sys
import termios
import threading
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from rich.cells import cell_len

from hourhand.api.app import create_app
from hourhand.local.http_server import serve
from tests.functions.cli_rig import Shell
from tests.world.world import World

COMMAND = (sys.executable, "-m", "hourhand.cli.main")
TAKE_TERMINAL = """
import os, signal, sys
# Whoever started the tests may have it ignored, which children inherit.
signal.signal(signal.SIGINT, signal.SIG_DFL)
# Ctrl-C is for whoever has the terminal: the first of a session to open one has it.
os.close(os.open(os.ttyname(0), os.O_RDWR))
os.execv(sys.argv[1], sys.argv[1:])
"""
SEQUENCE = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
ENDED_WITHIN_SECONDS = 60


@pytest.fixture
def endpoint(world: World) -> Iterator[str]:
    server = serve(create_app(world.api), port=0)
    yield server.url
    server.close()


def environment(endpoint: str, **more: str) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith("HOURHAND_")}
    for name in ("COLUMNS", "LINES", "NO_COLOR"):
        kept.pop(name, None)
    return {**kept, "HOURHAND_ENDPOINT": endpoint, "TERM": "xterm-256color", **more}


@dataclass
class Terminal:
    """A command in a pseudo-terminal of a width; what it printed so far is in ``text``."""

    process: subprocess.Popen[bytes]
    fd: int
    text: str = ""

    def wait_for(self, wanted: str) -> None:
        """Read until ``wanted`` was printed."""
        while wanted not in self.text:
            assert self.read(), f"it ended without {wanted!r}: {self.text!r}"

    def read(self) -> bool:
        """Read what is there, or wait for it; return whether it goes on."""
        try:
            part = os.read(self.fd, 65_536)
        except OSError:
            # The other end is closed.
            return False
        self.text += part.decode()
        return bool(part)

    def end(self) -> int:
        """Read to its end, and return its exit code."""
        while self.read():
            pass
        return self.process.wait(ENDED_WITHIN_SECONDS)


@pytest.fixture
def open_terminal(endpoint: str) -> Iterator[Callable[..., Terminal]]:
    opened: list[Terminal] = []

    def open_one(*arguments: str, columns: int = 80, **more: str) -> Terminal:
        mine, its = pty.openpty()
        fcntl.ioctl(its, termios.TIOCSWINSZ, struct.pack("HHHH", 30, columns, 0, 0))
        process = subprocess.Popen(
            [sys.executable, "-c", TAKE_TERMINAL, *COMMAND, *arguments],
            stdin=its,
            stdout=its,
            stderr=its,
            env=environment(endpoint, **more),
            start_new_session=True,
        )
        os.close(its)
        opened.append(Terminal(process, mine))
        return opened[-1]

    yield open_one
    for terminal in opened:
        terminal.process.kill()
        terminal.process.wait()
        os.close(terminal.fd)


def in_pipe(endpoint: str, *arguments: str, **more: Any) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*COMMAND, *arguments],
        env=environment(endpoint),
        capture_output=True,
        text=True,
        check=False,
        timeout=ENDED_WITHIN_SECONDS,
        **more,
    )


@pytest.mark.parametrize("columns", [60, 80, 120])
def test_a_table_fits_the_terminal(
    shell: Shell, open_terminal: Callable[..., Terminal], columns: int
) -> None:
    shell.die(times=3, tenant="t" * 50, message="a long message " * 20)
    terminal = open_terminal("jobs", "list", columns=columns)
    assert terminal.end() == 0
    lines = SEQUENCE.sub("", terminal.text).replace("\r", "").splitlines()
    assert len(lines) == 4
    assert max(cell_len(line) for line in lines) <= columns
    assert "\x1b[1;31mDEAD" in terminal.text


def test_a_question_is_asked_and_answered_in_the_terminal(
    world: World, shell: Shell, open_terminal: Callable[..., Terminal]
) -> None:
    job_id = shell.submit()
    terminal = open_terminal("jobs", "cancel", "--all")
    terminal.wait_for("Cancel 1 job? [y/N]")
    os.write(terminal.fd, b"y\n")
    assert terminal.end() == 0
    assert world.job(job_id).status == "CANCELLED"


@pytest.mark.parametrize(
    ("command", "shown"),
    [
        (("jobs", "watch", "ID"), "Ctrl-C stops watching, not the job"),
        (("stats", "--watch"), "Ctrl-C stops"),
        (("jobs", "cancel", "--all"), "[y/N]"),
    ],
)
def test_ctrl_c_ends_it_with_a_sentence_and_leaves_the_cursor_visible(
    shell: Shell, open_terminal: Callable[..., Terminal], command: tuple[str, ...], shown: str
) -> None:
    job_id = shell.submit(delay_seconds=3600)
    terminal = open_terminal(*(job_id if text == "ID" else text for text in command))
    terminal.wait_for(shown)
    os.write(terminal.fd, b"\x03")
    assert terminal.end() == 130
    assert "hourhand: Interrupted." in terminal.text
    assert "Traceback" not in terminal.text
    # Hidden while it draws, and shown again.
    assert terminal.text.count("\x1b[?25l") == terminal.text.count("\x1b[?25h")


def test_a_pipe_gets_neither_colours_nor_questions(shell: Shell, endpoint: str) -> None:
    shell.die(message="\x1b[2J" * 3)
    ran = in_pipe(endpoint, "jobs", "list", stdin=subprocess.DEVNULL)
    assert (ran.returncode, ran.stderr) == (0, "")
    assert "\x1b" not in ran.stdout
    ran = in_pipe(endpoint, "dead-letters", "redrive", "--all", stdin=subprocess.DEVNULL)
    assert ran.returncode == 2
    assert "Redrive 1 job" in ran.stderr


def test_a_reader_that_goes_away_is_no_failure_to_tell(shell: Shell, endpoint: str) -> None:
    for _ in range(300):
        shell.submit(payload="x" * 500)
    process = subprocess.Popen(
        [*COMMAND, "jobs", "list", "--all", "--json"],
        env=environment(endpoint),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    assert process.stderr is not None
    json.loads(process.stdout.readline())
    process.stdout.close()
    assert process.stderr.read() == ""
    process.stderr.close()
    process.wait(ENDED_WITHIN_SECONDS)


def test_a_submission_that_is_killed_goes_on_with_each_line_once(
    world: World, tmp_path: Path
) -> None:
    """Its third batch is never answered, and the process dies with no word."""
    file = tmp_path / "jobs.ndjson"
    lines = [{"handler": "greet", "payload": n, "delay_seconds": 3600} for n in range(1700)]
    file.write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    app, batches = create_app(world.api), itertools.count(1)
    is_reached, is_killed = threading.Event(), threading.Event()

    def answer(event: Mapping[str, Any], context: object) -> Mapping[str, Any]:
        if next(batches) == 3:
            is_reached.set()
            is_killed.wait()
        answered: Mapping[str, Any] = app(event, context)
        return answered

    server = serve(answer, port=0)
    command = [*COMMAND, "jobs", "submit", "--file", str(file), "--parallel", "1"]
    process = subprocess.Popen(command, env=environment(server.url), stdout=subprocess.DEVNULL)
    assert is_reached.wait(ENDED_WITHIN_SECONDS)
    process.send_signal(signal.SIGKILL)
    process.wait()
    is_killed.set()
    ran = in_pipe(server.url, "jobs", "submit", "--file", str(file))
    server.close()
    assert ran.returncode == 0
    assert "Continuing the interrupted submission" in ran.stderr
    payloads = [int(job.payload.text or "") for job in world.store.jobs().values()]
    assert sorted(payloads) == list(range(1700))


def test_help_asks_for_no_heavy_library(endpoint: str) -> None:
    heavy = (
        "boto3",
        "botocore",
        "flask",
        "httpx",
        "moto",
        "rich.progress",
        "hourhand.client",
        "hourhand.ports",
    )
    code = (
        "import sys\nfrom hourhand.cli.main import app\n"
        f"print([name for name in {heavy!r} if name in sys.modules])"
    )
    ran = subprocess.run(
        [sys.executable, "-c", code],
        env=environment(endpoint),
        capture_output=True,
        text=True,
        check=True,
    )
    assert ran.stdout == "[]\n"
