"""The handlers' manifest, which is kept up to date with the handlers' files."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from hourhand.aws.handler_manifest import read_manifest
from hourhand.domain.errors import HourhandError
from hourhand.local.events import HandlersLoaded, Listener
from hourhand.ports.handler_directory import HandlerInfo

LOOK_SECONDS = 0.5
"""How often the files are checked."""

READ_SECONDS = 60
"""How long importing the handlers may take: as long as a worker waits for it."""

Snapshot = dict[str, tuple[int, int]]


class HandlersBroken(HourhandError):
    """The module of the handlers cannot be used."""

    code = "handlers_broken"

    def __init__(self, detail: str, files: tuple[str, ...] = ()) -> None:
        """Take why, and the files to watch until it can be."""
        super().__init__(detail)
        self.files = files


@dataclass(frozen=True, slots=True)
class Handlers:
    """The result of reading handlers: what they are, their files, and warnings about them."""

    infos: tuple[HandlerInfo, ...]
    files: Snapshot
    notes: tuple[str, ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the handlers, sorted."""
        return tuple(info.name for info in self.infos)


def read_handlers(module: str, to: Path, environment: Mapping[str, str]) -> Handlers:
    """Import ``module`` in a process of its own and write its manifest.

    Raises `HandlersBroken` saying why it could not be read.
    """
    command = [sys.executable, "-P", "-m", "hourhand.local.manifest_process"]
    try:
        ran = subprocess.run(  # noqa: S603 (our own module)
            [*command, "--handlers", module, "--to", str(to)],
            env=dict(environment),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            encoding="utf-8",
            errors="replace",
            timeout=READ_SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        raise HandlersBroken(f"Importing {module} took longer than {READ_SECONDS} s.") from error
    try:
        told = json.loads(ran.stdout)
    except ValueError:
        told = {"error": f"Importing {module} ended the process (exit code {ran.returncode})."}
    if "error" in told:
        detail = "\n".join(filter(None, [told["error"], ran.stderr.rstrip()]))
        raise HandlersBroken(detail, tuple(told.get("files", ())))
    return Handlers(
        infos=tuple(read_manifest(to)),
        files=snapshot(told["files"]),
        notes=tuple(told["notes"]),
    )


class HandlerWatch:
    """Reads the handlers again when their files change; a broken version changes nothing."""

    def __init__(
        self,
        read: Callable[[], Handlers],
        first: Handlers,
        on_change: Callable[[], None],
        tell: Listener,
    ) -> None:
        """Take how to read them, and what to do when a new version was read."""
        self._read = read
        self._on_change = on_change
        self._tell = tell
        self._seen = first.files
        self._files = set(first.files)
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name="handler-watch", daemon=True)

    def start(self) -> None:
        """Begin to watch."""
        self._thread.start()

    def stop(self) -> None:
        """Watch no more."""
        self._stopping.set()
        self._thread.join()

    def _run(self) -> None:
        while not self._stopping.wait(LOOK_SECONDS):
            now = snapshot(self._files)
            if now == self._seen:
                continue
            self._read_again()
            # Files that the new version added are watched from here on. The others as they
            # were before it was read: a change meanwhile is one more.
            brought = snapshot(self._files)
            self._seen = {file: now.get(file, seen) for file, seen in brought.items()}

    def _read_again(self) -> None:
        try:
            handlers = self._read()
        except HandlersBroken as error:
            self._files.update(error.files)
            self._tell(HandlersLoaded(error=error.detail))
            return
        self._files = set(handlers.files)
        self._on_change()
        self._tell(HandlersLoaded(names=handlers.names, notes=handlers.notes))


def snapshot(files: Iterable[str]) -> Snapshot:
    """Return when each of the files that exist was last changed, and its size."""
    seen: Snapshot = {}
    for file in files:
        try:
            status = os.stat(file)  # noqa: PTH116 (the path is text already)
        except OSError:
            continue
        seen[file] = (status.st_mtime_ns, status.st_size)
    return seen
