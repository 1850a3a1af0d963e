"""What is asked of the API for one job, for listings and for bulk operations."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from datetime import datetime, timedelta, timezone
from typing import Any

import httpx
import pytest

from hourhand import Retry
from hourhand.client import (
    KEEP,
    BulkReport,
    Conflict,
    Invalid,
    Job,
    NotFound,
    UnexpectedAnswer,
    WaitTimedOut,
)
from hourhand.client._operations._bulk import MAX_COUNTED
from tests.unit.client.callers import (
    Caller,
    PausingClock,
    Script,
    at,
    job_answer,
    job_value,
    problem,
)

Calling = Callable[..., Caller]
NOON = datetime(2026, 3, 1, 13, 0, tzinfo=timezone(timedelta(hours=1)))
LOST = httpx.ReadTimeout("")


def sent(caller: Caller) -> Any:
    return json.loads(caller.requests[-1].content)


def targets(caller: Caller) -> list[str]:
    return [request.url.raw_path.decode() for request in caller.requests]


def test_every_field_of_a_submission_is_sent_as_the_api_wants_it(calling: Calling) -> None:
    caller = calling(Script(job_answer(201)))

    caller(
        "submit",
        "greet",
        [1],
        run_at=NOON,
        priority="high",
        idempotency_key="k",
        timeout_seconds=60,
        expires_at=NOON + timedelta(days=1),
        retention_seconds=0,
        on_lost="dead",
        tenant="t",
        tags={"a": "b"},
        retry=Retry(max_attempts=2),
    )

    assert targets(caller) == ["/v1/jobs"]
    assert caller.requests[0].headers["content-type"] == "application/json"
    assert sent(caller) == {
        "handler": "greet",
        "payload": [1],
        "run_at": "2026-03-01T12:00:00.000Z",
        "priority": "high",
        "idempotency_key": "k",
        "timeout_seconds": 60,
        "expires_at": "2026-03-02T12:00:00.000Z",
        "retention_seconds": 0,
        "on_lost": "dead",
        "tenant": "t",
        "tags": {"a": "b"},
        "retry": {
            "max_attempts": 2,
            "backoff": "exponential",
            "base_seconds": 1.0,
            "max_delay_seconds": 3600.0,
            "jitter": "additive",
        },
    }


@pytest.mark.parametrize("delay", [90, 90.0, timedelta(seconds=90)])
def test_a_delay_is_seconds_or_a_timedelta(calling: Calling, delay: Any) -> None:
    caller = calling(Script(job_answer(201)))

    caller("submit", "greet", delay=delay, retry={"max_attempts": 1})

    assert sent(caller)["delay_seconds"] == 90
    assert sent(caller)["retry"] == {"max_attempts": 1}
    assert "payload" not in sent(caller)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"run_at": datetime(2026, 1, 1)}, "run_at must be an aware datetime: give it a tzinfo"),  # noqa: DTZ001 - that it is naive is the test
        ({"run_at": datetime.max.replace(tzinfo=timezone(timedelta(hours=-1)))}, "exists in UTC"),
        ({"expires_at": timedelta(1)}, "expires_at must be an aware datetime, not timedelta"),
        ({"delay": True}, "delay must be a number of seconds or a timedelta, not bool"),
        ({"delay": float("nan")}, "delay must be JSON"),
        ({"tags": {"a": {1}}}, "tags must be JSON: it contains an object of type set"),
    ],
)
def test_what_cannot_be_sent_is_refused_before_it_is(
    calling: Calling, options: Any, said: str
) -> None:
    caller = calling(Script(job_answer(201)))

    with pytest.raises(Invalid, match=said) as raised:
        caller("submit", "greet", **options)
    [wrong] = raised.value.errors
    assert wrong.field == next(iter(options))
    assert caller.requests == []


def test_an_unknown_option_is_an_error_of_the_caller(calling: Calling) -> None:
    with pytest.raises(TypeError, match="shape"):
        calling(Script(job_answer()))("submit", "greet", shape="round")


@pytest.mark.parametrize(
    ("name", "method", "target"),
    [
        ("get", "GET", "/v1/jobs/j1"),
        ("cancel", "POST", "/v1/jobs/j1/cancel"),
        ("redrive", "POST", "/v1/jobs/j1/redrive"),
        ("run_now", "POST", "/v1/jobs/j1/run-now"),
    ],
)
def test_each_operation_on_a_job_has_its_route(
    calling: Calling, name: str, method: str, target: str
) -> None:
    caller = calling(Script(job_answer()))

    assert isinstance(caller(name, "j1"), Job)
    assert caller.requests[0].method == method
    assert targets(caller) == [target]
    assert "content-type" not in caller.requests[0].headers


@pytest.mark.parametrize("job_id", ["", ".", "..", None, 5])
def test_an_id_that_would_address_something_else_is_refused(calling: Calling, job_id: Any) -> None:
    caller = calling(Script(job_answer()))

    with pytest.raises(Invalid, match="id must be a string"):
        caller("cancel", job_id)
    assert caller.requests == []


def test_whatever_an_id_holds_stays_one_part_of_the_path(calling: Calling) -> None:
    caller = calling(Script(job_answer()))

    caller("get", "a/../b?c#d e%2Fé")

    assert targets(caller) == ["/v1/jobs/a%2F..%2Fb%3Fc%23d%20e%252F%C3%A9"]


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"run_at": NOON}, {"run_at": "2026-03-01T12:00:00.000Z"}),
        ({"delay": 0}, {"delay_seconds": 0}),
        ({"payload": None}, {"payload": None}),
        ({"expires_at": None, "priority": "low"}, {"expires_at": None, "priority": "low"}),
        ({"payload": KEEP, "expires_at": KEEP}, {}),
    ],
)
def test_only_what_is_given_is_changed(calling: Calling, changes: Any, expected: Any) -> None:
    caller = calling(Script(job_answer()))

    caller("reschedule", "j1", **changes)

    assert caller.requests[0].method == "PATCH"
    assert sent(caller) == expected
    assert repr(KEEP) == "KEEP"


# --- waiting ---


def test_a_wait_ends_when_the_job_does(calling: Calling) -> None:
    running = job_answer(status="RUNNING")
    caller = calling(Script(running, running, running, job_answer(status="DEAD")))

    assert caller("wait", "j1").status == "DEAD"
    assert len(caller.requests) == 4


def test_a_job_is_looked_at_less_and_less_often(calling: Calling) -> None:
    running = [job_answer(status="RUNNING")] * 12
    caller = calling(Script(*running, job_answer(status="SUCCEEDED")))

    caller("wait", "j1", poll_seconds=1.5)

    pauses = caller.clock.pauses
    assert 0.1 <= pauses[0] <= 0.15
    assert 1.125 <= pauses[-1] <= 1.5
    assert len(set(pauses)) == len(pauses)


def test_a_job_that_is_due_in_a_week_is_not_asked_for_each_second(calling: Calling) -> None:
    clock = PausingClock()
    due_at = at(clock, 7 * 86_400)
    waiting = job_answer(status="PENDING", due_at=due_at)
    caller = calling(Script(waiting, waiting, job_answer(status="CANCELLED")), clock=clock)

    caller("wait", "j1")

    assert clock.pauses == [30, 30]


def test_a_job_is_looked_at_as_soon_as_it_is_due(calling: Calling) -> None:
    clock = PausingClock()
    waiting = job_answer(status="ENQUEUED", due_at=at(clock, 12))
    caller = calling(Script(waiting, waiting, job_answer(status="SUCCEEDED")), clock=clock)

    caller("wait", "j1")

    assert clock.pauses[0] == pytest.approx(12.1)
    assert clock.pauses[1] < 1


def test_a_wait_that_takes_too_long_tells_how_the_job_was_last_seen(calling: Calling) -> None:
    caller = calling(Script(job_answer(status="RUNNING", due_at=None)))

    with pytest.raises(WaitTimedOut, match="Job j1 is RUNNING after 5 s") as raised:
        caller("wait", "j1", timeout_seconds=5)
    assert raised.value.job.status == "RUNNING"
    assert raised.value.code == "wait_timed_out"
    assert sum(caller.clock.pauses) == pytest.approx(5)


def test_a_wait_of_no_time_looks_once(calling: Calling) -> None:
    caller = calling(Script(job_answer(status="RUNNING")))

    with pytest.raises(WaitTimedOut):
        caller("wait", "j1", 0)
    assert len(caller.requests) == 1


def test_a_wait_without_pauses_is_refused(calling: Calling) -> None:
    with pytest.raises(Invalid, match="poll_seconds must be a number of seconds above 0"):
        calling(Script(job_answer()))("wait", "j1", poll_seconds=0)


# --- listings ---


def page(name: str, entries: list[Any], cursor: Any) -> httpx.Response:
    return httpx.Response(200, json={name: entries, "next_cursor": cursor})


def test_a_listing_goes_on_from_page_to_page(calling: Calling) -> None:
    jobs = [job_value(id=f"j{number}") for number in range(3)]
    pages = [page("jobs", jobs[:2], "c+/="), page("jobs", [], "d"), page("jobs", jobs[2:], None)]
    caller = calling(Script(*pages))

    found = caller("list", status="DEAD", tag="customer:ä b", created_after=NOON, page_size=2)

    assert [job.id for job in found] == ["j0", "j1", "j2"]
    filters = (
        "/v1/jobs?status=DEAD&tag=customer%3A%C3%A4%20b"
        "&created_after=2026-03-01T12%3A00%3A00.000Z&limit=2"
    )
    assert targets(caller) == [filters, f"{filters}&cursor=c%2B%2F%3D", f"{filters}&cursor=d"]


def test_no_more_is_asked_for_than_is_wanted(calling: Calling) -> None:
    jobs = [job_value(id=f"j{number}") for number in range(9)]
    caller = calling(Script(page("jobs", jobs[:2], "c"), page("jobs", jobs[2:], "d")))

    assert len(caller("list", page_size=2, limit=3)) == 3
    assert targets(caller) == ["/v1/jobs?limit=2", "/v1/jobs?limit=1&cursor=c"]


def test_a_listing_is_read_as_it_is_iterated(calling: Calling) -> None:
    caller = calling(Script(page("jobs", [job_value()] * 2, "c")))

    jobs = caller.client.list()
    assert caller.requests == []
    caller.take(jobs, 2)
    assert len(caller.requests) == 1


def test_a_listing_that_was_interrupted_goes_on_where_it_was(calling: Calling) -> None:
    answers = iter(
        [page("jobs", [job_value(id="j1")], "c"), None, page("jobs", [job_value(id="j2")], None)]
    )

    def answer(request: httpx.Request) -> httpx.Response:
        told = next(answers)
        if told is None:
            raise interrupt
        return told

    caller = calling(answer)
    interrupt = KeyboardInterrupt() if caller.kind == "sync" else asyncio.CancelledError()
    jobs = caller.client.list()

    assert [job.id for job in caller.take(jobs, 1)] == ["j1"]
    with pytest.raises(type(interrupt)):
        caller.take(jobs, 1)
    assert [job.id for job in caller.collect(jobs)] == ["j2"]


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"page_size": 0}, "page_size must be a whole number from 1 to 200, not 0"),
        ({"page_size": 201}, "page_size"),
        ({"page_size": "50"}, "page_size"),
        ({"limit": 0}, "limit must be a whole number"),
        ({"limit": True}, "limit"),
        ({"created_after": datetime(2026, 1, 1)}, "created_after must be an aware"),  # noqa: DTZ001 - that it is naive is the test
    ],
)
def test_a_listing_that_cannot_be_asked_for_is_refused(
    calling: Calling, options: Any, said: str
) -> None:
    caller = calling(Script(page("jobs", [], None)))

    with pytest.raises(Invalid, match=said):
        caller("list", **options)


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (page("jobs", [], "same"), "same next_cursor twice"),
        (page("jobs", [], 5), "next_cursor in the API's answer is not a string"),
        (page("job", [], None), "has no array jobs"),
        (httpx.Response(200, json=[]), "has no array jobs"),
    ],
)
def test_a_listing_that_would_never_end_or_makes_no_sense_is_ended(
    calling: Calling, answer: httpx.Response, said: str
) -> None:
    with pytest.raises(UnexpectedAnswer, match=said):
        calling(Script(answer))("list")


# --- bulk operations ---


def part(matched: int, changed: int, cursor: Any = None, failed: Any = ()) -> httpx.Response:
    value = {"matched": matched, "changed": changed, "failed": failed, "next_cursor": cursor}
    value["count_is_bounded"] = cursor is not None and matched >= MAX_COUNTED
    return httpx.Response(200, json=value)


def test_a_report_names_the_schedules_of_all_calls_once(
    calling: Calling, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("hourhand.client._operations._bulk.MAX_SCHEDULES", 3)
    parts = [
        httpx.Response(200, json={**part(1, 1, cursor).json(), "schedules": schedules})
        for cursor, schedules in (("c1", ["a", "b"]), ("c2", ["b", "c", "d"]))
    ]
    caller = calling(Script(*parts, part(1, 1)))

    assert caller("redrive_many", all=True).schedules == ("a", "b", "c")


@pytest.mark.parametrize("verb", ["cancel", "redrive", "discard"])
def test_a_bulk_operation_goes_on_to_the_end_and_adds_up(calling: Calling, verb: str) -> None:
    error = {"type": "urn:hourhand:wrong_state", "title": "T", "status": 409, "detail": "No."}
    failed = [{"id": "j7", "error": error}, {"id": "j8", "error": None}]
    caller = calling(Script(part(1000, 998, "c", failed), part(10, 10)))
    told: list[BulkReport] = []

    report = caller(f"{verb}_many", handler="greet", created_before=NOON, on_progress=told.append)

    body = {"handler": "greet", "created_before": "2026-03-01T12:00:00.000Z"}
    assert targets(caller) == [f"/v1/jobs/{verb}"] * 2
    assert [json.loads(one.content) for one in caller.requests] == [body, {**body, "cursor": "c"}]
    assert (report.matched, report.changed, report.is_least) == (1010, 1008, False)
    assert [(one.id, type(one.error).__name__) for one in report.failed] == [
        ("j7", "Conflict"),
        ("j8", "UnexpectedAnswer"),
    ]
    assert isinstance(report.failed[0].error, Conflict)
    assert [one.matched for one in told] == [1000, 1010]


def test_a_bulk_operation_can_count_only_or_mean_all(calling: Calling) -> None:
    caller = calling(Script(part(3, 0)))

    caller("cancel_many", all=True, dry_run=True)

    assert sent(caller) == {"all": True, "dry_run": True}


def test_counts_say_when_an_answer_to_them_was_lost(calling: Calling) -> None:
    caller = calling(Script(part(5, 5, "c"), LOST, part(2, 2)))

    assert caller("cancel_many", all=True).is_least


def test_a_count_whose_answer_was_lost_is_exact(calling: Calling) -> None:
    caller = calling(Script(LOST, part(5, 0)))

    report = caller("cancel_many", all=True, dry_run=True)

    assert (report.matched, report.is_least) == (5, False)


def test_a_bulk_operation_that_would_never_end_is_ended(calling: Calling) -> None:
    with pytest.raises(UnexpectedAnswer, match="same next_cursor twice"):
        calling(Script(part(5, 5, "c")))("cancel_many", all=True)


def test_without_a_filter_the_api_refuses(calling: Calling) -> None:
    with pytest.raises(Invalid):
        calling(Script(problem(422, "invalid")))("cancel_many")


def test_a_dry_run_stops_counting_at_a_thousand(calling: Calling) -> None:
    caller = calling(Script(part(400, 0, "a"), part(700, 0, "b"), part(9, 0)))
    told: list[BulkReport] = []

    report = caller("redrive_many", status="DEAD", dry_run=True, on_progress=told.append)

    assert len(caller.requests) == 2
    assert (report.matched, report.changed, report.is_least) == (1100, 0, True)
    assert [one.is_least for one in told] == [False, True]


def test_a_dry_run_that_ends_with_the_thousandth_job_is_exact(calling: Calling) -> None:
    caller = calling(Script(part(400, 0, "a"), part(600, 0)))

    report = caller("cancel_many", all=True, dry_run=True)

    assert (report.matched, report.is_least) == (1000, False)


def test_the_count_that_was_seen_is_sent(calling: Calling) -> None:
    caller = calling(Script(problem(409, "count_changed")))

    with pytest.raises(Conflict) as refused:
        caller("cancel_many", handler="greet", expected_count=40)

    assert refused.value.code == "count_changed"
    assert sent(caller) == {"handler": "greet", "expected_count": 40}


def test_a_bulk_discard_has_a_note(calling: Calling) -> None:
    caller = calling(Script(part(3, 3)))

    caller("discard_many", tenant="acme", discarded=False, note="known")

    assert sent(caller) == {"tenant": "acme", "discarded": False, "note": "known"}


# --- discard, and by key ---


@pytest.mark.parametrize(("given", "body"), [({}, b""), ({"note": "known"}, b'{"note":"known"}')])
def test_a_job_is_discarded_with_or_without_a_note(
    calling: Calling, given: dict[str, str], body: bytes
) -> None:
    caller = calling(Script(job_answer(status="DEAD", discarded_at="2026-03-01T12:00:00.000Z")))

    job = caller("discard", "j/1", **given)

    [request] = caller.requests
    assert (request.method, request.url.raw_path) == ("POST", b"/v1/jobs/j%2F1/discard")
    assert request.content == body
    assert (job.discarded_at, job.discard_note) == (NOON, None)


def test_a_job_is_found_by_its_key(calling: Calling) -> None:
    caller = calling(Script(page("jobs", [job_value(id="k.1")], None), job_answer(id="k.1")))

    assert caller("get", key="order/4711", tenant="acme").id == "k.1"
    assert targets(caller) == [
        "/v1/jobs?idempotency_key=order%2F4711&tenant=acme",
        "/v1/jobs/k.1",
    ]


def test_a_key_without_a_job_is_not_found(calling: Calling) -> None:
    caller = calling(Script(page("jobs", [], None)))

    with pytest.raises(NotFound, match="no job under the idempotency key 'order' of tenant 'acme'"):
        caller("get", key="order", tenant="acme")
    with pytest.raises(NotFound, match=r"no job under the idempotency key 'order'\."):
        caller("get", key="order")


@pytest.mark.parametrize(
    ("arguments", "options", "said"),
    [
        (["j1"], {"key": "k"}, "key cannot be combined with an id"),
        (["j1"], {"tenant": "t"}, "tenant needs a key"),
        ([], {}, "id must be a string, not None"),
    ],
)
def test_a_job_is_asked_for_by_its_id_or_by_its_key(
    calling: Calling, arguments: list[str], options: dict[str, str], said: str
) -> None:
    caller = calling(Script(job_answer()))

    with pytest.raises(Invalid, match=said):
        caller("get", *arguments, **options)

    assert caller.requests == []


def test_a_listing_says_true_and_false_as_the_api_does(calling: Calling) -> None:
    caller = calling(Script(page("jobs", [], None)))

    caller("list", status="DEAD", discarded=False)

    assert targets(caller) == ["/v1/jobs?status=DEAD&discarded=false&limit=50"]
