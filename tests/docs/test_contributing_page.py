"""The recipes for contributors name files that exist, and touch what their examples touch."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import yaml  # type: ignore[import-untyped]  # its stubs are no dependency of ours

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src" / "common" / "hourhand"
PAGE = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
RECIPES = {
    "A field of a job": "expires_at",
    "A route": "resweep",
    "A command": "resweep",
    "A transition": "hand_back",
}
NOT_BY_NAME = {
    "api/requests/__init__.py",
    "domain/jobs/job.py",
    "domain/jobs/states.py",
    "domain/jobs/actions.py",
}
NOT_BY_NAME |= {"aws/layout/versions.py", "services/jobs/due.py", "api/views/jobs.py"}
NOT_BY_NAME |= {"proof/explorer/record_scenarios.py", "cli/jobs/commands.py"}
NOT_BY_NAME |= {"console/static/views/job_history.js", "tests/contract/job_strategies.py"}
"""Files of a recipe that concern the example without its very name."""


def recipe(title: str) -> str:
    [text] = re.findall(rf"^### {title} .*?\n(.*?)(?=^##)", PAGE, re.M | re.S)
    found: str = text
    return found


def files(text: str) -> list[str]:
    return re.findall(r"`((?:[\w.-]+/)*[\w-]+\.(?:py|js))`", text)


def path_of(name: str) -> Path:
    below = SOURCE / name
    return below if below.exists() else ROOT / name


@pytest.mark.parametrize("title", RECIPES)
def test_each_file_of_a_recipe_exists(title: str) -> None:
    named = [name for name in files(recipe(title)) if "/" in name]

    assert len(named) >= 4
    assert [name for name in named if not path_of(name).is_file()] == []


@pytest.mark.parametrize(("title", "example"), RECIPES.items())
def test_the_example_of_a_recipe_is_in_its_files(title: str, example: str) -> None:
    steps = recipe(title).split("\n\nA *policy*")[0]
    for name in files(steps):
        if "/" in name and name not in NOT_BY_NAME:
            text = path_of(name).read_text(encoding="utf-8")
            assert re.search(example, text.replace("expiresAt", example), re.I), name


def test_every_make_target_on_the_page_exists() -> None:
    [phony] = re.findall(r"^\.PHONY: (.+)$", (ROOT / "Makefile").read_text(), re.M)
    targets = set(phony.split())
    named = set(re.findall(r"(?:^|`)make ([a-z0-9]+)", PAGE, re.M))

    assert named >= {"setup", "test", "check", "prove", "bench"}
    assert named <= targets


def test_the_hooks_before_a_commit_are_tools_of_the_project_and_need_no_network() -> None:
    config = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text(encoding="utf-8"))
    hooks = [hook for repository in config["repos"] for hook in repository["hooks"]]

    assert [repository["repo"] for repository in config["repos"]] == ["local"]
    assert {hook["language"] for hook in hooks} == {"system"}
    tools = {hook["entry"].split()[0] for hook in hooks}
    assert tools == {".venv/bin/ruff", ".venv/bin/mypy", ".venv/bin/lint-imports"}
