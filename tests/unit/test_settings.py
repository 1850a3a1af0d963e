"""The environment is read once, and everything that is wrong with it is told at once."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import timedelta

import pytest

from hourhand.domain.errors import InvalidInput
from hourhand.domain.model import Priority
from hourhand.domain.timings import Timings
from hourhand.settings import (
    API_NEEDS,
    SCHEDULER_NEEDS,
    WORKER_NEEDS,
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
    settings = replace(COMPLETE, timings=timings, fan_out_entries=7, tracing=True, batch_marks=True)

    assert read_settings(settings_environment(settings), WORKER_NEEDS) == settings


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


@pytest.mark.parametrize("text", ["0", "-3", "many", "1.5"])
def test_a_fan_out_that_is_no_count_is_refused_by_name(text: str) -> None:
    environment = settings_environment(COMPLETE) | {"HOURHAND_FAN_OUT_ENTRIES": text}

    with pytest.raises(InvalidInput, match="HOURHAND_FAN_OUT_ENTRIES"):
        read_settings(environment, WORKER_NEEDS)


def test_a_tracing_switch_that_is_neither_on_nor_off_is_refused_by_name() -> None:
    environment = settings_environment(COMPLETE) | {"HOURHAND_TRACING": "yes"}

    with pytest.raises(InvalidInput, match="HOURHAND_TRACING must be 0 or 1"):
        read_settings(environment, WORKER_NEEDS)


def test_each_priority_has_its_queue() -> None:
    assert COMPLETE.queues == {
        Priority.HIGH: "https://queues/high",
        Priority.MEDIUM: "https://queues/medium",
        Priority.LOW: "https://queues/low",
    }
