"""Limits in the double: a test shows them, and changes them while time passes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from hourhand import Concurrency, JobContext, NotRetryable, Rate, RateLimited, job
from hourhand.client import Invalid, NotFound
from hourhand.handlers import Registry
from hourhand.memory import START
from hourhand.testing import FakeHourhand


def succeed(_context: JobContext, _payload: Any) -> None:
    """End well."""


@contextmanager
def limited(
    *limits: Concurrency | Rate, function: Callable[[JobContext, Any], None] = succeed
) -> Iterator[FakeHourhand]:
    """Yield a double whose handler ``call`` has these limits."""
    registry = Registry()
    job("call", limits=limits, registry=registry)(function)
    with FakeHourhand(start=START, handlers=registry) as hourhand:
        yield hourhand


def ran(
    hourhand: FakeHourhand, *, days: float = 0, hours: float = 0, minutes: float = 0
) -> list[str]:
    """Let time pass; return the jobs that ran."""
    runs = hourhand.advance(days=days, hours=hours, minutes=minutes)
    return [run.job_id for run in runs]


def test_a_test_lists_the_limits_of_its_handlers() -> None:
    with limited(Concurrency(2, key="tenant"), Rate(5, per=60, name="api")) as hourhand:
        listed = [(one.name, one.kind, one.max) for one in hourhand.client.limits.list()]
        assert listed == [("api", "rate", 5), ("call.1", "concurrency", 2)]
        with pytest.raises(NotFound, match=r"Did you mean 'call\.1'"):
            hourhand.client.limits.get("cal.1")


def test_a_limit_of_0_lets_no_job_start_until_its_number_is_restored() -> None:
    with limited(Concurrency(2)) as hourhand:
        limits = hourhand.client.limits
        assert limits.put("call.1", max=0).declared_max == 2
        # Of two that are due at one instant, the smaller id is the first.
        waiting = sorted(hourhand.client.submit("call").id for _ in range(2))
        assert ran(hourhand, days=2) == []
        shown = limits.get("call.1")
        assert shown.waiters is not None
        assert (shown.max, shown.running, [w.job_id for w in shown.waiters]) == (0, 0, waiting)
        waits_for = hourhand.get(waiting[1]).waits_for
        assert waits_for is not None
        assert (waits_for.limit, waits_for.position) == ("call.1", 2)
        assert limits.put("call.1", max=None).granted == 2
        assert sorted(ran(hourhand)) == sorted(waiting)


def test_a_key_is_paused_alone_and_resumed_with_all_others() -> None:
    with limited(Concurrency(1, key="tenant")) as hourhand:
        limits = hourhand.client.limits
        limits.put("call.1", overrides={"acme": 0})
        waiting = hourhand.client.submit("call", tenant="acme").id
        other = hourhand.client.submit("call", tenant="globex").id
        assert ran(hourhand, hours=1) == [other]
        assert limits.get("call.1", key="acme").waiting == 1
        assert limits.delete("call.1").overrides == {}
        assert ran(hourhand) == [waiting]


def test_jobs_of_a_limit_with_keys_start_after_a_resume_that_names_none() -> None:
    with limited(Concurrency(1, key="tenant")) as hourhand:
        hourhand.client.limits.put("call.1", max=0)
        waiting = [hourhand.client.submit("call", tenant=name).id for name in ("acme", "globex")]
        assert ran(hourhand, days=3) == []
        assert hourhand.client.limits.put("call.1", max=None).granted == 0
        assert sorted(ran(hourhand, minutes=10)) == sorted(waiting)


def test_a_dead_job_keeps_its_slot_until_a_test_frees_it() -> None:
    def refuse(_context: JobContext, payload: Any) -> None:
        if payload == "bad":
            raise NotRetryable("bad")

    with limited(Concurrency(1, holds="success"), function=refuse) as hourhand:
        dead, behind = (hourhand.client.submit("call", one).id for one in ("bad", "good"))
        assert ran(hourhand, hours=1) == [dead]
        hourhand.client.limits.free("call.1", dead)
        assert ran(hourhand) == [behind]


def test_a_test_changes_a_rate_and_moves_the_jobs_that_wait_for_it() -> None:
    with limited(Rate(1, per=3600, burst=1, name="api")) as hourhand:
        submitted = [hourhand.client.submit("call").id for _ in range(4)]
        assert ran(hourhand) == submitted[:1]
        hourhand.client.limits.put("api", max=3600)
        report = hourhand.client.limits.retime("api")
        assert (report.matched, report.changed) == (3, 3)
        assert ran(hourhand, minutes=1) == submitted[1:]


def test_a_refused_job_holds_the_others_of_its_rate_back_in_the_tests_own_time() -> None:
    def refuse(context: JobContext, payload: Any) -> None:
        if payload == "refused" and context.run_at == hourhand.now:
            raise RateLimited(600)

    with limited(Rate(60, per=60, name="bank"), function=refuse) as hourhand:
        refused = hourhand.client.submit("call", "refused").id
        assert ran(hourhand) == [refused]
        behind = hourhand.client.submit("call").id
        assert ran(hourhand, minutes=9) == []
        assert set(ran(hourhand, minutes=2)) == {refused, behind}


def test_a_rate_is_paused_by_its_handler() -> None:
    with limited(Rate(60, per=60, name="bank")) as hourhand:
        with pytest.raises(Invalid, match="Pause its handlers instead: call"):
            hourhand.client.limits.put("bank", max=0)
        hourhand.client.pause_handler("call")
        waiting = hourhand.client.submit("call").id
        assert ran(hourhand, hours=1) == []
        hourhand.client.resume_handler("call")
        assert ran(hourhand, minutes=2) == [waiting]
