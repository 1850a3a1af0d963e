"""Deployments as they are synthesised, each once in a session, with stubs for the functions' code.

Imports the CDK only when the first one is made: it starts Node.
"""

from __future__ import annotations

import importlib.util
import json
import os
import shutil
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.infra.evaluation import Evaluation

if TYPE_CHECKING:
    from aws_cdk import App
    from aws_cdk.cx_api import CloudFormationStackArtifact

    from hourhand_cdk.packing import Packed
    from hourhand_cdk.plans import WorkerOptions

IN_CI = "HOURHAND_CI"
FUNCTIONS = ("api", "scheduler", "worker")

Resource = dict[str, Any]


def missing_tool() -> str | None:
    """Return why nothing can be synthesised here."""
    if shutil.which("node") is None:
        return "Node is not installed, and the CDK runs on it"
    if importlib.util.find_spec("aws_cdk") is None:
        return "aws-cdk-lib is not installed; it is in the extra `infra`"
    return None


def skip_without(missing: str | None) -> None:
    """Skip a test for want of something, but never in CI."""
    if missing is None:
        return
    if os.environ.get(IN_CI) == "1":
        pytest.fail(f"{missing}, and in CI this may not be skipped.")
    pytest.skip(f"{missing}.")


def silence_jsii() -> None:
    """Let no notice about the age of this machine's Node stand between the tests' own output."""
    os.environ["JSII_SILENCE_WARNING_END_OF_LIFE_NODE_VERSION"] = "18,20"
    os.environ["JSII_SILENCE_WARNING_DEPRECATED_NODE_VERSION"] = "1"
    os.environ["JSII_SILENCE_WARNING_UNTESTED_NODE_VERSION"] = "1"


@dataclass(frozen=True, slots=True)
class Deployment:
    """A synthesised template, the folder of its assembly, and what the CDK warned of."""

    template: dict[str, Any]
    assembly: Path
    warnings: tuple[str, ...]

    @classmethod
    def read(cls, stack: CloudFormationStackArtifact, assembly: Path) -> Deployment:
        """Return the deployment of a stack in the assembly in a folder."""
        # Of messages, `stack.messages` raises here: jsii does not know their type.
        noted = (json.loads(path.read_text()) for path in assembly.glob("*.metadata.json"))
        entries = [entry for each in noted for listed in each.values() for entry in listed]
        warnings = tuple(one["data"] for one in entries if one["type"] == "aws:cdk:warning")
        return cls(stack.template, assembly, warnings)

    @property
    def evaluation(self) -> Evaluation:
        return Evaluation(self.template["Resources"])

    def of_type(self, kind: str) -> dict[str, Resource]:
        """Return the resources of a type by their logical ids."""
        found = self.template["Resources"].items()
        return {name: resource for name, resource in found if resource["Type"] == kind}

    def properties(self, kind: str) -> list[dict[str, Any]]:
        """Return the properties of all resources of a type, what they refer to in plain text."""
        return [
            self.evaluation.value(resource.get("Properties", {}))
            for resource in self.of_type(kind).values()
        ]

    def only(self, kind: str) -> dict[str, Any]:
        """Return the properties of the one resource of a type."""
        (found,) = self.properties(kind)
        return found

    def named(self, kind: str, attribute: str) -> dict[str, dict[str, Any]]:
        """Return the properties of all resources of a type by what is after the prefix in one."""
        found = self.properties(kind)
        return {resource[attribute].split("-", 2)[2]: resource for resource in found}

    def function(self, name: str) -> dict[str, Any]:
        """Return one of our functions."""
        return self.named("AWS::Lambda::Function", "FunctionName")[name]

    def statements(self, function: str) -> Iterator[dict[str, Any]]:
        """Yield what the role of a function is allowed, actions and resources as lists."""
        arn = self.function(function)["Role"]
        role = arn.rpartition("/")[2]
        inside = self.evaluation.value(self.template["Resources"][role]["Properties"])["Policies"]
        beside = self.properties("AWS::IAM::Policy")
        for policy in [*inside, *(each for each in beside if role in each["Roles"])]:
            for statement in policy["PolicyDocument"]["Statement"]:
                assert statement["Effect"] == "Allow"
                yield {
                    **statement,
                    "Action": _listed(statement["Action"]),
                    "Resource": _listed(statement["Resource"]),
                }

    def allowed(self, function: str) -> set[tuple[str, str]]:
        """Return the pairs of action and resource of a function's role."""
        return {
            (action, resource)
            for statement in self.statements(function)
            for action in statement["Action"]
            for resource in statement["Resource"]
        }


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


class Deployments:
    """Makes deployments; what was asked for once is not synthesised again."""

    def __init__(self, folder: Path) -> None:
        silence_jsii()
        self._folder = folder
        self._made: dict[str, Deployment] = {}
        self.packed = stub_packed(folder / "packed")

    def of(self, **context: Any) -> Deployment:
        """Return the deployment that ``context`` asks for."""
        key = repr(sorted(context.items()))
        if key not in self._made:
            self._made[key] = self.synthesise(lambda app: self._add_stack(app, context))
        return self._made[key]

    def with_worker(
        self, make_options: Callable[[Any], WorkerOptions], **context: Any
    ) -> Deployment:
        """Return a deployment whose worker has options that are made in its stack."""

        def build(app: App) -> None:
            from aws_cdk import Stack

            from hourhand_cdk.config import read_config
            from hourhand_cdk.scheduler import HourhandScheduler

            stack = Stack(app, "hourhand-own")
            HourhandScheduler(
                stack,
                "Scheduler",
                config=read_config(context),
                packed=self.packed,
                worker_options=make_options(stack),
            )

        return self.synthesise(build)

    def synthesise(self, build: Callable[[App], Any]) -> Deployment:
        """Return the one stack that ``build`` puts into an app."""
        from aws_cdk import App

        folder = self._new_folder()
        app = App(analytics_reporting=False, outdir=str(folder))
        build(app)
        (stack,) = app.synth().stacks
        return Deployment.read(stack, folder)

    def _add_stack(self, app: App, context: Mapping[str, Any]) -> None:
        from hourhand_cdk.app import make_stack
        from hourhand_cdk.config import read_config

        make_stack(app, read_config(context), self.packed)

    def _new_folder(self) -> Path:
        count = sum(1 for _ in self._folder.glob("out-*"))
        folder = self._folder / f"out-{count}"
        folder.mkdir()
        return folder


def stub_packed(folder: Path) -> Packed:
    """Return folders as packing makes them, with next to nothing inside."""
    from hourhand_cdk.packing import Packed, Report

    for name in FUNCTIONS:
        (folder / name).mkdir(parents=True)
        (folder / name / "main.py").write_text(f"# {name}\n", encoding="utf-8")
    return Packed(
        api=folder / "api",
        scheduler=folder / "scheduler",
        worker=folder / "worker",
        module="examples.quickstart",
        handlers=("send-welcome",),
        report=Report(target="", module="examples.quickstart", handlers=(), rows=(), proof=""),
    )
