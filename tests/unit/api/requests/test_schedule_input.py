"""Schedules as they are put: what is taken, what is refused, and which field each refusal names."""

from __future__ import annotations

from datetime import UTC, date, datetime
from typing import Any

import pytest

from hourhand.api.requests.schedules import ScheduleInput
from hourhand.aws.layout.schedules import definition_to_json
from hourhand.domain.errors import HourhandError, InvalidInput, NotSupportedYet, TooLarge
from hourhand.domain.groups.overlap import OverlapPolicy
from hourhand.domain.jobs.job import OnLost, Priority
from hourhand.domain.jobs.retry import Backoff, RetryChanges
from hourhand.domain.schedules.recurrence import DstFold, DstGap, ExcludedDate
from hourhand.domain.schedules.schedule import (
    CalendarName,
    Keep,
    Misfire,
    MisfirePolicy,
    ScheduleDefinition,
)

LEAST = {"expression": "0 9 * * MON-FRI", "handler": "greet"}
WHOLE = {
    "expression": ["cron(0 9 ? * MON-FRI *)", "rate(5 minutes)", "@daily"],
    "timezone": "Europe/Berlin",
    "handler": "greet",
    "payload": {"b": 1, "a": [None]},
    "anchor": "2026-01-01T00:00:00+01:00",
    "dst_gap": "shift",
    "dst_fold": "both",
    "exclude": ["2026-12-25", "holidays"],
    "start_at": "2026-01-01T00:00:00Z",
    "end_at": "2027-01-01T00:00:00Z",
    "max_occurrences": 1000,
    "expires_after_seconds": 600,
    "jitter_seconds": 1.5,
    "misfire": {"policy": "all", "window_seconds": 3600},
    "overlap": "buffer_all",
    "max_running": 3,
    "buffer_limit": 10,
    "pause_on_failure": True,
    "paused": True,
    "note": "until the migration is done",
    "managed_by": "files:ops",
    "keep": {"succeeded": 5, "failed": 0},
    "priority": "low",
    "timeout_seconds": 60,
    "retention_seconds": 0,
    "on_lost": "dead",
    "retry": {"max_attempts": 3, "backoff": "fixed", "base_seconds": 2},
    "tenant": "acme",
    "tags": {"team": "billing"},
    "pool": "default",
}
DEFAULT = ScheduleDefinition(expressions=("0 9 * * MON-FRI",), handler="greet")


def schedule(**fields: Any) -> ScheduleInput:
    return ScheduleInput.parse({**LEAST, **fields})


def refusal(**fields: Any) -> HourhandError:
    with pytest.raises(HourhandError) as caught:
        schedule(**fields)
    return caught.value


def messages(error: HourhandError) -> dict[str, str]:
    return {fault.field: fault.message for fault in error.errors}


def test_every_field_of_a_schedule_is_taken() -> None:
    parsed = ScheduleInput.parse(WHOLE)
    assert (parsed.paused, parsed.note) == (True, "until the migration is done")
    assert parsed.origin == "files:ops"
    assert parsed.definition == ScheduleDefinition(
        expressions=("cron(0 9 ? * MON-FRI *)", "rate(5 minutes)", "@daily"),
        is_union=True,
        handler="greet",
        timezone="Europe/Berlin",
        anchor=datetime(2025, 12, 31, 23, tzinfo=UTC),
        dst_gap=DstGap.SHIFT,
        dst_fold=DstFold.BOTH,
        exclude=(ExcludedDate(date(2026, 12, 25)), CalendarName("holidays")),
        payload_text='{"a":[null],"b":1}',
        priority=Priority.LOW,
        timeout_seconds=60,
        retention_seconds=0,
        on_lost=OnLost.DEAD,
        retry=RetryChanges(max_attempts=3, backoff=Backoff.FIXED, base_seconds=2.0),
        tenant="acme",
        tags={"team": "billing"},
        start_at=datetime(2026, 1, 1, tzinfo=UTC),
        end_at=datetime(2027, 1, 1, tzinfo=UTC),
        jitter_seconds=1.5,
        misfire=Misfire(policy=MisfirePolicy.ALL, window_seconds=3600),
        overlap=OverlapPolicy.BUFFER_ALL,
        max_running=3,
        buffer_limit=10,
        max_occurrences=1000,
        expires_after_seconds=600,
        pause_on_failure=True,
        keep=Keep(succeeded=5, failed=0),
    )


def test_every_field_of_the_api_is_among_those_tested() -> None:
    assert {*WHOLE, "concurrency_key"} == set(ScheduleInput.model_fields)


