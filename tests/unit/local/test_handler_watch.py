"""Handlers are read in a process of their own, and again when their files change."""

from __future__ import annotations

import os
import queue
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from hourhand.aws.handler_manifest import ManifestHandlerDirectory, read_manifest
from hourhand.local.events import HandlersLoaded, News
from hourhand.local.handler_watch import (
    Handlers,
    HandlersBroken,
    HandlerWatch,
    Snapshot,
    read_handlers,
    snapshot,
)
from hourhand.ports.handler_directory import HandlerInfo

WAIT_SECONDS = 30

JOBS = """
from hourhand import Retry, job
import my_words

@job("greet", timeout=7, retry=Retry(max_attempts=2))
def greet(ctx, payload):
    return my_words.HELLO
"""

TYPED = """
from typing import Literal, TypedDict
from hourhand import job

class Letter(TypedDict):
    to: str

@job("small")
def small(ctx, payload: Letter): ...

@job("huge")
def huge(ctx, payload: Literal[tuple(f"choice {n}" for n in range(10_000))]): ...
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "my_jobs.py").write_text(JOBS)
    (tmp_path / "my_words.py").write_text('HELLO = "Hello"\n')
    (tmp_path / "my_notes.py").write_text("# beside the others\n")
    return tmp_path


@pytest.fixture
def environment(folder: Path) -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": os.pathsep.join([str(folder), *sys.path])}


def test_the_manifest_and_the_files_of_the_handlers_are_told(
    folder: Path, environment: dict[str, str]
) -> None:
    handlers = read_handlers("my_jobs", folder / "manifest.json", environment)
    assert handlers.names == ("greet",)
    names = {Path(file).name for file in handlers.files}
    assert {"my_jobs.py", "my_words.py", "my_notes.py"} <= names
    # Neither our own files nor the library's are the user's.
    assert not {"cloud.py", "json.py", "os.py"} & names
    [info] = read_manifest(folder / "manifest.json")
    assert (info.name, info.policies.timeout_seconds) == ("greet", 7)


def test_a_module_that_is_added_to_a_package_is_noticed(
    folder: Path, environment: dict[str, str]
) -> None:
    package = folder / "my_package"
    package.mkdir()
    (package / "__init__.py").write_text("import my_jobs\n")
    handlers = read_handlers("my_package", folder / "manifest.json", environment)
    assert snapshot(handlers.files) == handlers.files
    (package / "more.py").write_text("")
    os.utime(package, (1, 1))
    assert snapshot(handlers.files) != handlers.files


def test_a_module_in_the_current_folder_is_found(
    folder: Path, monkeypatch: pytest.MonkeyPatch, environment: dict[str, str]
) -> None:
    monkeypatch.chdir(folder)
    environment["PYTHONPATH"] = os.pathsep.join(sys.path)
    assert read_handlers("my_jobs", folder / "manifest.json", environment).names == ("greet",)


def test_a_missing_handler_is_answered_with_the_module_to_import_it_in(
    folder: Path, environment: dict[str, str]
) -> None:
    read_handlers("my_jobs", folder / "manifest.json", environment)
    directory = ManifestHandlerDirectory(folder / "manifest.json")
    assert directory.advice.startswith("Import the module that registers it in my_jobs, or start")


def test_what_a_handler_takes_is_read_and_a_schema_that_is_too_large_is_told(
    folder: Path, environment: dict[str, str]
) -> None:
    (folder / "my_jobs.py").write_text(TYPED)
    handlers = read_handlers("my_jobs", folder / "manifest.json", environment)
    huge, small = handlers.infos
    assert small.payload_examples == ({"to": "text"},)
    assert huge.payload_schema is None
    [note] = handlers.notes
    assert note.startswith("The payload schema of huge is left out: it is ")


def test_a_broken_module_is_told_with_its_own_part_of_the_traceback(
    folder: Path, environment: dict[str, str]
) -> None:
    (folder / "my_words.py").write_text("HELLO = 1 / 0\n")
    with pytest.raises(HandlersBroken) as caught:
        read_handlers("my_jobs", folder / "manifest.json", environment)
    assert "ZeroDivisionError" in caught.value.detail
    assert "my_words.py" in caught.value.detail
    assert "importlib" not in caught.value.detail
    assert {"my_jobs.py", "my_words.py"} <= {Path(file).name for file in caught.value.files}
    assert not (folder / "manifest.json").exists()


def test_a_module_that_is_not_there_is_told(folder: Path, environment: dict[str, str]) -> None:
    with pytest.raises(HandlersBroken, match="There is no module nowhere"):
        read_handlers("nowhere", folder / "manifest.json", environment)


def test_a_module_that_ends_the_process_is_told(folder: Path, environment: dict[str, str]) -> None:
    (folder / "my_words.py").write_text("import os\nos._exit(3)\n")
    with pytest.raises(HandlersBroken, match="exit code 3"):
        read_handlers("my_jobs", folder / "manifest.json", environment)


def test_a_module_that_never_ends_to_import_is_told(
    folder: Path, environment: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("hourhand.local.handler_watch.READ_SECONDS", 1)
    (folder / "my_words.py").write_text("import time\ntime.sleep(60)\n")
    with pytest.raises(HandlersBroken, match="longer than 1 s"):
        read_handlers("my_jobs", folder / "manifest.json", environment)


def test_what_a_module_prints_does_not_disturb(folder: Path, environment: dict[str, str]) -> None:
    (folder / "my_words.py").write_text('print("loading")\nHELLO = "Hello"\n')
    assert read_handlers("my_jobs", folder / "manifest.json", environment).names == ("greet",)


class Watched:
    """A watch over one file, whose readings the test decides."""

    def __init__(self, folder: Path) -> None:
        self.file = folder / "jobs.py"
        self.file.write_text("1")
        self.news: queue.Queue[News] = queue.Queue()
        self.changes = 0
        self.error: HandlersBroken | None = None
        self.names: tuple[str, ...] = ("greet",)
        self.watch = HandlerWatch(self.read, self.read(), self.change, self.news.put)
        self.watch.start()

    def read(self) -> Handlers:
        if self.error is not None:
            raise self.error
        return Handlers(tuple(HandlerInfo(name=one) for one in self.names), self.seen())

    def seen(self) -> Snapshot:
        return snapshot([str(self.file)])

    def change(self) -> None:
        self.changes += 1

    def next_news(self) -> News:
        return self.news.get(timeout=WAIT_SECONDS)


@pytest.fixture
def watched(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Watched]:
    monkeypatch.setattr("hourhand.local.handler_watch.LOOK_SECONDS", 0.01)
    watched = Watched(tmp_path)
    yield watched
    watched.watch.stop()


def test_a_change_is_read_applied_and_told(watched: Watched) -> None:
    watched.names = ("greet", "wave")
    watched.file.write_text("22")
    assert watched.next_news() == HandlersLoaded(names=("greet", "wave"))
    assert watched.changes == 1


def test_a_broken_version_changes_nothing_until_it_is_mended(watched: Watched) -> None:
    watched.error = HandlersBroken("no good", (str(watched.file),))
    watched.file.write_text("333")
    assert watched.next_news() == HandlersLoaded(error="no good")
    assert watched.changes == 0
    watched.error = None
    watched.file.write_text("4444")
    assert watched.next_news() == HandlersLoaded(names=("greet",))
    assert watched.changes == 1


def test_files_that_are_gone_are_left_out_of_a_snapshot(tmp_path: Path) -> None:
    (tmp_path / "there.py").write_text("1")
    seen = snapshot([str(tmp_path / "there.py"), str(tmp_path / "gone.py")])
    assert list(seen) == [str(tmp_path / "there.py")]
