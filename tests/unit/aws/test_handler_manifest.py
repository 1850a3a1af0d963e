from __future__ import annotations

import json
from pathlib import Path

import pytest

from hourhand.aws.handler_manifest import ManifestHandlerDirectory, write_manifest
from hourhand.domain.errors import InvalidInput
from hourhand.domain.jobs.job import OnLost, Priority
from hourhand.domain.jobs.policies import HandlerPolicies
from hourhand.domain.jobs.retry import Backoff, Jitter, RetryPolicy
from hourhand.domain.limits.declarations import Concurrency, Rate
from hourhand.ports.handler_directory import DeclaredSchedule, HandlerInfo

PLAIN = HandlerInfo(name="greet")
FULL = HandlerInfo(
    name="bill",
    description="Sends the bill.",
    policies=HandlerPolicies(
        timeout_seconds=60,
        priority=Priority.HIGH,
        retry=RetryPolicy(
            max_attempts=3,
            backoff=Backoff.SIDEKIQ,
            base_seconds=0.5,
            max_delay_seconds=10.0,
            jitter=Jitter.NONE,
        ),
        on_lost=OnLost.DEAD,
        retention_seconds=0,
    ),
    payload_schema={"type": "integer", "default": 3},
    payload_examples=(3, None),
    payload_check={"type": "int", "gt": 0},
    schedule=DeclaredSchedule(expression=("30 2 * * *", "@daily"), timezone="Europe/Berlin"),
    limits=(
        Concurrency(2, key="payload.account", holds="job", max_waiting=5),
        Rate(100, per=60.0, burst=20, key="tenant", cost="payload.tokens"),
        Rate(5, per=1, exact=True, name="stripe"),
    ),
)


def test_a_manifest_is_read_as_it_was_written(tmp_path: Path) -> None:
    path = tmp_path / "handlers.json"
    write_manifest(path, [PLAIN, FULL])
    directory = ManifestHandlerDirectory(str(path))
    assert directory.all() == (FULL, PLAIN)
    assert directory.find("bill") == FULL
    assert directory.find("nonsense") is None


def test_advice_about_missing_handlers_is_kept(tmp_path: Path) -> None:
    path = tmp_path / "handlers.json"
    write_manifest(path, [PLAIN], advice="Import it.")
    assert ManifestHandlerDirectory(path).advice == "Import it."
    write_manifest(path, [PLAIN])
    assert ManifestHandlerDirectory(path).advice == ""


def test_a_handler_without_policies_is_its_name_alone(tmp_path: Path) -> None:
    path = tmp_path / "handlers.json"
    write_manifest(path, [PLAIN])
    assert json.loads(path.read_text()) == {"handlers": [{"name": "greet"}]}


def test_a_schedule_is_written_as_the_api_takes_it(tmp_path: Path) -> None:
    path = tmp_path / "handlers.json"
    declared = DeclaredSchedule(expression="30 2 * * *")
    write_manifest(path, [HandlerInfo(name="greet", schedule=declared), FULL])
    written = [entry["schedule"] for entry in json.loads(path.read_text())["handlers"]]
    assert written == [
        {"expression": ["30 2 * * *", "@daily"], "timezone": "Europe/Berlin"},
        {"expression": "30 2 * * *", "timezone": "UTC"},
    ]


def test_a_limit_is_written_with_what_differs_from_the_default(tmp_path: Path) -> None:
    path = tmp_path / "handlers.json"
    write_manifest(path, [FULL])
    [written] = [entry["limits"] for entry in json.loads(path.read_text())["handlers"]]
    assert written == [
        {
            "kind": "concurrency",
            "max": 2,
            "key": "payload.account",
            "holds": "job",
            "max_waiting": 5,
        },
        {
            "kind": "rate",
            "count": 100,
            "per": 60.0,
            "burst": 20,
            "key": "tenant",
            "cost": "payload.tokens",
        },
        {"kind": "rate", "count": 5, "per": 1, "exact": True, "name": "stripe"},
    ]


def test_no_handlers_are_a_manifest_too(tmp_path: Path) -> None:
    path = tmp_path / "handlers.json"
    write_manifest(path, [])
    assert ManifestHandlerDirectory(path).all() == ()


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        '{"handlers": [{"name": "a", "limits": [{"kind": "other"}]}]}',
        '{"handlers": [{"name": "a", "limits": [{"kind": "concurrency", "max": 0}]}]}',
        "{}",
        '{"handlers": 3}',
        '{"handlers": ["greet"]}',
        '{"handlers": [{"title": "greet"}]}',
        '{"handlers": [{"description": "no name"}]}',
        '{"handlers": [{"name": "greet", "priority": "urgent"}]}',
        '{"handlers": [{"name": "greet", "retry": {"backoff": "never"}}]}',
        '{"handlers": [{"name": "greet", "retry": {"attempts": 1}}]}',
        '{"handlers": [{"name": "greet", "schedule": {"timezone": "UTC"}}]}',
        '{"handlers": [{"name": "greet", "schedule": {"expression": "@daily", "at": 1}}]}',
        '{"handlers": [{"name": "greet", "schedule": "@daily"}]}',
    ],
)
def test_a_file_that_is_no_manifest_is_named(tmp_path: Path, text: str) -> None:
    path = tmp_path / "handlers.json"
    path.write_text(text)
    with pytest.raises(InvalidInput, match="is not a manifest of handlers") as raised:
        ManifestHandlerDirectory(path)
    [problem] = raised.value.errors
    assert problem.field == "HOURHAND_MANIFEST"
    assert str(path) in problem.message


def test_a_manifest_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="cannot be read: No such file"):
        ManifestHandlerDirectory(tmp_path / "handlers.json")
