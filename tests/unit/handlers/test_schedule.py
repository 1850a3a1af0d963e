"""The schedule that `@job` declares."""

from __future__ import annotations

from typing import Any

import pytest

from hourhand.handlers import InvalidHandler, Registry, describe, job
from hourhand.handlers import _registry as registry_module
from hourhand.ports.handler_directory import DeclaredSchedule


def declare(registry: Registry, name: str = "nightly", **arguments: Any) -> None:
    job(name, registry=registry, **arguments)(lambda ctx: None)


@pytest.fixture
def registry() -> Registry:
    return Registry()


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ({}, None),
        ({"schedule": "@daily"}, DeclaredSchedule(expression="@daily")),
        (
            {"schedule": "30 2 * * *", "timezone": "Europe/Berlin"},
            DeclaredSchedule(expression="30 2 * * *", timezone="Europe/Berlin"),
        ),
        (
            {"schedule": ["rate(5 minutes)", "@daily"]},
            DeclaredSchedule(expression=("rate(5 minutes)", "@daily")),
        ),
    ],
    ids=["none", "an expression", "with a zone", "several"],
)
def test_a_declaration_is_part_of_what_describes_the_handler(
    registry: Registry, arguments: dict[str, Any], expected: DeclaredSchedule | None
) -> None:
    declare(registry, **arguments)
    [info] = describe(registry)
    assert info.schedule == expected


@pytest.mark.parametrize(
    ("name", "arguments", "problem"),
    [
        ("nightly", {"timezone": "Europe/Berlin"}, "timezone needs a schedule"),
        ("nightly", {"schedule": 5}, "schedule must be an expression"),
        ("nightly", {"schedule": []}, "schedule must be an expression"),
        ("nightly", {"schedule": ["@daily", 5]}, "schedule must be an expression"),
        ("nightly", {"schedule": "@daily", "timezone": 1}, "timezone must be a name"),
        ("a.nightly", {"schedule": "@daily"}, "must not have a dot"),
    ],
)
def test_a_wrong_argument_is_refused_where_it_is_written(
    registry: Registry, name: str, arguments: dict[str, Any], problem: str
) -> None:
    with pytest.raises(InvalidHandler, match=problem):
        declare(registry, name, **arguments)
    assert len(registry) == 0


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        ({"schedule": "61 * * * *"}, "61"),
        ({"schedule": ["@daily", "every day"]}, "every day"),
        ({"schedule": ""}, "expression"),
        ({"schedule": "@daily", "timezone": "Europe/Berln"}, "Did you mean Europe/Berlin"),
        ({"schedule": "0 0 31 2 *"}, ""),
        ({"schedule": ["@daily"] * 21}, "1 to 20 expressions"),
    ],
)
def test_a_rule_that_cannot_run_is_refused_at_packing(
    registry: Registry, arguments: dict[str, Any], problem: str
) -> None:
    declare(registry, **arguments)
    with pytest.raises(InvalidHandler, match="The schedule of the handler nightly") as caught:
        describe(registry)
    assert problem in caught.value.detail


def optional(ctx: Any, payload: dict[str, int] | None) -> None: ...


def required(ctx: Any, payload: dict[str, int]) -> None: ...


def untyped(ctx: Any, payload: Any) -> None: ...


@pytest.mark.parametrize("function", [optional, untyped])
def test_a_handler_with_a_schedule_takes_a_null_payload(registry: Registry, function: Any) -> None:
    job("nightly", schedule="@daily", registry=registry)(function)
    assert len(describe(registry)) == 1


def test_a_handler_that_needs_a_payload_can_declare_no_schedule(registry: Registry) -> None:
    job("nightly", schedule="@daily", registry=registry)(required)
    with pytest.raises(InvalidHandler, match="nightly creates jobs with a null payload"):
        describe(registry)


def test_more_declarations_than_the_scheduler_keeps_are_refused_at_packing(
    registry: Registry, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(registry_module, "MAX_DECLARED_SCHEDULES", 2)
    for number in range(3):
        declare(registry, f"h{number}", schedule="@daily")
    with pytest.raises(InvalidHandler, match="3 handlers declare a schedule; at most 2 may"):
        describe(registry)
