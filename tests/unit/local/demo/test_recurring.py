"""Looking back at the schedules that ran in real time."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any, cast

import pytest

from hourhand.domain.times import rfc3339
from hourhand.local.demo.client import Answer, ApiClient, DemoFailed
from hourhand.local.demo.planned_schedules import PlannedSchedule
from hourhand.local.demo.recurring import A_MOMENT, Recurring, ScheduleTally

HOURLY = PlannedSchedule(
    name="hourly", expression="0 * * * *", every=timedelta(hours=1), is_anchored=False
)
HOUR, MINUTE = timedelta(hours=1), timedelta(minutes=1)


START = datetime(2026, 1, 5, 8, 59, tzinfo=UTC)
"""When it is put; and it is deleted half an hour after its third time."""

TIMES = [START + MINUTE + number * HOUR for number in range(3)]
DELETED_AT = TIMES[-1] + HOUR / 2


class Api:
    """Answers as the API would for a schedule whose three times came."""

    def __init__(self) -> None:
        self.statuses = {"PUT": 201, "DELETE": 204, "GET": 200}
        self.rows = [
            {"at": rfc3339(at), "kind": "schedule", "job_id": f"o.{n}", "reason": None}
            for n, at in enumerate(TIMES)
        ]
        self.jobs: list[dict[str, Any]] = [
            {"id": row["job_id"], "status": "SUCCEEDED", "attempts": [{}], "occurrence": row["at"]}
            for row in self.rows
        ]

    def put(self, path: str, body: dict[str, Any]) -> Answer:
        return Answer(self.statuses["PUT"], {"created_at": rfc3339(START)})

    def delete(self, path: str) -> Answer:
        return Answer(self.statuses["DELETE"], {})

    def get(self, path: str) -> Answer:
        if "occurrences" in path:
            return Answer(200, {"occurrences": self.rows[::-1], "next_cursor": None})
        return Answer(self.statuses["GET"], {"jobs": self.jobs})


@pytest.fixture
def api() -> Api:
    return Api()


def lived(api: Api) -> Recurring:
    recurring = Recurring(START, lambda: DELETED_AT)
    recurring.put(HOURLY, cast("ApiClient", api))
    recurring.delete(HOURLY.name, cast("ApiClient", api))
    return recurring


def problems(api: Api) -> list[str]:
    recurring = lived(api)
    recurring.read_jobs(cast("ApiClient", api))
    return recurring.problems(cast("ApiClient", api))


def test_it_is_at_rest_when_what_was_due_has_ended_and_nothing_is_due_in_a_moment(api: Api) -> None:
    recurring = lived(api)

    def is_at_rest() -> bool:
        return recurring.is_at_rest(HOURLY.name, cast("ApiClient", api))

    assert is_at_rest()
    api.jobs[0]["status"] = "ENQUEUED"
    assert not is_at_rest()
    api.jobs[0]["occurrence"] = rfc3339(DELETED_AT + A_MOMENT)
    assert not is_at_rest()
    api.jobs[0]["occurrence"] = rfc3339(DELETED_AT + A_MOMENT + timedelta(milliseconds=1))
    assert is_at_rest()


def test_the_jobs_of_its_times_are_expected_to_succeed_at_once(api: Api) -> None:
    jobs = lived(api).read_jobs(cast("ApiClient", api))
    assert list(jobs) == ["o.0", "o.1", "o.2"]
    assert jobs["o.0"].name == f"hourly of {api.rows[0]['at']}"
    assert [outcome.value for outcome in jobs["o.0"].expected.outcomes] == ["SUCCEEDED"]


def test_each_time_once_is_as_it_should_be_and_is_counted(api: Api) -> None:
    recurring = lived(api)
    recurring.read_jobs(cast("ApiClient", api))
    assert recurring.problems(cast("ApiClient", api)) == []
    assert recurring.tallies() == (ScheduleTally(expression="0 * * * *", expected=3, ran=3),)


def test_what_was_made_ahead_and_withdrawn_is_no_problem(api: Api) -> None:
    ahead = {"status": "CANCELLED", "attempts": [], "occurrence": "2999-01-01T00:00:00.000Z"}
    api.jobs.append({"id": "o.9", **ahead})
    assert problems(api) == []


def test_a_time_that_is_missing_is_found_and_counted(api: Api) -> None:
    missing = api.rows.pop(1)
    api.jobs.pop(1)
    assert problems(api) == [f"hourly: nothing came of {missing['at']}"]
    recurring = lived(api)
    recurring.read_jobs(cast("ApiClient", api))
    assert recurring.tallies() == (ScheduleTally(expression="0 * * * *", expected=3, ran=2),)


def test_a_job_that_ran_and_is_in_no_history_is_found(api: Api) -> None:
    other = {"status": "SUCCEEDED", "attempts": [{}], "occurrence": "2999-01-01T00:00:00.000Z"}
    api.jobs.append({"id": "o.9", **other})
    assert problems(api) == ["hourly: o.9 is in no history, and is SUCCEEDED"]


def test_two_jobs_for_one_time_are_found(api: Api) -> None:
    at = api.rows[0]["at"]
    api.jobs.append({"id": "o.9", "status": "CANCELLED", "attempts": [], "occurrence": at})
    assert problems(api) == [f"hourly: {at} has several jobs"]


@pytest.mark.parametrize("method", ["PUT", "DELETE"])
def test_a_schedule_that_is_not_taken_or_not_deleted_ends_the_demo(api: Api, method: str) -> None:
    api.statuses[method] = 500
    with pytest.raises(DemoFailed, match="hourly"):
        lived(api)


def test_jobs_that_cannot_be_listed_end_the_demo(api: Api) -> None:
    api.statuses["GET"] = 500
    with pytest.raises(DemoFailed, match="cannot be listed"):
        problems(api)


def test_a_time_that_passed_while_it_was_deleted_may_have_come_or_not(api: Api) -> None:
    ticking = iter([TIMES[1] + MINUTE, DELETED_AT])
    recurring = Recurring(START, lambda: next(ticking))
    recurring.put(HOURLY, cast("ApiClient", api))
    recurring.delete(HOURLY.name, cast("ApiClient", api))
    for _ in range(2):
        recurring.read_jobs(cast("ApiClient", api))
        assert recurring.problems(cast("ApiClient", api)) == []
        api.rows, api.jobs = api.rows[:2], api.jobs[:2]
