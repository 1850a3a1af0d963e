"""A reader who follows the tutorial, step by step, sees what it says."""

from __future__ import annotations

import json
import re
import socket
import urllib.request
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from hourhand import Client
from hourhand.client import JobSummary
from tests.docs.blocks import (
    ROOT,
    Block,
    Running,
    background,
    blocks_of,
    curl,
    reader_environment,
    run,
    wait,
)

PAGE = ROOT / "docs" / "tutorial.md"
BLOCKS = blocks_of(PAGE)
CHANGE = "# in jobs.py\n"
XFAIL = re.compile(r"^@pytest\.mark\.xfail.*\n", flags=re.M)

pytestmark = [pytest.mark.real_time, pytest.mark.timeout(400)]


class Reader:
    """Does what the page says, in a folder, and remembers what the commands printed."""

    def __init__(self, folder: Path, stack: ExitStack) -> None:
        self.folder = folder / "shop"
        self.folder.mkdir()
        self.outputs = folder
        self.stack = stack
        self.environment = reader_environment(HOURHAND_PORT="0")
        self.dev: Running | None = None
        self.api = self.app = ""
        self.printed: list[tuple[str, Any]] = []

    def follow(self, block: Block) -> None:
        """Write the file of a block, or type its commands. What deploys is left out."""
        if block.language == "python":
            self.write(block)
        for command in block.commands if block.language == "console" else ():
            self.type(command)

    def write(self, block: Block) -> None:
        if block.file is not None:
            (self.folder / block.file).write_text(block.code, encoding="utf-8")
            return
        assert block.text.startswith(CHANGE)
        self.correct(block.code.strip("\n"))

    def correct(self, line: str) -> None:
        """Replace the line that assigns the same name; wait until the local cloud has it."""
        handlers = self.folder / "jobs.py"
        start = "    text = "
        line = start + line.strip().removeprefix("text = ")
        text, count = re.subn(rf"^{start}.*$", lambda _: line, handlers.read_text(), flags=re.M)
        assert count == 1
        handlers.write_text(text, encoding="utf-8")
        tests = self.folder / "test_shop.py"
        tests.write_text(XFAIL.sub("", tests.read_text(encoding="utf-8")), encoding="utf-8")
        assert self.dev is not None
        self.dev.wait_for(r"loaded: \S+")

    def type(self, command: str) -> None:
        if command.startswith("hourhand dev"):
            self.dev = self.start(command, "dev.txt")
            self.api = self.dev.wait_for(r"http://127\.0\.0\.1:\d+")
            self.dev.wait_for("Ctrl-C stops")
            self.environment["HOURHAND_ENDPOINT"] = self.api
        elif command == "flask run":
            port = free_port()
            self.environment["FLASK_RUN_PORT"] = str(port)
            self.app = f"http://127.0.0.1:{port}"
            self.start(command, "flask.txt").wait_for("Running on")
        elif command.startswith("curl"):
            answer = curl(command.replace("http://127.0.0.1:5000", self.app))
            self.printed.append((command, answer))
            self.ended(answer["job"])
        else:
            self.printed.append((command, run(command, self.folder, self.environment)))

    def start(self, command: str, output: str) -> Running:
        running = background(command, self.folder, self.environment, self.outputs / output)
        return self.stack.enter_context(running)

    def ended(self, job_id: str) -> JobSummary:
        with Client(self.api) as client:
            return client.wait(job_id, timeout_seconds=60)

    def output(self, start: str) -> list[Any]:
        """Return what the commands that begin so printed."""
        return [printed for command, printed in self.printed if command.startswith(start)]


def free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        port: int = found.getsockname()[1]
        return port


@pytest.fixture(scope="module")
def reader(tmp_path_factory: pytest.TempPathFactory) -> Any:
    with ExitStack() as stack:
        reader = Reader(tmp_path_factory.mktemp("tutorial"), stack)
        for block in BLOCKS:
            reader.follow(block)
        yield reader


def test_a_repeated_order_has_one_receipt(reader: Reader) -> None:
    first, second, _ = reader.output("curl")

    assert first == second
    with urllib.request.urlopen(f"{reader.app}/receipts/{first['job']}") as answer:  # noqa: S310
        receipt = json.load(answer)
    assert receipt["status"] == "SUCCEEDED"
    assert receipt["result"]["text"] == "Dear Grace, thank you for order 2."


def test_the_schedule_runs_when_it_is_triggered(reader: Reader) -> None:
    with Client(reader.api) as client:
        [schedule] = client.schedules.list()
        assert (schedule.id, schedule.status) == ("evening-count", "active")
        [job] = client.list(schedule_id=schedule.id)
        assert client.wait(job.id, timeout_seconds=60).status == "SUCCEEDED"


def test_the_failed_job_is_listed_and_succeeds_after_its_redrive(reader: Reader) -> None:
    *_, failed = reader.output("curl")

    [dead] = reader.output("hourhand dead-letters list")
    assert "send-receipt" in dead
    assert "AttributeError" in dead
    job = wait(lambda: ended if (ended := reader.ended(failed["job"])).status != "DEAD" else None)
    assert job.status == "SUCCEEDED"
    assert len(job.attempts) == 3


def test_the_tests_pass_before_and_after_the_correction(reader: Reader) -> None:
    [before] = reader.output("python -m pytest")
    assert "1 passed, 1 xfailed" in before

    after = run("python -m pytest -q", reader.folder, reader.environment)
    assert "2 passed" in after


def test_every_make_target_of_the_tutorial_exists() -> None:
    targets = set(re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(), flags=re.M))
    named = set(re.findall(r"^make ([a-z]+)", PAGE.read_text(encoding="utf-8"), flags=re.M))

    assert named == {"bootstrap", "deploy", "destroy"}
    assert named <= targets
