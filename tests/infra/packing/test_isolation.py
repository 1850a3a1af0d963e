"""What a user's import is given, and what it is not."""

from __future__ import annotations

import json
import os
import select
import sys
from pathlib import Path

import pytest

from hourhand_cdk.packing._isolation import Isolation
from tests.infra.packing.folders import write_files

ENDING_SECONDS = 20.0

LOOK = """
import json, os, sys
from pathlib import Path
answer, tree, libraries, *rest = sys.argv[1:]
sys.path.insert(0, tree)
sys.path.append(libraries)
{code}
Path(answer).write_text(json.dumps(seen))
"""


def script(folder: Path, code: str) -> str:
    return str(write_files(folder, {"script.py": LOOK.format(code=code)}) / "script.py")


def has_ended(process_id: int) -> bool:
    """Whether a process ends: a killed one may take a moment, one that nobody killed stays."""
    try:
        process = os.pidfd_open(process_id)
    except ProcessLookupError:
        return True
    try:
        ended, _, _ = select.select([process], [], [], ENDING_SECONDS)
    finally:
        os.close(process)
    return bool(ended)


@pytest.fixture
def isolation(tmp_path: Path) -> Isolation:
    return Isolation(tmp_path, {"TABLE": "bills", "AWS_ACCESS_KEY_ID": "AKIA"})


def test_no_credentials_are_handed_over(
    tmp_path: Path, isolation: Isolation, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "secret")
    monkeypatch.setenv("AWS_CONTAINER_CREDENTIALS_FULL_URI", "http://127.0.0.1/")
    monkeypatch.setenv("GITHUB_TOKEN", "secret")
    code = """
import boto3
seen = [dict(os.environ), os.listdir(os.path.expanduser("~")), os.getcwd(),
        boto3.Session().get_credentials() is None]
"""
    ended = isolation.run(script(tmp_path, code), tmp_path, [])
    assert ended.answer is not None, ended.output
    environment, home, folder, has_none = ended.answer
    assert has_none
    assert home == []
    assert folder != str(Path.cwd())
    assert not {"AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "GITHUB_TOKEN"} & set(environment)
    assert "secret" not in json.dumps(environment)
    assert environment["AWS_EC2_METADATA_DISABLED"] == "true"
    assert environment["AWS_SHARED_CREDENTIALS_FILE"] == os.devnull


def test_what_the_function_will_be_given_is_there(tmp_path: Path, isolation: Isolation) -> None:
    code = "import boto3\nboto3.client('s3')\nseen = os.environ['TABLE']"
    assert isolation.run(script(tmp_path, code), tmp_path, []).answer == "bills"


def test_the_libraries_of_the_environment_that_packs_are_not_there(
    tmp_path: Path, isolation: Isolation
) -> None:
    code = """
from importlib.util import find_spec
seen = [name for name in ("boto3", "pytest", "pydantic", "hourhand", "pip") if find_spec(name)]
"""
    assert isolation.run(script(tmp_path, code), tmp_path, []).answer == ["boto3"]


@pytest.mark.skipif(sys.platform != "linux", reason="other systems have no pidfd_open")
def test_what_does_not_end_is_ended_with_all_that_it_started(tmp_path: Path) -> None:
    code = """
import signal
child = os.fork()
if child:
    Path(rest[0]).write_text(str(child))
signal.pause()
"""
    # Long enough for a busy machine to come as far as the fork.
    isolation = Isolation(tmp_path, {}, limit_seconds=2.0)
    noted = tmp_path / "pid"
    ended = isolation.run(script(tmp_path, code), tmp_path, [str(noted)])
    assert ended.answer is None
    assert ended.exit_code < 0
    assert has_ended(int(noted.read_text()))


def test_what_was_printed_is_kept_for_the_error(tmp_path: Path, isolation: Isolation) -> None:
    ended = isolation.run(script(tmp_path, "print('hello'); sys.exit(3)"), tmp_path, [])
    assert (ended.answer, ended.output, ended.exit_code) == (None, "hello", 3)
