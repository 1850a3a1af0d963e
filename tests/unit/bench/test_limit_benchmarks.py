"""The benchmarks of limits count what they say, on loads that take no time."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest

from bench.limits import growth, messages, peers, starts, units
from bench.limits.memory_cloud import Load, play
from bench.limits.messages import Counted
from bench.peers import runs
from bench.peers.teams import CELERY, HOURHAND
from bench.single import check

SMALL = Load(name="small", jobs=40, jobs_a_second=200, handler_seconds=0.1, max=3, workers=20)


def test_a_backlog_takes_two_messages_of_each_job_that_waits() -> None:
    counted, played = messages.count_in_memory(SMALL)
    assert counted.parked > 30
    assert counted.messages.total() == counted.jobs + counted.parked
    assert (counted.most, counted.most_running, counted.not_once) == (2, 3, 0)
    assert played.seconds > 40 * 0.1 / 3 / 2
    check(messages.result([counted], played.seconds))


def test_many_ends_at_a_time_wake_each_waiter_once() -> None:
    """Components that end jobs at the same time see each other's grants half done."""
    crowded = replace(SMALL, jobs=300, jobs_a_second=500, handler_seconds=0.05, max=10, workers=50)
    counted, _ = messages.count_in_memory(crowded)
    assert counted.on_average <= 2
    assert (counted.most <= 3, counted.not_once) == (True, 0)


def test_a_load_without_a_limit_waits_for_nothing() -> None:
    free = play(replace(SMALL, max=None, workers=40))
    assert (free.parked, free.messages_a_job, free.most_deliveries) == (0, 1, 1)
    limited = play(SMALL)
    assert max(limited.waits) > 3 * max(free.waits)


def test_more_messages_than_two_are_told() -> None:
    counted = Counted("here", 2, 1, Counter(a=3, b=2), 1, 0, 1.0)
    told = messages.result([counted], 1.0)
    assert told["ok"] is False
    assert [target["ok"] for target in told["must"]] == [False, True, True]


def test_the_wait_is_judged_against_a_load_without_the_limit() -> None:
    load = replace(SMALL, jobs=100)
    limited, free = play(load), play(replace(load, max=None, workers=100))
    told = starts.result(limited, free)
    check(told)
    assert told["must"][0]["ok"] is False
    assert len(starts.waits(limited)) == 80


def test_an_admission_and_a_sweep_make_the_same_requests_with_more_keys() -> None:
    loads = [growth.Load(keys, admitted=5, queues=2, waiters=3) for keys in (0, 500)]
    few, many = growth.measure_all(loads, rounds=1)
    assert few.requests == many.requests > 5 * 5
    assert few.sweep_requests == many.sweep_requests
    check(growth.result([few, many]))


def test_growth_is_told_of_the_most_keys_over_the_fewest() -> None:
    few = growth.Measured(growth.Load(10), 100, 1.0, 50, 1.0)
    many = growth.Measured(growth.Load(1_000), 111, 1.5, 50, 2.5)
    assert [target["ok"] for target in growth.targets([few, many])] == [False, True, True, False]


@pytest.mark.parametrize(("counted", "ok"), [(7.0, True), (8.0, False)])
def test_what_a_path_adds_is_what_plain_jobs_have_not(counted: float, ok: bool) -> None:
    path = units.Path("one", 1, 1, lambda _: None)
    added = units.Added(path, Counter({"bench-jobs": 4.0, "bench-jobs/run_at": counted - 4}), 6.0)
    assert added.added == counted - 6
    assert [target["ok"] for target in units.targets([added])] == [ok]


def record(**spans: tuple[float, float]) -> runs.Record:
    begun = {name: [begin] for name, (begin, _) in spans.items()}
    ended = {name: [end] for name, (_, end) in spans.items()}
    return runs.Record(begun, ended)


def test_starts_over_the_limit_are_counted_from_what_ran_at_a_time() -> None:
    one_after_the_other = record(a=(0, 1), b=(0.5, 1.5), c=(1, 2), d=(1.5, 2))
    assert peers.overlaps(one_after_the_other) == (0, 2)
    assert peers.overlaps(record(a=(0, 3), b=(0, 3), c=(1, 3), d=(2, 3))) == (2, 4)
    assert peers.seconds_of(one_after_the_other) == 2
    assert peers.seconds_of(runs.Record({}, {})) == 0


def test_runs_that_found_a_limit_full_are_on_record(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(runs.FILE, str(tmp_path / "runs"))
    runs.turn_away("a")
    runs.work("a", 0)
    found = runs.read(tmp_path / "runs")
    assert [len(times["a"]) for times in (found.turned_away, found.begun, found.ended)] == [1, 1, 1]


def test_commands_of_redis_are_counted_without_our_own_look() -> None:
    stats = "# Commandstats\r\ncmdstat_set:calls=12,usec=3\r\ncmdstat_info:calls=1,usec=9\r\n"
    assert peers.commands_of(stats) == 12


def test_ours_alone_is_judged_among_the_peers() -> None:
    ours = peers.Seen(HOURHAND, peers.JOBS, 0, 2, 0, 2 * peers.JOBS, None, 6.0)
    other = replace(ours, name=CELERY, over_limit=5, messages=900, redis_commands=70)
    told = peers.result([ours, other], ["BullMQ: no figure, for not installed"])
    check(told)
    assert told["ok"]
    assert told["notes"][-1] == "BullMQ: no figure, for not installed"
    assert not peers.result([other], [])["ok"]
    assert not peers.result([replace(ours, over_limit=1)], [])["ok"]
