"""Ctrl-C and a lost reader, in a real process: quiet, whenever they come."""

from __future__ import annotations

import os
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[3]
FULL = Path("/dev/full")

PREPARED = """
import atexit, os, runpy, signal, sys
from importlib import import_module

def interrupt():
    os.kill(os.getpid(), signal.SIGINT)

class Finder:
    def find_spec(self, name, path=None, target=None):
        if name == os.environ["INTERRUPTED_IMPORT"]:
            interrupt()

if os.environ["INTERRUPTED_IMPORT"] == "atexit":
    atexit.register(interrupt)
sys.meta_path.insert(0, Finder())
# Whoever started the tests may have it ignored, which children inherit.
signal.signal(signal.SIGINT, getattr(signal, os.environ["HEEDED"]))
"""
BY_SCRIPT = """
module, _, name = os.environ["ENTRY"].partition(":")
getattr(import_module(module), name)()
"""
BY_MODULE = "runpy.run_module('hourhand.cli', run_name='__main__', alter_sys=True)\n"
ENTRY = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["scripts"]["hourhand"]


def run(
    *arguments: str,
    begun: str = BY_SCRIPT,
    at_import: str = "",
    heeded: str = "default_int_handler",
) -> subprocess.CompletedProcess[str]:
    """Run the command, which interrupts itself when it begins to import ``at_import``."""
    told = {"INTERRUPTED_IMPORT": at_import, "HEEDED": heeded, "ENTRY": ENTRY}
    told |= {"HOURHAND_ENDPOINT": "http://127.0.0.1:1", "TERM": "dumb"}
    return subprocess.run(
        [sys.executable, "-c", PREPARED + begun, *arguments],
        env={**os.environ, **told},
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )


@pytest.mark.parametrize("begun", [BY_SCRIPT, BY_MODULE], ids=["script", "module"])
@pytest.mark.parametrize(
    "module", ["hourhand.cli.main", "typer", "rich.console", "hourhand.cli.schedules.commands"]
)
def test_an_interrupt_while_modules_load_ends_it_without_a_word(begun: str, module: str) -> None:
    ended = run("--version", begun=begun, at_import=module)

    assert (ended.returncode, ended.stdout, ended.stderr) == (130, "", "")


@pytest.mark.parametrize(
    ("arguments", "module", "said"),
    [
        (["jobs", "list"], "httpx", "hourhand: Interrupted.\n"),
        (["jobs", "list"], "hourhand.client", "hourhand: Interrupted.\n"),
        (["dev", "--handlers", "x"], "hourhand.cli.dev", ""),
        (["dev", "--handlers", "x", "--backend", "memory"], "hourhand.local.cloud", ""),
    ],
)
def test_an_interrupt_while_a_verb_loads_what_it_needs_ends_it_cleanly(
    arguments: list[str], module: str, said: str
) -> None:
    ended = run(*arguments, at_import=module)

    assert (ended.returncode, ended.stderr) == (130, said)


def test_an_interrupt_after_the_work_ends_it_without_a_word_and_loses_no_output() -> None:
    ended = run("--version", at_import="atexit")

    assert (ended.returncode, ended.stderr) == (130, "")
    assert ended.stdout.startswith("hourhand ")


def test_who_ignores_interrupts_is_not_interrupted() -> None:
    ended = run("--version", at_import="typer", heeded="SIG_IGN")

    assert (ended.returncode, ended.stderr) == (0, "")


def test_before_ctrl_c_is_heeded_next_to_nothing_is_imported() -> None:
    code = (
        f"import sys; import {ENTRY.partition(':')[0]}\n"
        "ours = {name for name in sys.modules if name.startswith('hourhand')}\n"
        "print(*sorted(ours), *({'typer', 'rich', 'httpx', 'json', 'logging'} & set(sys.modules)))"
    )
    ran = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60
    )

    assert ran.stdout.split() == ["hourhand", "hourhand.cli", "hourhand.cli.entry"]


def version_told_to(output: Any, buffering: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "hourhand.cli", "--version"],
        env={**os.environ, "PYTHONUNBUFFERED": buffering},
        stdout=output,
        stderr=subprocess.PIPE,
        text=True,
        check=False,
        timeout=60,
    )


@pytest.mark.parametrize("buffering", ["", "1"])
@pytest.mark.skipif(not FULL.exists(), reason="this system has no device that is always full")
def test_a_full_disk_is_told_in_a_sentence(buffering: str) -> None:
    with FULL.open("w") as full:
        ended = version_told_to(full, buffering)

    assert ended.returncode == 1
    assert ended.stderr == "hourhand: [Errno 28] No space left on device\n"


@pytest.mark.parametrize("buffering", ["", "1"])
def test_a_reader_that_has_seen_enough_is_no_failure_to_speak_of(buffering: str) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    try:
        ended = version_told_to(writing, buffering)
    finally:
        os.close(writing)

    assert (ended.returncode, ended.stderr) == (1, "")


def test_without_an_output_only_the_exit_code_tells() -> None:
    code = "import sys; sys.stdout = None\nfrom hourhand.cli.entry import run; run()"
    ended = subprocess.run(
        [sys.executable, "-c", code, "--version"], stderr=subprocess.PIPE, check=False, timeout=60
    )

    assert (ended.returncode, ended.stderr) == (0, b"")
