"""Looking back at the schedules that ran in real time."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace
from typing import Any

import pytest

from hourhand.domain.times import rfc3339
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
    """What the client would tell of a schedule whose three times came."""

    def __init__(self) -> None:
        self.times = dict(enumerate(TIMES))
        self.jobs: list[dict[str, Any]] = [
            {
                "id": f"o.{n}",
                "status": "SUCCEEDED",
                "attempts": [{}],
                "occurrence": rfc3339(at),
            }
            for n, at in self.times.items()
        ]
        self.client: Any = SimpleNamespace(
            schedules=SimpleNamespace(
                put=lambda name, body: SimpleNamespace(created_at=START),
                delete=lambda name: None,
                occurrences=self._occurrences,
            ),
            list=self._list,
        )

    def _occurrences(self, name: str, **_: Any) -> Iterator[Any]:
        for n, at in reversed(self.times.items()):
            yield SimpleNamespace(at=at, kind="schedule", job_id=f"o.{n}", reason=None)

    def _list(self, *, schedule_id: str, **_: Any) -> Iterator[Any]:
        assert schedule_id == HOURLY.name
        return iter([SimpleNamespace(raw=job) for job in self.jobs])


@pytest.fixture
def api() -> Api:
    return Api()


def lived(api: Api) -> Recurring:
    recurring = Recurring(START, lambda: DELETED_AT)
    recurring.put(HOURLY, api.client)
    recurring.delete(HOURLY.name, api.client)
    return recurring


def problems(api: Api) -> list[str]:
    recurring = lived(api)
    recurring.read_jobs(api.client)
    return recurring.problems(api.client)


def test_it_is_at_rest_when_what_was_due_has_ended_and_nothing_is_due_in_a_moment(api: Api) -> None:
    recurring = lived(api)

    def is_at_rest() -> bool:
        return recurring.is_at_rest(HOURLY.name, api.client)

    assert is_at_rest()
    api.jobs[0]["status"] = "ENQUEUED"
    assert not is_at_rest()
    api.jobs[0]["occurrence"] = rfc3339(DELETED_AT + A_MOMENT)
    assert not is_at_rest()
    api.jobs[0]["occurrence"] = rfc3339(DELETED_AT + A_MOMENT + timedelta(milliseconds=1))
    assert is_at_rest()


def test_the_jobs_of_its_times_are_expected_to_succeed_at_once(api: Api) -> None:
    jobs = lived(api).read_jobs(api.client)
    assert list(jobs) == ["o.0", "o.1", "o.2"]
    assert jobs["o.0"].name == f"hourly of {rfc3339(TIMES[0])}"
    assert [outcome.value for outcome in jobs["o.0"].expected.outcomes] == ["SUCCEEDED"]


def test_each_time_once_is_as_it_should_be_and_is_counted(api: Api) -> None:
    recurring = lived(api)
    recurring.read_jobs(api.client)
    assert recurring.problems(api.client) == []
    assert recurring.tallies() == (ScheduleTally(expression="0 * * * *", expected=3, ran=3),)


def test_what_was_made_ahead_and_withdrawn_is_no_problem(api: Api) -> None:
    ahead = {"status": "CANCELLED", "attempts": [], "occurrence": "2999-01-01T00:00:00.000Z"}
    api.jobs.append({"id": "o.9", **ahead})
    assert problems(api) == []


def test_a_time_that_is_missing_is_found_and_counted(api: Api) -> None:
    missing = api.times.pop(1)
    api.jobs.pop(1)
    assert problems(api) == [f"hourly: nothing came of {rfc3339(missing)}"]
    recurring = lived(api)
    recurring.read_jobs(api.client)
    assert recurring.tallies() == (ScheduleTally(expression="0 * * * *", expected=3, ran=2),)


def test_a_job_that_ran_and_is_in_no_history_is_found(api: Api) -> None:
    other = {"status": "SUCCEEDED", "attempts": [{}], "occurrence": "2999-01-01T00:00:00.000Z"}
    api.jobs.append({"id": "o.9", **other})
    assert problems(api) == ["hourly: o.9 is in no history, and is SUCCEEDED"]


def test_two_jobs_for_one_time_are_found(api: Api) -> None:
    at = rfc3339(TIMES[0])
    api.jobs.append({"id": "o.9", "status": "CANCELLED", "attempts": [], "occurrence": at})
    assert problems(api) == [f"hourly: {at} has several jobs"]


def test_a_time_that_passed_while_it_was_deleted_may_have_come_or_not(api: Api) -> None:
    ticking = iter([TIMES[1] + MINUTE, DELETED_AT])
    recurring = Recurring(START, lambda: next(ticking))
    recurring.put(HOURLY, api.client)
    recurring.delete(HOURLY.name, api.client)
    for _ in range(2):
        recurring.read_jobs(api.client)
        assert recurring.problems(api.client) == []
        api.times.pop(2, None)
        del api.jobs[2:]
