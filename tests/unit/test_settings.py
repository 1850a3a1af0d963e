"""The environment is read once, and everything that is wrong with it is told at once."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import timedelta

import pytest

from hourhand.domain.errors import InvalidInput
from hourhand.domain.jobs.job import Priority
from hourhand.domain.ticks.timings import SQS_MAX_DELAY, Timings
from hourhand.settings import (
    API_NEEDS,
    MOST_LOOK_AHEAD_SECONDS,
    SCHEDULER_NEEDS,
    SELF,
    WORKER_NEEDS,
    DispatchMode,
    LeaderMode,
    MonitoringLevel,
    Settings,
    read_settings,
    settings_environment,
)

COMPLETE = Settings(
    jobs_table="jobs",
    control_table="control",
    idempotency_table="idempotency",
    schedules_table="schedules",
    bucket="bucket",
    queue_high="https://queues/high",
    queue_medium="https://queues/medium",
    queue_low="https://queues/low",
    dead_letter_queue="https://queues/dead",
    clock_queue="https://queues/clock",
    handlers="examples.quickstart",
    manifest="manifest.json",
)


def test_all_that_is_missing_is_named_in_one_error() -> None:
    with pytest.raises(InvalidInput) as caught:
        read_settings({"HOURHAND_JOBS_TABLE": "jobs"}, SCHEDULER_NEEDS)

    named = {error.field for error in caught.value.errors}
    assert "HOURHAND_CONTROL_TABLE" in named
    assert "HOURHAND_CLOCK_QUEUE_URL" in named
    assert "HOURHAND_JOBS_TABLE" not in named
    assert "HOURHAND_CONTROL_TABLE must be set" in str(caught.value)


def test_every_function_that_may_owe_a_dead_letter_is_told_its_queue() -> None:
    environment = settings_environment(COMPLETE)
    del environment["HOURHAND_DEAD_LETTER_QUEUE_URL"]
    for needs in (API_NEEDS, SCHEDULER_NEEDS, WORKER_NEEDS):
        with pytest.raises(InvalidInput, match="HOURHAND_DEAD_LETTER_QUEUE_URL must be set"):
            read_settings(environment, needs)


def test_a_child_process_reads_the_settings_that_its_parent_wrote() -> None:
    timings = replace(Timings(), tick=timedelta(seconds=10), look_ahead=timedelta(seconds=50))
    settings = replace(
        COMPLETE,
        installation="hourhand-prod",
        stage="prod",
        region="eu-west-1",
        account="123456789012",
        scheduler_function=SELF,
        timings=timings,
        leader=LeaderMode.STANDBY,
        dispatch=DispatchMode.BATCH,
        fan_out_entries=0,
        tracing=True,
        monitoring=MonitoringLevel.BASIC,
        jwt_scope_prefix="jobs:",
        jwt_tenant_claim="custom:org",
    )

    assert read_settings(settings_environment(settings), WORKER_NEEDS) == settings


def test_a_child_process_inherits_no_flag_that_its_parent_was_not_given() -> None:
    inherited = {
        "HOURHAND_INSTALLATION": "other",
        "HOURHAND_LOOK_AHEAD_SECONDS": "600",
        "HOURHAND_DELAY_ROUNDING": "up",
        "HOURHAND_FAN_OUT_ENTRIES": "3",
        "HOURHAND_LEADER": "standby",
        "HOURHAND_DISPATCH": "batch",
        "HOURHAND_MONITORING": "none",
        "HOURHAND_TRACING": "1",
        "HOURHAND_JWT_SCOPE_PREFIX": "jobs:",
        "HOURHAND_JWT_TENANT_CLAIM": "org",
    }
    environment = inherited | settings_environment(COMPLETE)

    assert read_settings(environment, WORKER_NEEDS) == COMPLETE


def test_default_timings_need_no_variable() -> None:
    environment = settings_environment(COMPLETE)

    assert "HOURHAND_TIMINGS" not in environment
    assert read_settings(environment, WORKER_NEEDS).timings == Timings()


@pytest.mark.parametrize(
    "text",
    ["{", "[]", '"tick"', json.dumps({"tock": 1}), json.dumps({"tick": "soon"})],
)
def test_timings_that_make_no_sense_are_refused_by_name(text: str) -> None:
    environment = settings_environment(COMPLETE) | {"HOURHAND_TIMINGS": text}

    with pytest.raises(InvalidInput, match="HOURHAND_TIMINGS must be a JSON object"):
        read_settings(environment, WORKER_NEEDS)


# --- flags ---------------------------------------------------------------------------------------


def read_flag(variable: str, text: str) -> Settings:
    return read_settings(settings_environment(COMPLETE) | {variable: text}, WORKER_NEEDS)


@pytest.mark.parametrize(
    ("variable", "wrong", "allowed"),
    [
        ("HOURHAND_FAN_OUT_ENTRIES", ["-3", "many", "1.5", "²", "1000000001"], "from 0 to 10000"),
        ("HOURHAND_LOOK_AHEAD_SECONDS", ["119", "841", "soon", "300.5"], "from 120 to 840"),
        ("HOURHAND_DELAY_ROUNDING", ["0.5", "Down"], "down or nearest or up"),
        ("HOURHAND_LEADER", ["yes", "Standby", "0"], "elected or standby"),
        ("HOURHAND_DISPATCH", ["1", "cheap"], "single or batch or economy"),
        ("HOURHAND_MONITORING", ["some", "0"], "full or basic or none"),
        ("HOURHAND_TRACING", ["yes", "true"], "0 or 1"),
        ("HOURHAND_INSTALLATION", ["9lives", "a b", "ümlaut", "a" * 41], "a letter, then"),
        ("HOURHAND_JWT_SCOPE_PREFIX", ["a b", 'a"', "a\\b", "é", "x" * 101], "visible ASCII"),
        ("HOURHAND_JWT_TENANT_CLAIM", ["x" * 101], "at most 100 characters"),
    ],
)
def test_a_flag_that_makes_no_sense_is_refused_by_name_with_what_is_allowed(
    variable: str, wrong: list[str], allowed: str
) -> None:
    for text in wrong:
        with pytest.raises(InvalidInput, match=f"{variable} must be .*{allowed}"):
            read_flag(variable, text)


@pytest.mark.parametrize(
    "variable",
    [
        "HOURHAND_INSTALLATION",
        "HOURHAND_TIMINGS",
        "HOURHAND_LOOK_AHEAD_SECONDS",
        "HOURHAND_DELAY_ROUNDING",
        "HOURHAND_FAN_OUT_ENTRIES",
        "HOURHAND_LEADER",
        "HOURHAND_DISPATCH",
        "HOURHAND_MONITORING",
        "HOURHAND_TRACING",
        "HOURHAND_JWT_SCOPE_PREFIX",
        "HOURHAND_JWT_TENANT_CLAIM",
    ],
)
def test_a_flag_that_is_empty_is_as_one_that_is_not_there(variable: str) -> None:
    assert read_flag(variable, "") == COMPLETE


def test_the_flag_of_the_look_ahead_goes_before_the_timings() -> None:
    environment = settings_environment(COMPLETE) | {
        "HOURHAND_TIMINGS": json.dumps({"tick": 30, "look_ahead": 200}),
        "HOURHAND_LOOK_AHEAD_SECONDS": "600",
    }

    timings = read_settings(environment, WORKER_NEEDS).timings

    assert timings == replace(
        Timings(), tick=timedelta(seconds=30), look_ahead=timedelta(minutes=10)
    )


def test_the_longest_look_ahead_is_one_that_sqs_can_hold_even_when_the_clock_is_off() -> None:
    longest = timedelta(seconds=MOST_LOOK_AHEAD_SECONDS)

    assert longest + Timings().skew_refuses + Timings().clock_margin <= SQS_MAX_DELAY


def test_no_fan_out_is_a_choice() -> None:
    assert read_flag("HOURHAND_FAN_OUT_ENTRIES", "0").fan_out_entries == 0


def test_each_priority_has_its_queue() -> None:
    assert COMPLETE.queues == {
        Priority.HIGH: "https://queues/high",
        Priority.MEDIUM: "https://queues/medium",
        Priority.LOW: "https://queues/low",
    }


def test_a_rounding_without_a_name_reaches_a_child_process_too() -> None:
    timings = replace(Timings(), delay_rounding=timedelta(milliseconds=250))
    settings = replace(COMPLETE, timings=timings)

    assert read_settings(settings_environment(settings), WORKER_NEEDS) == settings


@pytest.mark.parametrize(("level", "writes"), [("full", True), ("basic", False), ("none", False)])
def test_only_full_monitoring_writes_metrics(level: str, writes: bool) -> None:
    assert read_flag("HOURHAND_MONITORING", level).writes_metrics is writes
