"""What is asked of the API for schedules and calendars."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta
from typing import Any

import httpx
import pytest

from hourhand import Retry
from hourhand.client import Invalid
from tests.unit.client.callers import Caller, Script

Calling = Callable[..., Caller]
NEW_YEAR = datetime(2027, 1, 1, tzinfo=UTC)
EMPTY = httpx.Response(200, json={})


def sent(caller: Caller) -> Any:
    return json.loads(caller.requests[-1].content)


def ask(calling: Calling, name: str, *args: Any, **fields: Any) -> Caller:
    """Ask, and look at the request alone: the answer makes no sense."""
    caller = calling(Script(httpx.Response(418, json={})))
    with pytest.raises(Exception, match="answered 418"):
        caller(name, *args, **fields)
    return caller


def test_a_schedule_is_put_by_fields(calling: Calling) -> None:
    caller = ask(
        calling,
        "schedules.put",
        "nightly",
        expression=["0 3 * * *", "@daily"],
        handler="report",
        start_at=NEW_YEAR,
        jitter_seconds=timedelta(minutes=1),
        retry=Retry(),
        payload={"day": date(2026, 1, 1)},
        exclude=[date(2026, 12, 25), {"from": NEW_YEAR, "to": "x"}, "holidays"],
        note=None,
        misfire={"policy": "all"},
    )

    assert caller.requests[0].method == "PUT"
    assert caller.requests[0].url.path == "/v1/schedules/nightly"
    value = sent(caller)
    assert value.pop("retry")["max_attempts"] == 6
    assert value == {
        "expression": ["0 3 * * *", "@daily"],
        "handler": "report",
        "start_at": "2027-01-01T00:00:00.000Z",
        "jitter_seconds": 60,
        "payload": {"day": "2026-01-01"},
        "exclude": ["2026-12-25", {"from": "2027-01-01T00:00:00.000Z", "to": "x"}, "holidays"],
        "misfire": {"policy": "all"},
    }


@pytest.mark.parametrize("origin", ["files:billing", None])
def test_an_origin_is_sent_and_null_as_well(calling: Calling, origin: str | None) -> None:
    caller = ask(calling, "schedules.put", "a", {"expression": "@daily"}, managed_by=origin)

    assert sent(caller) == {"expression": "@daily", "managed_by": origin}


def test_a_dry_run_is_asked_for_in_the_query(calling: Calling) -> None:
    caller = ask(calling, "schedules.put", "a", expression="@daily", dry_run=True)

    assert caller.requests[0].url.raw_path == b"/v1/schedules/a?dry_run=true"
    assert sent(caller) == {"expression": "@daily"}


def test_a_schedule_is_put_by_a_mapping_and_by_fields_together(calling: Calling) -> None:
    caller = ask(calling, "schedules.put", "a", {"expression": "@daily"}, handler="report")

    assert sent(caller) == {"expression": "@daily", "handler": "report"}


@pytest.mark.parametrize(
    ("schedule", "said"),
    [
        ({"handler": "report"}, "handler must not be given twice"),
        ("@daily", "schedule must be a mapping of a schedule's fields, not str"),
        ({5: "x"}, "schedule must have names of fields as keys, not 5"),
        ({"start_at": datetime(2027, 1, 1)}, "start_at must be an aware datetime"),  # noqa: DTZ001 - that it is naive is the test
        ({"payload": {1}}, "payload must be JSON"),
        ({"exclude": [datetime(2027, 1, 1)]}, "exclude must be an aware datetime"),  # noqa: DTZ001 - as above
    ],
)
def test_what_cannot_be_sent_is_refused_before_it_is(
    calling: Calling, schedule: Any, said: str
) -> None:
    with pytest.raises(Invalid, match=said):
        calling(Script(EMPTY))("schedules.put", "a", schedule, handler="report")


@pytest.mark.parametrize("exclude", ["holidays", {"from": "a", "to": "b"}, 5])
def test_what_is_no_list_of_exclusions_is_left_to_the_api_to_refuse(
    calling: Calling, exclude: Any
) -> None:
    assert sent(ask(calling, "calendars.put", "c", exclude))["exclude"] == exclude


@pytest.mark.parametrize(
    ("name", "args", "method", "target", "body"),
    [
        ("schedules.get", ("a",), "GET", "/v1/schedules/a", None),
        ("schedules.list", (), "GET", "/v1/schedules?limit=50", None),
        ("schedules.delete", ("a",), "DELETE", "/v1/schedules/a", None),
        ("schedules.pause", ("a",), "POST", "/v1/schedules/a/pause", {}),
        ("schedules.resume", ("a",), "POST", "/v1/schedules/a/resume", {}),
        ("schedules.trigger", ("a",), "POST", "/v1/schedules/a/trigger", {}),
        ("schedules.occurrences", ("a",), "GET", "/v1/schedules/a/occurrences?limit=50", None),
        ("schedules.upcoming", ("a",), "GET", "/v1/schedules/a/occurrences?limit=1", None),
        ("calendars.get", ("c",), "GET", "/v1/calendars/c", None),
        ("calendars.list", (), "GET", "/v1/calendars?limit=50", None),
        ("calendars.delete", ("c",), "DELETE", "/v1/calendars/c", None),
        ("stats", (), "GET", "/v1/stats", None),
        ("handlers", (), "GET", "/v1/handlers", None),
        ("health", (), "GET", "/v1/health", None),
    ],
)
def test_each_operation_has_its_route(
    calling: Calling, name: str, args: Any, method: str, target: str, body: Any
) -> None:
    [request] = ask(calling, name, *args).requests

    assert (request.method, request.url.raw_path.decode()) == (method, target)
    assert (json.loads(request.content) if request.content else None) == body


def test_a_note_says_why(calling: Calling) -> None:
    assert sent(ask(calling, "schedules.pause", "a", note="moving")) == {"note": "moving"}


def test_a_backfill_is_asked_for_with_its_bounds_and_choices(calling: Calling) -> None:
    end = NEW_YEAR + timedelta(days=1)
    caller = ask(calling, "schedules.backfill", "a", NEW_YEAR, end, order="newest", max_active=None)

    assert sent(caller) == {
        "from": "2027-01-01T00:00:00.000Z",
        "to": "2027-01-02T00:00:00.000Z",
        "order": "newest",
    }


@pytest.mark.parametrize(("dry_run", "tries"), [(True, 2), (False, 1)])
def test_only_a_backfill_that_starts_nothing_is_asked_for_again(
    calling: Calling, dry_run: bool, tries: int
) -> None:
    caller = calling(Script(httpx.ReadTimeout("")), max_attempts=2)

    with pytest.raises(Exception, match="did not answer"):
        caller("schedules.backfill", "a", NEW_YEAR, NEW_YEAR, dry_run=dry_run)
    assert len(caller.requests) == tries


def test_a_preview_of_a_month_and_a_listing_with_runs_say_so(calling: Calling) -> None:
    caller = ask(calling, "schedules.preview", expression="@daily", month="2026-12")
    assert sent(caller)["month"] == "2026-12"
    listed = ask(calling, "schedules.list", recent=20)
    assert listed.requests[-1].url.params["recent"] == "20"
    assert "recent" not in ask(calling, "schedules.list").requests[-1].url.params


def test_a_preview_is_of_fields_or_of_a_mapping(calling: Calling) -> None:
    caller = ask(
        calling, "schedules.preview", {"timezone": "UTC"}, expression="@daily", after=NEW_YEAR
    )

    assert sent(caller) == {
        "count": 10,
        "after": "2027-01-01T00:00:00.000Z",
        "schedule": {"timezone": "UTC", "expression": "@daily"},
    }
