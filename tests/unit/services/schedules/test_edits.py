"""What an edit of each field means for the scheduled times that were missed before it.

The rows are those of the table in docs/explanation/schedules.md.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pytest

from hourhand.domain.jobs.job import Job, JobStatus
from hourhand.domain.times import rfc3339
from tests.unit.services.schedule_views import at, minute_of, told
from tests.world.faults import Faults
from tests.world.world import World

BASE: Mapping[str, Any] = {
    "expression": "*/10 * * * *",
    "payload": 1,
    "overlap": "allow",
    "misfire": "all",
}
MISSED = [10, 20, 30, 40]
EDITED_AT = 41.5 * 60
SPAN = {"from": rfc3339(at(15)), "to": rfc3339(at(25))}
RATE = {"expression": "rate(10 minutes)", "anchor": rfc3339(at(0))}

ROWS: Mapping[str, tuple[Mapping[str, Any], Mapping[str, Any], Sequence[float]]] = {
    "payload": ({}, {"payload": 2}, MISSED),
    "tags": ({}, {"tags": {"a": "b"}}, MISSED),
    "priority": ({}, {"priority": "high"}, MISSED),
    "timeout": ({}, {"timeout_seconds": 7}, MISSED),
    "retention": ({}, {"retention_seconds": 777}, MISSED),
    "on_lost": ({}, {"on_lost": "dead"}, MISSED),
    "retry": ({}, {"retry": {"max_attempts": 2}}, MISSED),
    "tenant": ({}, {"tenant": "t"}, MISSED),
    "keep": ({}, {"keep": {"failed": 1}}, MISSED),
    "pause_on_failure": ({}, {"pause_on_failure": True}, MISSED),
    "note": ({}, {"payload": 2, "note": "n"}, MISSED),
    "jitter": ({}, {"jitter_seconds": 30}, MISSED),
    "overlap": ({}, {"overlap": "skip"}, MISSED),
    "max_running": ({}, {"overlap": "buffer_all", "max_running": 2}, MISSED),
    "buffer_limit": ({}, {"overlap": "buffer_all", "buffer_limit": 1}, MISSED),
    "policy": ({}, {"misfire": "latest"}, [40]),
    "policy none": ({}, {"misfire": "skip"}, []),
    "policy oldest": ({}, {"misfire": "earliest"}, [10]),
    "window": ({}, {"misfire": {"policy": "all", "window_seconds": 1200}}, [30, 40]),
    "max_occurrences": ({}, {"max_occurrences": 2}, [10, 20]),
    "equal expression": ({}, {"expression": "0,10,20,30,40,50 * * * *"}, MISSED),
    "union": ({}, {"expression": ["*/20 * * * *", "10/20 * * * *"]}, MISSED),
    "other expression": ({}, {"expression": "*/20 * * * *"}, [20, 40]),
    "wider expression": ({"expression": "*/20 * * * *"}, {"expression": "*/10 * * * *"}, [20, 40]),
    "alias of the zone": ({}, {"timezone": "Etc/UCT"}, MISSED),
    "another zone": ({}, {"timezone": "Asia/Kathmandu"}, []),
    "clock changes": ({}, {"dst_gap": "skip", "dst_fold": "both"}, MISSED),
    "exclusion": ({}, {"exclude": [SPAN]}, [10, 30, 40]),
    "exclusion taken back": ({"exclude": [SPAN]}, {"payload": 2}, [10, 30, 40]),
    "calendar": ({}, {"exclude": ["closed"]}, [10, 30, 40]),
    "start": ({}, {"start_at": rfc3339(at(25))}, [30, 40]),
    "end": ({}, {"end_at": rfc3339(at(500))}, MISSED),
    "equal anchor": (RATE, {**RATE, "anchor": rfc3339(at(20))}, MISSED),
    "another anchor": (RATE, {**RATE, "anchor": rfc3339(at(1))}, []),
}


def _pause(world: World, edit: Mapping[str, Any]) -> None:
    world.advance(60)
    world.pause("s")
    world.advance(EDITED_AT - 60)
    world.put_schedule("s", **edit)
    world.advance(30)
    world.resume("s")


def _outage(world: World, edit: Mapping[str, Any]) -> None:
    world.advance(EDITED_AT)
    world.put_schedule("s", **edit)


def _deployment(world: World, edit: Mapping[str, Any]) -> None:
    """Apply a file while no scheduler runs; the visit of the new code comes with its first tick."""
    world.advance(EDITED_AT)
    dying = world.process(Faults().throttle("schedules.write", nth=2))
    world.put_schedule("s", by=dying.api, **edit, managed_by="files:app")


def _resume_in_the_request(world: World, edit: Mapping[str, Any]) -> None:
    world.advance(60)
    world.pause("s")
    world.advance(EDITED_AT - 60)
    world.put_schedule("s", **edit, paused=False)


@pytest.mark.parametrize("edit_it", [_pause, _outage, _deployment, _resume_in_the_request])
@pytest.mark.parametrize("row", ROWS)
def test_a_time_that_both_definitions_have_follows_the_new_one(
    row: str, edit_it: Callable[[World, Mapping[str, Any]], None]
) -> None:
    before, after, expected = ROWS[row]
    world = World()
    world.put_calendar("closed", [SPAN])
    world.put_schedule("s", **{**BASE, **before})
    edit = {**BASE, **after}
    edit_it(world, edit)
    for _ in range(8):
        world.minute()
    jobs = {minute_of(job.occurrence or job.run_at): job for job in world.store.jobs().values()}
    ran = sorted(minute for minute, job in jobs.items() if job.status is JobStatus.SUCCEEDED)
    assert [minute for minute in ran if minute <= 40] == expected
    for minute in expected:
        _check_content(jobs[minute], edit)
    # The others are on record, each once.
    assert sum(count for minute, count, _ in told(world) if minute <= 40) == (
        2 if row in {"max_occurrences", "wider expression"} else 4
    )


def _check_content(job: Job, edit: Mapping[str, Any]) -> None:
    assert job.payload.text == str(edit["payload"])
    assert job.tags == edit.get("tags", {})
    assert job.tenant == edit.get("tenant")
    assert job.priority == edit.get("priority", "medium")
    assert job.timeout_seconds == edit.get("timeout_seconds", 300)


def test_the_case_of_a_daily_schedule() -> None:
    world = World()
    world.put_schedule("a", expression="0 1 * * *", payload=1)
    world.pause("a")
    world.advance(27 * 3600)
    world.put_schedule("a", expression="0 1 * * *", payload=2)
    world.advance(3 * 3600)
    world.resume("a")
    world.settle()
    ended = [job for job in world.store.jobs().values() if job.status is JobStatus.SUCCEEDED]
    assert [job.payload.text for job in ended] == ["2"]
