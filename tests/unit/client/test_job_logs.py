"""The log of a job and the groups of dead letters, as both clients read them page by page."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import httpx
import pytest

from hourhand.client import Invalid, UnexpectedAnswer
from tests.unit.client.callers import Caller, Script, job_answer

Calling = Callable[..., Caller]


def line(second: int, message: str) -> dict[str, Any]:
    at = f"2026-01-05T09:00:{second:02d}.000Z"
    return {"at": at, "level": "INFO", "message": message, "attempt": 1}


def page(*lines: dict[str, Any], then: str | None = None) -> httpx.Response:
    return httpx.Response(200, json={"lines": lines, "next_cursor": then})


def targets(caller: Caller) -> list[str]:
    return [request.url.raw_path.decode() for request in caller.requests]


def messages(caller: Caller, **options: Any) -> list[str]:
    return [one.message for one in caller("logs", "j1", **options)]


def test_a_log_is_read_page_by_page_also_past_an_empty_one(calling: Calling) -> None:
    caller = calling(Script(page(line(1, "a"), then="c1"), page(then="c2"), page(line(2, "b"))))
    first, second = caller("logs", "j1", order="newest", page_size=7)
    assert (first.message, first.attempt, first.fields) == ("a", 1, None)
    assert second.message == "b"
    path = "/v1/jobs/j1/logs?order=newest&limit=7"
    assert targets(caller) == [path, f"{path}&cursor=c1", f"{path}&cursor=c2"]


def test_lines_that_are_alike_are_all_told_and_no_more_than_the_limit(calling: Calling) -> None:
    caller = calling(Script(page(line(1, "same"), line(1, "same"), line(2, "b"))))
    assert messages(caller) == ["same", "same", "b"]
    assert messages(caller, limit=2) == ["same", "same"]


def test_a_followed_log_tells_each_line_once_and_ends_after_the_job(calling: Calling) -> None:
    """Each page is asked for after the job: what it logged to its end is then in the log."""
    caller = calling(
        Script(
            job_answer(status="RUNNING"),
            page(line(1, "a")),
            job_answer(status="RUNNING"),
            page(line(1, "a"), line(1, "a"), then="c1"),
            job_answer(status="SUCCEEDED"),
            page(line(2, "b")),
            job_answer(status="SUCCEEDED"),
            # CloudWatch shows a line late, and not always as the last.
            page(line(2, "late"), line(2, "b")),
        )
    )
    assert messages(caller, follow=True) == ["a", "a", "b", "late"]
    assert caller.clock.pauses == [2.0, 2.0]


@pytest.mark.parametrize(
    ("options", "field"),
    [
        ({"order": "latest"}, "order"),
        ({"limit": 0}, "limit"),
        ({"page_size": 1001}, "page_size"),
        ({"follow": True, "order": "newest"}, "follow"),
    ],
)
def test_a_wrong_argument_is_named_before_anything_is_asked(
    calling: Calling, options: dict[str, Any], field: str
) -> None:
    caller = calling(Script(page()))
    with pytest.raises(Invalid, match=field):
        messages(caller, **options)
    assert caller.requests == []


def test_a_cursor_that_comes_twice_ends_the_reading(calling: Calling) -> None:
    with pytest.raises(UnexpectedAnswer, match="twice"):
        messages(calling(Script(page(then="c1"))))


# --- dead letters ---


def group(group_id: str, jobs: int, first: int, last: int) -> dict[str, Any]:
    at = [f"2026-01-05T09:00:{second:02d}.000Z" for second in (first, last)]
    return {
        "id": group_id,
        "handler": "greet",
        "error_type": "KeyError",
        "pattern": "<value>",
        "jobs": jobs,
        "first_at": at[0],
        "last_at": at[1],
        "newest": {"id": f"{group_id}-{last}", "at": at[1], "message": f"'{last}'"},
    }


def groups(*found: dict[str, Any], read: int, then: str | None = None) -> httpx.Response:
    return httpx.Response(200, json={"groups": found, "read": read, "next_cursor": then})


def test_groups_of_several_pages_are_put_together(calling: Calling) -> None:
    caller = calling(
        Script(
            groups(group("a", 3, 10, 20), group("b", 1, 5, 5), read=4, then="c1"),
            groups(group("b", 2, 1, 30), group("a", 1, 4, 4), read=3),
        )
    )
    found = caller("dead_letter_groups", handler="greet", error_type="KeyError")
    assert (found.read, found.next_cursor) == (7, None)
    assert [(one.id, one.jobs, one.newest.id) for one in found.groups] == [
        ("b", 3, "b-30"),
        ("a", 4, "a-20"),
    ]
    assert [one.first_at.second for one in found.groups] == [1, 4]
    path = "/v1/dead-letters/groups?handler=greet&error_type=KeyError&limit=1000"
    assert targets(caller) == [path, f"{path}&cursor=c1"]


def test_no_more_dead_letters_are_read_than_asked_for(calling: Calling) -> None:
    caller = calling(Script(groups(group("a", 2, 1, 2), read=2, then="c1")))
    found = caller("dead_letter_groups", scan=2)
    assert (found.read, found.next_cursor) == (2, "c1")
    assert targets(caller) == ["/v1/dead-letters/groups?limit=2"]
    with pytest.raises(Invalid, match="scan"):
        caller("dead_letter_groups", scan=0)


def test_groups_that_never_end_are_given_up(calling: Calling) -> None:
    with pytest.raises(UnexpectedAnswer, match="twice"):
        calling(Script(groups(read=1, then="c1")))("dead_letter_groups")
