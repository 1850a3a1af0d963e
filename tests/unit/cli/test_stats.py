"""What `hourhand stats` says, also where there is nothing to tell."""

from __future__ import annotations

from datetime import UTC, timedelta
from typing import Any

import pytest
from rich.console import Console

from hourhand.cli.output.times import NOTHING, Times
from hourhand.cli.session import Session
from hourhand.cli.stats import _facts, _shown
from hourhand.client import Stats
from hourhand.client._values import read
from hourhand.domain.times import rfc3339
from hourhand.memory import START, MemoryClock

TIMES = Times(START, UTC)


def stats(*, oldest_due_seconds: float | None = None, **fields: Any) -> Stats:
    queue = {"pool": "default", "priority": "high", "waiting": 0, "running": 0, "delayed": 0}
    told: dict[str, Any] = {
        "queues": [{**queue, "oldest_due_seconds": oldest_due_seconds}],
        "lateness": {"p50_ms": None, "p99_ms": None, "sample": 0, "since": None},
        "leader": None,
        "epoch": 0,
        "last_tick_at": None,
        "watermark": None,
        "open_buckets": 0,
        "skew_ms": 0,
        **fields,
    }
    return read(Stats, told)


@pytest.mark.parametrize(
    ("seconds", "told"), [(None, NOTHING), (0.0, NOTHING), (0.25, "250 ms"), (90.0, "1.5 min")]
)
def test_the_oldest_due_job_has_an_age_only_where_there_is_one(
    seconds: float | None, told: str
) -> None:
    console = Console(width=80)
    with console.capture() as captured:
        console.print(
            _shown(Session(clock=MemoryClock(START)), stats(oldest_due_seconds=seconds))[0]
        )
    assert captured.get().splitlines()[1].endswith(f" {told}")


def test_a_queue_that_was_not_counted_shows_no_figure() -> None:
    uncounted = {"pool": "default", "priority": "high", "oldest_due_seconds": None}
    counts = dict.fromkeys(("waiting", "running", "delayed"))
    console = Console(width=80)
    with console.capture() as captured:
        found = stats(queues=[{**uncounted, **counts}])
        console.print(_shown(Session(clock=MemoryClock(START)), found)[0])
    assert captured.get().splitlines()[1].split() == ["default", "high", *[NOTHING] * 4]


def test_before_the_first_tick_there_is_neither_a_tick_nor_a_watermark() -> None:
    facts = dict(_facts(stats(), TIMES))
    assert facts["last tick"] == facts["watermark"] == "no tick yet"


@pytest.mark.parametrize(("open_buckets", "but"), [(0, ""), (3, ", except in open buckets")])
def test_a_watermark_says_what_it_means_not_how_old_it_is(open_buckets: int, but: str) -> None:
    watermark = START - timedelta(days=1)
    found = stats(
        last_tick_at=rfc3339(START), watermark=rfc3339(watermark), open_buckets=open_buckets
    )
    told = dict(_facts(found, TIMES))["watermark"]
    assert told == f"no job due before {TIMES.absolute(watermark)} waits for dispatch{but}"
