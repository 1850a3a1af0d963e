"""A child of the local cloud: a process that can be killed, and whose end is reported."""

from __future__ import annotations

import contextlib
import os
import queue
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from hourhand.local.child_lines import read_lines, write_line

END_SECONDS = 2.0
"""How long a child may take to end by itself before it is killed."""

LAST_WORDS_SECONDS = 0.5
"""How long the pipes of a dead child are read for what is still in them."""


class ChildListener(Protocol):
    """Receives a child's messages, its log and its end. Called from the child's reader threads."""

    def heard(self, child: ChildProcess, message: dict[str, Any]) -> None:
        """Receive a message: a reply."""

    def logged(self, child: ChildProcess, line: str) -> None:
        """Receive a line that it logged or printed."""

    def ended(self, child: ChildProcess, exit_code: int) -> None:
        """Note its end: ``exit_code`` as `subprocess.Popen.returncode` has it."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ChildCommand:
    """What to run: a module of ours, its arguments, and the whole environment."""

    name: str
    module: str
    arguments: Sequence[str] = ()
    environment: Mapping[str, str]


class ChildProcess:
    """A running child. ``name`` is its place in the cloud, such as ``worker-2``."""

    def __init__(self, command: ChildCommand, listener: ChildListener) -> None:
        """Start it."""
        self.name = command.name
        self._listener = listener
        self._is_read = threading.Event()
        self._started: queue.SimpleQueue[subprocess.Popen[str] | BaseException] = (
            queue.SimpleQueue()
        )
        # The thread that waits for its end starts it: the kernel ends a child with that thread.
        self._end_watch = self._start(lambda: self._live(command), "_end_watch")
        started = self._started.get()
        if isinstance(started, BaseException):
            raise started
        self._process = started
        self._replies = self._start(self._read_replies, "_replies")
        self._log = self._start(self._read_log, "_log")
        self._is_read.set()

    def _live(self, command: ChildCommand) -> None:
        try:
            process = self._spawn(command)
        except BaseException as error:  # noqa: BLE001 - raised where the child was asked for
            self._started.put(error)
            return
        _alive.add(process)
        self._started.put(process)
        self._is_read.wait()
        self._watch_end()
        _alive.discard(process)

    def _spawn(self, command: ChildCommand) -> subprocess.Popen[str]:
        return subprocess.Popen(  # noqa: S603 (our own module)
            # -P: a file in the current folder must not replace a module that we import.
            [sys.executable, "-P", "-m", command.module, *command.arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=dict(command.environment),
            encoding="utf-8",
            errors="replace",
            # A session of its own: the terminal's Ctrl-C is for the cloud, which ends its children.
            start_new_session=True,
        )

    @property
    def pid(self) -> int:
        """The process id."""
        return self._process.pid

    def say(self, message: dict[str, Any]) -> bool:
        """Send a message; whether the child could still be written to."""
        assert self._process.stdin is not None
        try:
            write_line(self._process.stdin, message)
        except (OSError, ValueError):
            # Broken, or closed already: it is dead or dying.
            return False
        return True

    def signal(self, number: signal.Signals) -> None:
        """Send it a signal, if it still lives."""
        self._process.send_signal(number)

    def end(self) -> None:
        """End it: first by closing its input, then by force. Returns when it is gone."""
        self._close_input()
        for force in (None, signal.SIGTERM, signal.SIGKILL):
            if force is signal.SIGKILL:
                _kill_group(self._process)
            elif force is not None:
                self.signal(force)
            try:
                self._process.wait(END_SECONDS)
            except subprocess.TimeoutExpired:
                continue
            break
        self._end_watch.join()

    def _start(self, target: Callable[[], None], name: str) -> threading.Thread:
        thread = threading.Thread(target=target, name=f"{self.name}{name}", daemon=True)
        thread.start()
        return thread

    def _watch_end(self) -> None:
        exit_code = self._process.wait()
        # Its last message comes before its end. What it started may hold its pipes open, so
        # their end is not waited for.
        self._replies.join(LAST_WORDS_SECONDS)
        self._log.join(LAST_WORDS_SECONDS)
        self._close_input()
        self._listener.ended(self, exit_code)

    def _close_input(self) -> None:
        assert self._process.stdin is not None
        # There is no reader for what was not flushed.
        with contextlib.suppress(OSError):
            self._process.stdin.close()

    def _read_replies(self) -> None:
        assert self._process.stdout is not None
        with self._process.stdout as replies:
            for message in read_lines(replies):
                self._listener.heard(self, message)

    def _read_log(self) -> None:
        assert self._process.stderr is not None
        with self._process.stderr as log:
            for line in log:
                self._listener.logged(self, line.rstrip("\n"))


_alive: set[subprocess.Popen[str]] = set()
"""The children of this process, for the case that it must end at once."""


def kill_children() -> None:
    """Kill every child of this process that still lives, and what it started: at once."""
    for process in list(_alive):
        _kill_group(process)


def _kill_group(process: subprocess.Popen[str]) -> None:
    # Each has a session of its own. One that was waited for has no group of that id any more.
    if process.poll() is None:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)


def exit_reason(exit_code: int) -> str:
    """Return how a process ended, in words."""
    if exit_code < 0:
        return f"killed by signal {-exit_code} ({signal.strsignal(-exit_code)})"
    return f"exit code {exit_code}"


Spawn = Callable[[ChildListener], ChildProcess]
"""Starts one child that reports to the listener."""
