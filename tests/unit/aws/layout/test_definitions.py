from __future__ import annotations

import json
from dataclasses import MISSING, fields
from datetime import date, timedelta

import pytest

from hourhand.aws.layout.schedules import definition_from_json, definition_to_json
from hourhand.domain.groups.overlap import OverlapPolicy
from hourhand.domain.jobs.job import OnLost, Priority
from hourhand.domain.jobs.retry import Backoff, Jitter, RetryChanges
from hourhand.domain.schedules.recurrence import (
    DstFold,
    DstGap,
    ExcludedDate,
    ExcludedDates,
    ExcludedExpression,
    ExcludedTimes,
    Exclusion,
)
from hourhand.domain.schedules.schedule import (
    CalendarName,
    Keep,
    Misfire,
    MisfirePolicy,
    ScheduleDefinition,
)
from hourhand.json_dataclasses import Misfit, from_record, to_record
from hourhand.memory import START

Exclusions = tuple[Exclusion, ...]

PLAIN = ScheduleDefinition(expressions=("0 3 * * *",), handler="greet")
FULL = ScheduleDefinition(
    expressions=("0 3 * * *", "rate(7 minutes)"),
    handler="reports.nightly",
    is_union=True,
    timezone="Europe/Berlin",
    anchor=START,
    dst_gap=DstGap.SHIFT,
    dst_fold=DstFold.BOTH,
    exclude=(
        ExcludedDate(date(2026, 12, 25)),
        ExcludedDates(date(2026, 7, 1), date(2026, 8, 31)),
        ExcludedTimes(START, START + timedelta(hours=3)),
        ExcludedExpression("* * * * SAT"),
        CalendarName("holidays"),
    ),
    payload_text='{"to":"Zoë \\ud800"}',
    priority=Priority.HIGH,
    timeout_seconds=60,
    retention_seconds=0,
    on_lost=OnLost.DEAD,
    retry=RetryChanges(
        max_attempts=3,
        backoff=Backoff.LINEAR,
        base_seconds=0.5,
        max_delay_seconds=60.0,
        jitter=Jitter.NONE,
    ),
    tenant="acme",
    tags={"team": "sales", "": ""},
    start_at=START + timedelta(milliseconds=1),
    end_at=START + timedelta(days=365),
    jitter_seconds=12.5,
    misfire=Misfire(policy=MisfirePolicy.ALL, window_seconds=7),
    overlap=OverlapPolicy.CANCEL_OTHER,
    max_running=4,
    buffer_limit=9,
    max_occurrences=12,
    pause_on_failure=True,
    keep=Keep(succeeded=0, failed=10_000),
    expires_after_seconds=600,
    is_anchor_given=True,
)


def test_the_full_sample_says_something_else_than_the_default_in_every_field() -> None:
    for field in fields(ScheduleDefinition):
        default = field.default_factory() if field.default_factory is not MISSING else field.default
        assert getattr(FULL, field.name) != default, field.name


@pytest.mark.parametrize("definition", [PLAIN, FULL], ids=["plain", "full"])
def test_a_definition_is_read_as_it_was_written(definition: ScheduleDefinition) -> None:
    record = definition_to_json(definition)
    assert definition_from_json(record, definition.payload_text) == definition
    record.encode()


def test_policies_are_read_as_such_and_not_as_plain_texts() -> None:
    read = definition_from_json(definition_to_json(FULL), FULL.payload_text)
    assert read.retry is not None
    pairs = [
        (read.dst_gap, FULL.dst_gap),
        (read.dst_fold, FULL.dst_fold),
        (read.priority, FULL.priority),
        (read.on_lost, FULL.on_lost),
        (read.overlap, FULL.overlap),
        (read.misfire.policy, FULL.misfire.policy),
        (read.retry.backoff, Backoff.LINEAR),
        (read.retry.jitter, Jitter.NONE),
    ]
    assert all(found is meant for found, meant in pairs)


def test_a_default_is_stored_so_that_it_may_change_in_the_model() -> None:
    stored = json.loads(definition_to_json(PLAIN))
    names = [field.name for field in fields(ScheduleDefinition)]
    absent = {name for name in names if getattr(PLAIN, name) is None}
    assert absent & set(stored) == set()
    assert len(stored) + len(absent) == len(names) - 1, "but the payload"


def test_the_names_of_stored_fields_stay() -> None:
    names = "buffer_limit dst_fold dst_gap exclude expressions handler is_anchor_given is_union"
    names += " jitter_seconds keep misfire overlap pause_on_failure tags timezone"
    assert " ".join(sorted(json.loads(definition_to_json(PLAIN)))) == names


def test_a_retry_policy_that_states_nothing_is_kept_apart_from_none() -> None:
    stated = ScheduleDefinition(expressions=("@daily",), handler="greet", retry=RetryChanges())
    assert definition_from_json(definition_to_json(stated), "null") == stated


def test_the_payload_is_not_in_the_json() -> None:
    assert "Zo" not in definition_to_json(FULL)


@pytest.mark.parametrize(
    ("exclusion", "record"),
    [
        (ExcludedDate(date(2026, 12, 25)), {"ExcludedDate": ["2026-12-25"]}),
        (
            ExcludedDates(date(2026, 7, 1), date(2026, 8, 31)),
            {"ExcludedDates": ["2026-07-01", "2026-08-31"]},
        ),
        (
            ExcludedTimes(START, START + timedelta(milliseconds=1)),
            {"ExcludedTimes": [1767603600000, 1767603600001]},
        ),
        (ExcludedExpression("@daily"), {"ExcludedExpression": ["@daily"]}),
    ],
)
def test_each_kind_of_exclusion_has_a_key_of_its_own(
    exclusion: Exclusion, record: dict[str, object]
) -> None:
    assert to_record(Exclusions, (exclusion,)) == [record]
    assert from_record(Exclusions, [record]) == (exclusion,)


@pytest.mark.parametrize(
    "record", [{"Weather": ["rain"]}, {"CalendarName": ["holidays"]}, {}, []], ids=json.dumps
)
def test_an_exclusion_of_an_unknown_kind_is_not_passed_over(record: object) -> None:
    with pytest.raises(
        Misfit, match=r"record\[0\] should be an object with one member of Excluded"
    ):
        from_record(Exclusions, [record])
