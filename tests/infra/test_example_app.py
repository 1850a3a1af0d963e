"""The construct in an app of a user: `examples/cdk_app`, synthesised as it stands."""

from __future__ import annotations

import runpy
from pathlib import Path
from typing import Any

import pytest

from hourhand.domain.jobs.job import Priority
from tests.infra.stacks import Deployment, Deployments, stub_packed

APP = Path(__file__).parents[2] / "examples" / "cdk_app" / "app.py"


class Packing:
    """Stands for packing, which would ask a package registry."""

    def __init__(self) -> None:
        self.sources: list[Any] = []
        self.environments: list[Any] = []

    def __call__(self, source: Any, target: Any, to: Path, **options: Any) -> Any:
        self.sources.append(source)
        self.environments.append(options["environment"])
        return stub_packed(to)


@pytest.fixture
def packing(deployments: Deployments, monkeypatch: pytest.MonkeyPatch) -> Packing:
    made = Packing()
    monkeypatch.setattr("hourhand_cdk.handlers.pack", made)
    monkeypatch.setattr("hourhand_cdk.packing.Report.text", lambda _: "")
    return made


@pytest.fixture
def example(packing: Packing) -> Deployment:
    names = runpy.run_path(str(APP))
    assembly = names["app"].synth()
    (stack,) = assembly.stacks
    return Deployment.read(stack, Path(assembly.directory))


def test_the_handlers_beside_the_app_are_packed(example: Deployment, packing: Packing) -> None:
    (source,) = packing.sources
    assert source.path == APP.with_name("jobs")
    # For handlers that read it when they are imported.
    assert list(packing.environments[0]) == ["ORDERS_TABLE"]


def test_what_was_packed_is_in_the_assembly_though_its_folder_is_gone(example: Deployment) -> None:
    copied = {path.read_text(encoding="utf-8") for path in example.assembly.glob("asset.*/main.py")}
    assert copied == {"# api\n", "# scheduler\n", "# worker\n"}


def test_the_worker_alone_may_read_the_apps_table(example: Deployment) -> None:
    (orders,) = [
        name for name in example.of_type("AWS::DynamoDB::GlobalTable") if "Jobs" not in name
    ]
    for function in ("api", "scheduler", "worker"):
        rights = example.allowed(function)
        reads = [r for r in rights if r[0] == "dynamodb:GetItem" and r[1].endswith(f"/{orders}")]
        assert bool(reads) == (function == "worker")
    variables = example.function("worker")["Environment"]["Variables"]
    assert variables["ORDERS_TABLE"] == orders


def test_the_apps_config_is_followed(example: Deployment) -> None:
    assert example.function("api")["FunctionName"] == "orders-jobs-api"
    assert example.function("api")["MemorySize"] == 512


@pytest.mark.parametrize("given", [{}, {"handlers": "jobs", "packed": object()}])
def test_handlers_are_given_once(deployments: Deployments, given: dict[str, Any]) -> None:
    from aws_cdk import App, Stack

    from hourhand_cdk import HourhandScheduler

    with pytest.raises(ValueError, match="either handlers or packed"):
        HourhandScheduler(Stack(App(), "own"), "Jobs", **given)


def test_a_module_may_be_named(deployments: Deployments, packing: Packing) -> None:
    from hourhand_cdk import HandlerSource

    source = HandlerSource(path=Path("jobs"), module="jobs.nightly")

    def build(app: Any) -> None:
        from aws_cdk import Stack

        from hourhand_cdk import HourhandScheduler

        scheduler = HourhandScheduler(Stack(app, "hourhand-own"), "Jobs", handlers=source)
        assert set(scheduler.queues.by_priority) == set(Priority)

    deployments.synthesise(build)
    assert packing.sources == [source]