def test_expression_and_handler_are_enough() -> None:
    parsed = schedule()
    assert parsed.definition == DEFAULT
    assert (parsed.paused, parsed.note, parsed.origin) == (None, None, None)


def test_null_is_the_origin_of_people() -> None:
    assert schedule(managed_by=None).origin == ""


def test_the_defaults_are_those_of_the_api() -> None:
    definition = schedule().definition
    assert (definition.timezone, definition.payload_text) == ("UTC", "null")
    assert (definition.dst_gap, definition.dst_fold) == ("next_valid", "first")
    assert (definition.misfire.policy, definition.misfire.window_seconds) == ("latest", 86_400)
    assert (definition.overlap, definition.max_running) == ("skip", None)
    assert (definition.buffer_limit, definition.jitter_seconds) == (100, 0)
    assert (definition.keep.succeeded, definition.keep.failed) == (100, 100)


def test_a_misfire_policy_may_be_given_by_its_name_alone() -> None:
    assert schedule(misfire="skip").definition == schedule(misfire={"policy": "skip"}).definition


def test_null_means_not_given() -> None:
    nulls = dict.fromkeys([*ScheduleInput.model_fields], None) | LEAST
    assert ScheduleInput.parse(nulls).definition == DEFAULT
    parts = {
        "misfire": {"policy": None, "window_seconds": None},
        "keep": {"succeeded": None},
        "retry": {"jitter": None},
    }
    assert schedule(**parts).definition == DEFAULT


def test_a_list_of_one_expression_is_told_from_the_expression_alone() -> None:
    alone, listed = schedule(expression="@daily"), schedule(expression=["@daily"])
    assert alone.definition.expressions == listed.definition.expressions == ("@daily",)
    assert (alone.definition.is_union, listed.definition.is_union) == (False, True)


def test_a_rate_needs_no_anchor() -> None:
    assert schedule(expression="rate(90 seconds)").definition.anchor is None


