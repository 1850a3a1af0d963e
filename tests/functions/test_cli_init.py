"""``hourhand init`` writes a project, and overwrites nothing."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml  # type: ignore[import-untyped]  # its stubs are no dependency of ours

from hourhand.cli import init as init_module
from hourhand.cli.init import TEMPLATE, TEMPLATE_NAME, TEMPLATE_SOURCE, installed_from
from tests.functions.cli_rig import Shell

FILES = {
    ".github/workflows/test.yml",
    ".gitignore",
    "README.md",
    "jobs/__init__.py",
    "jobs/reports.py",
    "jobs/requirements.txt",
    "pyproject.toml",
    "schedules/morning-report.json",
    "tests/test_reports.py",
}
SOURCE = "git+https://git.example/hourhand@0123"


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def written(folder: Path) -> set[str]:
    return {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()}


def test_it_writes_a_project_and_prints_what_to_type_next(shell: Shell, folder: Path) -> None:
    ran = shell.type("init", "my shop", "--source", SOURCE)
    assert ran.code == 0, ran.err
    assert written(folder / "my shop") == FILES
    assert [line.strip() for line in ran.out.splitlines()[1:]] == [
        "cd 'my shop'",
        "python3 -m venv .venv && source .venv/bin/activate",
        "pip install -e '.[dev]'",
        "pytest",
        "hourhand dev",
    ]
    project = tomllib.loads((folder / "my shop" / "pyproject.toml").read_text())
    assert project["project"]["name"] == "my-shop"
    assert project["project"]["dependencies"] == [f"hourhand[client] @ {SOURCE}"]
    for name in FILES:
        text = (folder / "my shop" / name).read_text()
        assert TEMPLATE_NAME not in text
        assert TEMPLATE_SOURCE not in text


def test_a_program_gets_the_files_and_the_commands(shell: Shell, folder: Path) -> None:
    [answer] = shell.type("init", "--name", "shop", "--json").objects
    assert answer["folder"] == str(folder)
    assert set(answer["files"]) == FILES
    # It is the current folder.
    assert not answer["next"][0].startswith("cd ")


def test_it_overwrites_nothing(shell: Shell, folder: Path) -> None:
    (folder / "jobs").mkdir()
    (folder / "jobs" / "reports.py").write_text("mine")
    ran = shell.type("init", "--name", "shop")
    assert ran.code == 4
    assert "has jobs/reports.py already. Nothing was written." in " ".join(ran.err.split())
    assert written(folder) == {"jobs/reports.py"}
    assert (folder / "jobs" / "reports.py").read_text() == "mine"


def test_a_folder_that_has_other_files_gets_the_project_beside_them(
    shell: Shell, folder: Path
) -> None:
    (folder / "LICENSE").write_text("mine")
    assert shell.type("init", "--name", "shop").code == 0
    assert written(folder) == {"LICENSE", *FILES}


@pytest.mark.parametrize("name", ["", "-x", "a b", "x" * 65])
def test_a_name_that_no_package_may_have_is_refused(shell: Shell, folder: Path, name: str) -> None:
    ran = shell.type("init", "shop", f"--name={name}")
    assert ran.code == 2
    assert "cannot be the name of a project" in ran.err
    assert written(folder) == set()


def test_a_folder_that_cannot_be_written_is_an_error(shell: Shell, folder: Path) -> None:
    (folder / "shop").write_text("a file")
    ran = shell.type("init", "shop")
    assert ran.code == 1
    assert "cannot be written" in ran.err


@pytest.mark.parametrize(
    ("recorded", "source"),
    [
        (
            {"url": "https://git.example/h.git", "vcs_info": {"vcs": "git", "commit_id": "0f"}},
            "git+https://git.example/h.git@0f",
        ),
        ({"url": "file:///checkout", "dir_info": {"editable": True}}, "file:///checkout"),
        ({"url": "file:///h.whl", "archive_info": {}}, None),
        (None, None),
    ],
    ids=["a Git URL", "a checkout", "a file", "unknown"],
)
def test_the_project_installs_hourhand_from_where_this_one_is(
    monkeypatch: pytest.MonkeyPatch, recorded: Any, source: str | None
) -> None:
    class Distribution:
        def read_text(self, _: str) -> str | None:
            return None if recorded is None else json.dumps(recorded)

    monkeypatch.setattr("importlib.metadata.distribution", lambda _: Distribution())
    assert installed_from() == source


def test_an_unknown_source_is_named_as_what_to_replace(
    shell: Shell, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(init_module, "installed_from", lambda: None)
    ran = shell.type("init", "shop")
    assert f"Replace {TEMPLATE_SOURCE} in pyproject.toml and README.md" in " ".join(ran.err.split())


def test_no_page_of_the_project_installs_a_package_that_is_not_published() -> None:
    for file in TEMPLATE.rglob("*"):
        if file.is_file() and file.suffix != ".pyc":
            assert "pip install hourhand" not in file.read_text()
            assert "install 'hourhand" not in file.read_text()


def test_the_workflow_is_pinned_and_may_only_read() -> None:
    workflow = yaml.safe_load((TEMPLATE / ".github" / "workflows" / "test.yml").read_text())
    assert workflow["permissions"] == {"contents": "read"}
    for step in workflow["jobs"]["test"]["steps"]:
        if "uses" in step:
            assert len(step["uses"].partition("@")[2]) == 40
