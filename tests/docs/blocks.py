"""The code blocks of a page, and what runs them as a reader would."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

ROOT = Path(__file__).resolve().parents[2]
SHELL = shutil.which("bash") or "/bin/sh"
WAIT_SECONDS = 90.0
LOOK_SECONDS = 0.1
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Block:
    """A block in a ``language``. The first line of ``text`` may name a file: ``# jobs.py``."""

    language: str
    text: str

    @property
    def file(self) -> str | None:
        """The file that a reader writes the block to."""
        found = re.match(r"# ([\w/]+\.py)\n", self.text)
        return found[1] if found else None

    @property
    def code(self) -> str:
        """The content of that file."""
        return self.text.partition("\n")[2].lstrip("\n")

    @property
    def commands(self) -> list[str]:
        """What a reader types, without the comments beside it."""
        joined = self.text.replace("\\\n", " ")
        typed = [line[2:] for line in joined.splitlines() if line.startswith("$ ")]
        return [re.sub(r"\s{2,}# .*$", "", one) for one in typed]


def blocks_of(page: Path) -> list[Block]:
    """Return the blocks of a page, in order."""
    found = re.findall(r"^```(\w+)\n(.*?)^```", page.read_text(encoding="utf-8"), flags=re.M | re.S)
    return [Block(language, text) for language, text in found]


def write_files(page: Path, folder: Path) -> list[str]:
    """Write every block that names a file to it, and return the names."""
    written = []
    for block in blocks_of(page):
        if block.language == "python" and block.file is not None:
            target = folder / block.file
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(block.code, encoding="utf-8")
            written.append(block.file)
    return written


def reader_environment(**more: str) -> dict[str, str]:
    """Return the environment of a reader who has activated the virtual environment."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    # The plugins of this repository's own tests, which a reader has not.
    addopts = "-p no:schemathesis -p no:cacheprovider"
    return {**os.environ, "PATH": path, "PYTEST_ADDOPTS": addopts, "COLUMNS": "200", **more}


def run(command: str, folder: Path, environment: Mapping[str, str]) -> str:
    """Run a command as a shell does and return its output; fail unless it succeeds."""
    done = subprocess.run(
        [SHELL, "-c", command],
        cwd=folder,
        env=dict(environment),
        capture_output=True,
        text=True,
        timeout=WAIT_SECONDS,
        check=False,
    )
    assert done.returncode == 0, f"{command}\n{done.stdout}{done.stderr}"
    return done.stdout


@dataclass(frozen=True, slots=True)
class Running:
    """A command that runs in the background, and the file of its output."""

    process: subprocess.Popen[bytes]
    output: Path

    def wait_for(self, pattern: str) -> str:
        """Wait until the output matches, and return the match."""
        compiled = re.compile(pattern)

        def look() -> str | None:
            found = compiled.search(self.output.read_text(encoding="utf-8", errors="replace"))
            assert found or self.process.poll() is None, self.output.read_text(encoding="utf-8")
            return found[0] if found else None

        return wait(look)


@contextmanager
def background(
    command: str, folder: Path, environment: Mapping[str, str], output: Path
) -> Iterator[Running]:
    """Run a command until the end of the ``with``, in a terminal of its own."""
    with output.open("wb") as file:
        process = subprocess.Popen(
            shlex.split(command),
            cwd=folder,
            env=dict(environment),
            stdout=file,
            stderr=subprocess.STDOUT,
        )
    try:
        yield Running(process, output)
    finally:
        process.terminate()
        process.wait(WAIT_SECONDS)


def wait(look: Callable[[], T | None]) -> T:
    """Return what ``look`` finds, as soon as it finds something."""
    until = time.monotonic() + WAIT_SECONDS
    while time.monotonic() < until:
        found = look()
        if found is not None:
            return found
        time.sleep(LOOK_SECONDS)
    raise AssertionError(f"It did not happen within {WAIT_SECONDS} s.")


def curl(command: str) -> dict[str, Any]:
    """Send the request of a curl command and return the JSON of its answer."""
    words = shlex.split(command)
    url = next(word for word in words if word.startswith("http://127.0.0.1:"))
    body = words[words.index("-d") + 1]
    request = urllib.request.Request(  # noqa: S310 - loopback
        url, data=body.encode(), headers={"content-type": "application/json"}
    )
    with urllib.request.urlopen(request, timeout=WAIT_SECONDS) as answer:  # noqa: S310 - loopback
        found: dict[str, Any] = json.load(answer)
        return found