@pytest.mark.parametrize(
    ("fields", "field", "message"),
    [
        ({"expression": None}, "expression", "must be a string, or an array of 1 to 20"),
        ({"expression": 5}, "expression", "must be a string, or an array of 1 to 20"),
        ({"expression": {}}, "expression", "must be a string, or an array of 1 to 20"),
        ({"expression": ""}, "expression", "at least 1"),
        ({"expression": "x" * 1001}, "expression", "at most 1000"),
        ({"expression": "59 25 * * *"}, "expression", "25"),
        ({"expression": "tomorrow"}, "expression", "In 'tomorrow': "),
        ({"expression": "0 9 * * FRI-MON"}, "expression", "In '0 9 * * FRI-MON': "),
        ({"expression": "CRON_TZ=Europe/Berln 0 9 * * *"}, "expression", "Europe/Berlin"),
        ({"expression": "\ud800"}, "expression", "surrogate"),
        ({"expression": []}, "expression", "at least 1"),
        ({"expression": ["@daily"] * 21}, "expression", "at most 20"),
        ({"expression": ["@daily", 5]}, "expression[1]", "must be a string"),
        ({"expression": ["@daily", None]}, "expression[1]", "must be a string"),
        ({"expression": ["@daily", ""]}, "expression[1]", "at least 1"),
        ({"expression": ["@daily", "rate(0 days)"]}, "expression[1]", "at least 1"),
        ({"timezone": "Europe/Berln"}, "timezone", "Did you mean Europe/Berlin"),
        ({"timezone": "../UTC"}, "timezone", "There is no time zone"),
        ({"timezone": ""}, "timezone", "at least 1"),
        ({"timezone": "x" * 65}, "timezone", "at most 64"),
        ({"timezone": 1}, "timezone", "must be a string"),
        ({"handler": None}, "handler", "must be a string"),
        ({"handler": "x" * 65}, "handler", "at most 64"),
        ({"anchor": "2026-01-01T00:00:00.5"}, "anchor", "must have an offset"),
        ({"anchor": "2026-01-01"}, "anchor", "an RFC 3339 time"),
        ({"anchor": "2026-01-01T00:00:00.5Z"}, "anchor", "whole second"),
        ({"anchor": "1969-12-31T23:59:59Z"}, "anchor", "year 1970 or later"),
        ({"start_at": "0001-01-01T00:00:00Z"}, "start_at", "year 1970 or later"),
        ({"end_at": "1970-01-01T00:00:00+01:00"}, "end_at", "year 1970 or later"),
        ({"dst_gap": "later"}, "dst_gap", "'next_valid', 'skip' or 'shift'"),
        ({"dst_fold": "last"}, "dst_fold", "'first', 'second' or 'both'"),
        ({"exclude": "2026-12-25"}, "exclude", "must be a JSON array"),
        ({"exclude": ["2026-12-25"] * 201}, "exclude", "at most 200"),
        ({"start_at": "2026-01-01T00:00:00"}, "start_at", "must have an offset"),
        ({"end_at": "2201-01-01T00:00:00Z"}, "end_at", "before the year 2201"),
        ({"max_occurrences": 0}, "max_occurrences", "at least 1"),
        ({"max_occurrences": 10**4000}, "max_occurrences", "at most"),
        ({"max_occurrences": 1.0}, "max_occurrences", "whole number"),
        ({"expires_after_seconds": 0}, "expires_after_seconds", "at least 1"),
        ({"expires_after_seconds": 31_622_401}, "expires_after_seconds", "at most 31,622,400"),
        ({"expires_after_seconds": 1.5}, "expires_after_seconds", "whole number"),
        ({"jitter_seconds": -1}, "jitter_seconds", "at least 0"),
        ({"jitter_seconds": 86_401}, "jitter_seconds", "at most 86,400"),
        ({"jitter_seconds": float("nan")}, "jitter_seconds", "finite"),
        ({"misfire": 5}, "misfire", "JSON object"),
        ({"misfire": "never"}, "misfire.policy", "'latest', 'all', 'earliest' or"),
        ({"misfire": {"policy": "none"}}, "misfire.policy", "'latest', 'all', 'earliest' or"),
        ({"misfire": {"window_seconds": -1}}, "misfire.window_seconds", "at least 0"),
        ({"misfire": {"window_seconds": 31_622_401}}, "misfire.window_seconds", "31,622,400"),
        ({"misfire": {"window": 5}}, "misfire.window", "Did you mean 'window_seconds'?"),
        (
            {"exclude": [{"from": "2026-12-24", "to": "2026-12-26", "form": 1}]},
            "exclude[0].form",
            "Did you mean 'from'? The fields are from, to",
        ),
        ({"overlap": "queue"}, "overlap", "'cancel_other'"),
        ({"max_running": 0}, "max_running", "at least 1"),
        ({"max_running": 101}, "max_running", "at most 100"),
        ({"buffer_limit": 0}, "buffer_limit", "at least 1"),
        ({"buffer_limit": 1001}, "buffer_limit", "at most 1,000"),
        ({"pause_on_failure": "yes"}, "pause_on_failure", "true or false"),
        ({"paused": 1}, "paused", "true or false"),
        ({"note": "n" * 1001}, "note", "at most 1000"),
        ({"note": "\ud800"}, "note", "surrogate"),
        ({"managed_by": "terraform"}, "managed_by", "must be code, or files: and a name"),
        ({"keep": {"succeeded": -1}}, "keep.succeeded", "at least 0"),
        ({"keep": {"failed": 10_001}}, "keep.failed", "at most 10,000"),
        ({"priority": "urgent"}, "priority", "'high', 'medium' or 'low'"),
        ({"timeout_seconds": 841}, "timeout_seconds", "at most 840"),
        ({"retention_seconds": -1}, "retention_seconds", "at least 0"),
        ({"on_lost": "ignore"}, "on_lost", "'retry' or 'dead'"),
        ({"retry": {"max_attempts": 0}}, "retry.max_attempts", "at least 1"),
        ({"tenant": ""}, "tenant", "at least 1"),
        ({"tags": {"a:b": "x"}}, "tags.a:b", "must match"),
        ({"tags": {"0": 1}}, "tags.0", "must be a string"),
        ({"payload": float("nan")}, "payload", "must be JSON"),
        (
            {"cron": "@daily"},
            "cron",
            "is not a known field. Did you mean 'expression'? The fields are expression, timezone",
        ),
        ({"jitter": 5}, "jitter", "Did you mean 'jitter_seconds'?"),
    ],
)
def test_a_wrong_field_is_named_with_what_is_allowed(
    fields: dict[str, Any], field: str, message: str
) -> None:
    error = refusal(**fields)
    assert isinstance(error, InvalidInput)
    assert list(messages(error)) == [field]
    assert message in messages(error)[field]


