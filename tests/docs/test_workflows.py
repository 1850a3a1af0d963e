"""The workflows that users copy: valid, pinned, with few rights, and with commands that exist.

Nothing here runs them. What is checked is what GitHub and the command line would refuse, and what a
security review would.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml  # type: ignore[import-untyped]  # its stubs are no dependency of ours
from typer.main import get_command

from hourhand.cli.main import app

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "docs" / "how-to" / "workflows"
PAGE = (FOLDER.parent / "ci-cd.md").read_text(encoding="utf-8")
FILES = sorted(FOLDER.glob("*.yml"))

WORKFLOW_KEYS = {"name", "on", "permissions", "concurrency", "env", "jobs"}
JOB_KEYS = {"name", "needs", "if", "runs-on", "timeout-minutes", "environment", "permissions"}
JOB_KEYS |= {"env", "steps", "uses", "with"}
STEP_KEYS = {"name", "id", "if", "env", "uses", "with", "run", "timeout-minutes"}
PINNED = re.compile(r"[\w.-]+/[\w./-]+@[0-9a-f]{40}")
LOCAL = "./.github/workflows/"
CDK = re.compile(r"aws-cdk@([\d.]+)")

SHELL = {"STAGE": "dev", "GITHUB_OUTPUT": "outputs.txt"}
"""What the variables of the scripts stand for, where a command is read."""


class _Loader(yaml.SafeLoader):  # type: ignore[misc]
    """YAML as GitHub reads it: ``on`` is a word, and no key comes twice."""


def _mapping(loader: Any, node: Any, deep: bool = False) -> dict[Any, Any]:
    keys = [key.value for key, _ in node.value]
    assert len(set(keys)) == len(keys), f"a key comes twice: {keys}"
    return {
        loader.construct_object(k, True): loader.construct_object(v, True) for k, v in node.value
    }


_Loader.add_constructor("tag:yaml.org,2002:map", _mapping)
_Loader.yaml_implicit_resolvers = {
    first: [(tag, pattern) for tag, pattern in resolvers if tag != "tag:yaml.org,2002:bool"]
    for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
}


def workflow(path: Path) -> dict[str, Any]:
    loaded: dict[str, Any] = yaml.load(path.read_text(encoding="utf-8"), _Loader)  # noqa: S506
    return loaded


def jobs(path: Path) -> dict[str, dict[str, Any]]:
    found: dict[str, dict[str, Any]] = workflow(path)["jobs"]
    return found


def steps(path: Path) -> list[dict[str, Any]]:
    return [step for job in jobs(path).values() for step in job.get("steps", [])]


def used(path: Path) -> list[str]:
    places = [*jobs(path).values(), *steps(path)]
    return [place["uses"] for place in places if "uses" in place]


SCRIPTS = [
    pytest.param(step["run"], id=f"{path.stem}-{number}")
    for path in FILES
    for number, step in enumerate(steps(path))
    if "run" in step
]


def commands() -> set[str]:
    """Return every call of hourhand in a script, or in a span of code of the page."""
    found = set(re.findall(r"`(hourhand [^`]+)`", PAGE))
    for parameter in SCRIPTS:
        for line in str(parameter.values[0]).splitlines():
            found |= set(re.findall(r"\bhourhand (?:deploy|rollback|doctor|jobs)[^|>]*", line))
    return {command.split(" || ")[0].strip() for command in found}


def test_the_page_links_to_every_file_of_the_folder() -> None:
    linked = set(re.findall(r"\]\(workflows/([\w.-]+)\)", PAGE))

    assert linked == {path.name for path in FOLDER.iterdir()}


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_a_workflow_has_only_keys_that_github_knows(path: Path) -> None:
    whole = workflow(path)

    assert set(whole) <= WORKFLOW_KEYS
    assert {"name", "on", "permissions", "jobs"} <= set(whole)
    for name, job in whole["jobs"].items():
        assert set(job) <= JOB_KEYS, name
        assert ("uses" in job) != ({"runs-on", "steps", "timeout-minutes"} <= set(job)), name
        needed = job.get("needs", [])
        assert {needed} if isinstance(needed, str) else set(needed) <= set(whole["jobs"])
    for step in steps(path):
        assert set(step) <= STEP_KEYS, step
        assert ("uses" in step) != ("run" in step), step


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_an_action_is_pinned_to_a_commit_whose_release_is_named(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    for action in used(path):
        if action.startswith(LOCAL):
            assert (FOLDER / action.removeprefix(LOCAL)).is_file()
            assert "workflow_call" in workflow(FOLDER / action.removeprefix(LOCAL))["on"]
        else:
            assert PINNED.fullmatch(action), action
            assert re.search(rf"{re.escape(action)} # v\d+\.\d+\.\d+$", text, re.M), action


def test_an_action_has_the_same_commit_everywhere() -> None:
    pinned = {action for path in FILES for action in used(path) if "@" in action}

    assert len(pinned) == len({action.partition("@")[0] for action in pinned})


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_only_a_job_in_an_environment_gets_a_token_of_github_for_aws(path: Path) -> None:
    assert workflow(path)["permissions"] == {"contents": "read"}
    for name, job in jobs(path).items():
        rights = job.get("permissions", {"contents": "read"})
        # A job that calls another workflow hands the right on to the environment there.
        if "environment" in job or "deploy-stage.yml" in job.get("uses", ""):
            assert rights == {"contents": "read", "id-token": "write"}, name
        else:
            assert rights == {"contents": "read"}, name
    for step in steps(path):
        if step.get("uses", "").startswith("actions/checkout@"):
            assert step["with"]["persist-credentials"] == "false"


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_no_secret_is_named_and_no_pull_request_gets_rights(path: Path) -> None:
    assert "secrets." not in path.read_text(encoding="utf-8")
    assert "pull_request_target" not in workflow(path)["on"]
    if "pull_request" in workflow(path)["on"]:
        assert all("id-token" not in job.get("permissions", {}) for job in jobs(path).values())


@pytest.mark.parametrize("script", SCRIPTS)
def test_a_script_is_well_formed_and_takes_values_from_the_environment(script: str) -> None:
    done = subprocess.run(
        ["bash", "-n"],  # noqa: S607
        input=script,
        capture_output=True,
        text=True,
        check=False,
    )

    assert (done.returncode, done.stderr) == (0, "")
    # An expression would be pasted into the script as code.
    assert "${{" not in script


@pytest.mark.parametrize("command", sorted(commands()))
def test_a_command_of_a_workflow_or_of_the_page_exists(command: str) -> None:
    for name, value in SHELL.items():
        command = command.replace(f"${name}", value)
    words = shlex.split(command)[1:]
    found: Any = get_command(app)
    context = found.make_context("hourhand", words[:1])
    while hasattr(found, "commands"):
        name, words = words[0], words[1:]
        assert name in found.commands, command
        found = found.commands[name]
    # It refuses options and values that do not exist; it runs nothing.
    found.make_context(found.name, words, parent=context)


def test_the_scripts_call_every_command_that_a_deployment_needs() -> None:
    verbs = {" ".join(command.split()[1:2]) for command in commands()}

    assert verbs >= {"deploy", "rollback", "doctor", "jobs"}


def test_an_empty_deployment_id_means_the_default() -> None:
    # `inputs.deployment` and `vars.HOURHAND_SETTINGS` are empty texts if they are not given.
    given = {**os.environ, "HOURHAND_ROLLBACK_TO": "", "HOURHAND_DEPLOY_SETTING": ""}
    rollback: Any = get_command(app)
    for verb in ("rollback", "deploy"):
        command = rollback.commands[verb]
        with pytest.MonkeyPatch.context() as patched:
            for name, value in given.items():
                patched.setenv(name, value)
            context = command.make_context(verb, [])
        assert not context.params.get("to")
        assert not context.params.get("context")


def test_the_cdk_is_the_one_that_the_templates_are_tested_with() -> None:
    package = json.loads((ROOT / "infra" / "package.json").read_text())
    versions = {found for path in FILES for found in CDK.findall(path.read_text())}

    assert versions == {package["devDependencies"]["aws-cdk"]}


def test_only_jobs_of_one_environment_may_take_the_role() -> None:
    [statement] = json.loads((FOLDER / "trust-policy.json").read_text())["Statement"]
    [(operator, conditions)] = statement["Condition"].items()

    assert statement["Action"] == "sts:AssumeRoleWithWebIdentity"
    assert operator == "StringEquals"
    assert conditions == {
        "token.actions.githubusercontent.com:aud": "sts.amazonaws.com",
        "token.actions.githubusercontent.com:sub": "repo:OWNER/REPOSITORY:environment:STAGE",
    }


def test_a_deployment_may_take_the_roles_of_the_bootstrap_and_nothing_else() -> None:
    [statement] = json.loads((FOLDER / "deploy-policy.json").read_text())["Statement"]

    assert (statement["Effect"], statement["Action"]) == ("Allow", "sts:AssumeRole")
    assert statement["Resource"] == "arn:aws:iam::ACCOUNT:role/cdk-hnb659fds-*"
