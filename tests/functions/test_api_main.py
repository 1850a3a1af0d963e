"""The entry point of the API function: wired once, from the environment."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from hourhand.aws.lambda_init import INITIALIZATION_TYPE
from hourhand.domain.errors import InvalidInput
from hourhand.local.entry_points import load_entry_point
from hourhand.settings import Settings, settings_environment
from hourhand.wiring import functions
from tests.functions.api_client import load_event, read_answer
from tests.world.world import World


@pytest.fixture
def wired(monkeypatch: pytest.MonkeyPatch, world: World) -> list[Settings]:
    """Let the function find an environment, and the world where AWS would be."""
    seen: list[Settings] = []

    def wire(settings: Settings) -> Any:
        seen.append(settings)
        return world.api

    monkeypatch.setattr(functions, "wire_api", wire)
    settings = Settings(
        jobs_table="jobs",
        control_table="control",
        bucket="bucket",
        queue_high="https://queues/high",
        queue_medium="https://queues/medium",
        queue_low="https://queues/low",
        dead_letter_queue="https://queues/dead",
        manifest="manifest.json",
        schedules_table="schedules",
    )
    for name, value in settings_environment(settings).items():
        monkeypatch.setenv(name, value)
    return seen


def test_importing_the_function_connects_nothing(wired: list[Settings]) -> None:
    load_entry_point("api")
    assert wired == []


def test_calls_side_by_side_share_one_wiring(wired: list[Settings], world: World) -> None:
    handler = load_entry_point("api")
    with ThreadPoolExecutor(8) as threads:
        answers = list(threads.map(lambda _: handler(load_event("http_api_iam"), None), range(8)))
    ids = {read_answer(answer).json["id"] for answer in answers}
    assert ids == set(world.store.jobs())
    assert len(ids) == 8
    assert len(wired) == 1
    assert world.telemetry.flushes == 8


def test_what_the_environment_lacks_is_named(
    wired: list[Settings], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("HOURHAND_JOBS_TABLE")
    handler = load_entry_point("api")
    with pytest.raises(InvalidInput, match="HOURHAND_JOBS_TABLE"):
        handler(load_event("http_api_iam"), None)


@pytest.mark.parametrize("begun", ["on-demand", "provisioned-concurrency", "snap-start"])
def test_in_lambda_what_the_environment_lacks_fails_the_init_phase_by_name(
    wired: list[Settings], monkeypatch: pytest.MonkeyPatch, begun: str
) -> None:
    monkeypatch.delenv("HOURHAND_JOBS_TABLE")
    monkeypatch.setenv(INITIALIZATION_TYPE, begun)
    with pytest.raises(InvalidInput, match="HOURHAND_JOBS_TABLE must be set"):
        load_entry_point("api")


def test_in_lambda_the_api_is_wired_before_its_first_call(
    wired: list[Settings], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(INITIALIZATION_TYPE, "on-demand")
    handler = load_entry_point("api")
    assert len(wired) == 1
    handler(load_event("http_api_iam"), None)
    assert len(wired) == 1