@pytest.mark.parametrize(
    "fields",
    [
        {"expression": ["@daily"] * 20},
        {"timezone": "America/Argentina/ComodRivadavia"},
        {"exclude": ["2026-12-25"] * 200},
        {"exclude": []},
        {"anchor": "1970-01-01T00:00:00Z"},
        {"max_occurrences": 1},
        {"expires_after_seconds": 1},
        {"expires_after_seconds": 31_622_400},
        {"jitter_seconds": 86_400},
        {"misfire": {"window_seconds": 0}},
        {"misfire": {"window_seconds": 31_622_400}},
        {"max_running": 100, "buffer_limit": 1000},
        {"note": "n" * 1000},
        {"keep": {"succeeded": 0, "failed": 10_000}},
    ],
)
def test_the_limits_themselves_are_allowed(fields: dict[str, Any]) -> None:
    assert schedule(**fields).definition.handler


def test_all_wrong_fields_are_named_at_once() -> None:
    shape = refusal(expression=[5], jitter_seconds=-1, misfire={"policy": "x"})
    assert set(messages(shape)) == {"expression[0]", "jitter_seconds", "misfire.policy"}
    rule = refusal(
        expression=["@daily", "0 25 * * *", "x y"],
        timezone="Mars",
        exclude=["2026-12-25", "* * * *"],
        start_at="2026-01-01T00:00:00Z",
        end_at="2026-01-01T00:00:00Z",
    )
    assert set(messages(rule)) == {
        "expression[1]",
        "expression[2]",
        "timezone",
        "exclude[1]",
        "end_at",
    }


def test_an_anchor_without_an_offset_is_a_local_time_of_the_zone() -> None:
    local = {"anchor": "2026-01-01T00:00:00", "timezone": "Europe/Berlin"}
    assert schedule(**local).definition.anchor == datetime(2025, 12, 31, 23, tzinfo=UTC)


def test_the_end_is_after_the_start() -> None:
    error = refusal(start_at="2026-01-02T00:00:00Z", end_at="2026-01-01T00:00:00Z")
    assert messages(error) == {"end_at": "must be after start_at"}


@pytest.mark.parametrize("name", ["run_at", "delay_seconds", "expires_at", "idempotency_key", "id"])
def test_what_only_a_job_has_is_refused_with_the_reason(name: str) -> None:
    for value in ("x", None):
        (message,) = messages(refusal(**{name: value})).values()
        assert message.startswith("is not a field of ")


def test_what_comes_later_is_refused_as_not_supported_yet() -> None:
    error = refusal(pool="gpu", concurrency_key="customer-42")
    assert isinstance(error, NotSupportedYet)
    assert set(messages(error)) == {"pool", "concurrency_key"}


@pytest.mark.parametrize("raw", [None, 5, "@daily", [], [WHOLE], True])
def test_only_an_object_is_a_schedule(raw: object) -> None:
    with pytest.raises(InvalidInput) as caught:
        ScheduleInput.parse(raw)
    assert messages(caught.value) == {"body": "must be a JSON object"}


def test_what_is_required_is_named() -> None:
    with pytest.raises(InvalidInput) as caught:
        ScheduleInput.parse({})
    assert messages(caught.value) == {"expression": "is required", "handler": "is required"}


def test_a_payload_of_exactly_the_limit_is_taken_and_one_byte_more_is_not() -> None:
    fits = "x" * 255_998
    assert len(schedule(payload=fits).definition.payload_text) == 256_000
    error = refusal(payload=fits + "x")
    assert isinstance(error, TooLarge)
    assert "256,001 bytes of JSON; at most 256,000" in messages(error)["payload"]


def test_the_largest_schedule_fits_an_item_of_dynamodb() -> None:
    longest = f"{'0,' * 490}0 0 * * *"
    largest = schedule(
        expression=[longest] * 20,
        exclude=[longest] * 20 + ["c" * 100] * 180,
        payload='"' * 127_999,
        tenant="\x00" * 128,
        tags={f"{n:02}" + "\x00" * 62: "\x00" * 256 for n in range(20)},
    ).definition
    kept = definition_to_json(largest), largest.payload_text
    size_bytes = sum(len(text.encode()) for text in kept)
    assert 340_000 < size_bytes < 400_000
    assert len(largest.payload_text) == 256_000


def test_equal_schedules_have_equal_definitions() -> None:
    reversed_ = ScheduleInput.parse(dict(reversed(WHOLE.items())))
    assert reversed_.definition == ScheduleInput.parse(WHOLE).definition
    assert schedule(retry={}).definition == schedule(misfire={}, keep={}).definition == DEFAULT


def test_what_is_said_of_long_expressions_is_short() -> None:
    long = ["rate(" + "9" * 900 + f"{number} minutes)" for number in range(10)]
    with pytest.raises(InvalidInput) as caught:
        ScheduleInput.parse({"handler": "greet", "expression": long})
    assert len(caught.value.errors) == 10
    assert all(len(error.message) <= 400 for error in caught.value.errors)
