"""Numbers, durations and times of a wrong kind: refused by name, before anything is sent."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest

from hourhand.client import Calendars, Client, Invalid, Schedules
from tests.unit.client.callers import Caller, Script, job_answer

Calling = Callable[..., Caller]
NEW_YEAR = datetime(2027, 1, 1, tzinfo=UTC)
KINDS = frozenset({"int", "float", "datetime", "timedelta"})
REQUIRED: dict[str, Any] = {
    "job_id": "j1",
    "handler": "greet",
    "submissions": [],
    "schedule_id": "a",
    "start": NEW_YEAR,
    "end": NEW_YEAR,
    "name": "c",
    "kind": "tenant",
    "exclude": [],
}


def numbers_and_times() -> Iterator[tuple[str, str]]:
    """Yield each method with each of its arguments that is a number, a duration or a time."""
    for prefix, kind in (("", Client), ("schedules.", Schedules), ("calendars.", Calendars)):
        for name, method in inspect.getmembers(kind, inspect.isfunction):
            if name.startswith("_"):
                continue
            for argument in inspect.signature(method).parameters.values():
                if KINDS & {one.strip() for one in str(argument.annotation).split("|")}:
                    yield prefix + name, argument.name


def call(caller: Caller, name: str, **wrong: Any) -> None:
    """Call the method of that name with all that it requires, and with ``wrong``."""
    method = caller.client
    for part in name.split("."):
        method = getattr(method, part)
    given = [
        wrong.pop(one.name) if one.name in wrong else REQUIRED[one.name]
        for one in inspect.signature(method).parameters.values()
        if one.default is inspect.Parameter.empty
    ]
    caller(name, *given, **wrong)


def test_the_arguments_are_found() -> None:
    found = set(numbers_and_times())

    assert len(found) >= 40
    assert found >= {
        ("submit", "delay"),
        ("wait", "timeout_seconds"),
        ("list", "created_after"),
        ("submit_each", "parallel"),
        ("schedules.backfill", "start"),
        ("schedules.preview", "count"),
        ("calendars.list", "page_size"),
    }


@pytest.mark.parametrize(("name", "argument"), list(numbers_and_times()))
def test_what_is_no_number_duration_or_time_is_refused_by_its_argument(
    calling: Calling, name: str, argument: str
) -> None:
    caller = calling(Script(job_answer()))

    with pytest.raises(Invalid, match=rf"^{argument} must be ") as raised:
        call(caller, name, **{argument: object()})
    assert [one.field for one in raised.value.errors] == [argument]
    assert caller.requests == []


@pytest.mark.parametrize(
    ("name", "wrong", "said"),
    [
        ("wait", {"timeout_seconds": "x"}, "a number of seconds, not 'x'."),
        ("wait", {"timeout_seconds": True}, "a number of seconds, not True."),
        ("wait", {"timeout_seconds": timedelta(1)}, "seconds, not datetime.timedelta(days=1)."),
        ("wait", {"timeout_seconds": Decimal(1)}, "a number of seconds, not Decimal('1')."),
        ("wait", {"timeout_seconds": float("nan")}, "a number of seconds, not nan."),
        ("wait", {"timeout_seconds": 10**400}, "a number of seconds, not 1000"),
        ("wait", {"poll_seconds": 0}, "a number of seconds above 0, not 0."),
        ("wait", {"poll_seconds": -1.5}, "a number of seconds above 0, not -1.5."),
        ("wait", {"poll_seconds": "2"}, "a number of seconds above 0, not '2'."),
        ("wait", {"poll_seconds": None}, "a number of seconds above 0, not None."),
        ("submit", {"delay": "5m"}, "a number of seconds or a timedelta, not str."),
        ("reschedule", {"delay": "5m"}, "a number of seconds or a timedelta, not str."),
        ("submit", {"run_at": 1}, "an aware datetime, not int."),
        ("reschedule", {"expires_at": date(2027, 1, 1)}, "an aware datetime, not date."),
        ("list", {"created_after": timedelta(1)}, "an aware datetime, not timedelta."),
        ("cancel_many", {"created_before": 1}, "an aware datetime, not int."),
        (
            "cancel_many",
            {"expected_count": -1},
            "a whole number from 0 to 1,000,000,000,000, not -1.",
        ),
        ("discard_many", {"expected_count": True}, "a whole number from 0 to"),
        ("redrive_many", {"created_after": date(2027, 1, 1)}, "an aware datetime, not date."),
        ("list", {"limit": "x" * 1000}, "a whole number from 1 to 1,000,000,000,000, not 'xxx"),
        ("submit_many", {"parallel": 1.5}, "a whole number from 1 to 64, not 1.5."),
        ("schedules.backfill", {"start": None}, "an aware datetime, not NoneType."),
        ("schedules.backfill", {"end": NEW_YEAR.replace(tzinfo=None)}, "an aware datetime: give"),
    ],
)
def test_the_error_says_what_is_allowed_and_shows_a_glance_of_what_was_given(
    calling: Calling, name: str, wrong: dict[str, Any], said: str
) -> None:
    caller = calling(Script(job_answer()))
    [argument] = wrong

    with pytest.raises(Invalid) as raised:
        call(caller, name, **wrong)
    assert str(raised.value).startswith(f"{argument} must be ")
    assert said in str(raised.value)
    assert len(str(raised.value)) < 150
    assert caller.requests == []


@pytest.mark.parametrize(
    ("name", "wrong"),
    [
        ("get", {"job_id": "half \ud800"}),
        ("list", {"tag": "half:\ud800"}),
        ("cancel_many", {"tenant": "\ud800"}),
        ("list", {"created_after": "\ud800"}),
    ],
)
def test_half_a_character_is_refused_where_an_address_is_made_of_it(
    calling: Calling, name: str, wrong: dict[str, Any]
) -> None:
    caller = calling(Script(job_answer()))

    with pytest.raises(Invalid, match="must be valid Unicode"):
        call(caller, name, **wrong)
    assert caller.requests == []


def test_a_time_may_be_the_text_that_the_api_takes(calling: Calling) -> None:
    caller = calling(Script(job_answer()))

    caller("submit", "greet", run_at="2027-01-01T00:00:00Z")

    assert b'"run_at":"2027-01-01T00:00:00Z"' in caller.requests[0].content


@pytest.mark.parametrize("timeout_seconds", [0, -1, 0.0])
def test_no_time_to_wait_is_still_a_look(calling: Calling, timeout_seconds: float) -> None:
    caller = calling(Script(job_answer(status="SUCCEEDED")))

    assert caller("wait", "j1", timeout_seconds).status == "SUCCEEDED"
