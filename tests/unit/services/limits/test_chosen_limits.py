"""The limits that a submission names: shared ones, in place of those of its handler."""

from __future__ import annotations

from typing import Any

import pytest

from hourhand.domain.errors import InvalidInput
from hourhand.domain.jobs.job import JobStatus
from hourhand.domain.jobs.waiting import ChosenLimit
from hourhand.domain.limits.declarations import Concurrency, Limit, Rate
from hourhand.domain.limits.overrides import LimitChanges
from hourhand.ports.handler_directory import HandlerInfo
from tests.world.limits import Crowd, live_holders, waiters
from tests.world.world import World

BANK = Concurrency(1, name="bank", key="payload.account")
POOL = Concurrency(2, name="pool")


def world_of(*own: Limit, shared: tuple[Limit, ...] = (BANK, POOL)) -> World:
    """Return a world whose handler ``greet`` has its ``own`` limits; another one shares some."""
    others = HandlerInfo(name="sync", limits=shared)
    return World(handlers=(HandlerInfo(name="greet", limits=own), others))


def refusal(world: World, *limits: object, **body: Any) -> dict[str, str]:
    with pytest.raises(InvalidInput) as refused:
        world.submit(limits=list(limits), **body)
    return {error.field: error.message for error in refused.value.errors}


# --- what they do -------------------------------------------------------------------------------


def test_a_job_keeps_to_the_shared_limit_that_its_submission_named() -> None:
    world = world_of()
    jobs = [world.submit(limits=[{"name": "pool"}]) for _ in range(5)]
    crowd = Crowd(world)
    crowd.settle()
    assert crowd.most_running == 2
    assert [world.job(job).status for job in jobs] == [JobStatus.SUCCEEDED] * 5
    assert waiters(world) == []
    assert live_holders(world) == set()


def test_named_limits_replace_those_of_the_handler() -> None:
    world = world_of(Concurrency(1))
    for _ in range(4):
        world.submit(limits=[{"name": "pool"}])
    crowd = Crowd(world)
    crowd.settle()
    assert crowd.most_running == 2


def test_they_count_together_with_the_jobs_of_handlers_that_declare_the_limit() -> None:
    world = world_of()
    for _ in range(3):
        world.submit(handler="sync", payload={"account": 1})
        world.submit(limits=[{"name": "bank", "key": "payload.id"}], payload={"id": 1})
    crowd = Crowd(world)
    crowd.settle()
    assert crowd.most_running == 1


@pytest.mark.parametrize(
    ("chosen", "payloads", "most"),
    [
        ({"name": "bank"}, [{"account": 1}, {"account": 1}, {"account": 2}], 2),
        ({"name": "bank"}, [{}, None, {"account": None}], 1),
        ({"name": "bank", "key": "acme"}, [{"account": 1}, {"account": 2}], 1),
        ({"name": "bank", "key": "payload.id"}, [{"id": 1}, {"id": 2}, {"id": 2}], 2),
        ({"name": "pool", "key": "tenant"}, [1, 2, 3], 2),
    ],
)
def test_a_key_is_that_of_the_submission_or_else_of_the_limit(
    chosen: dict[str, str], payloads: list[Any], most: int
) -> None:
    world = world_of()
    for payload in payloads:
        world.submit(limits=[chosen], payload=payload)
    crowd = Crowd(world)
    crowd.work_off(world.receive())
    assert crowd.most_running == most


def test_a_rate_that_is_named_lets_no_more_jobs_start() -> None:
    world = world_of(shared=(Rate(1, per=60, name="mail"),))
    jobs = [world.submit(limits=[{"name": "mail"}]) for _ in range(3)]
    Crowd(world).settle()
    statuses = [world.job(job).status for job in jobs]
    assert statuses.count(JobStatus.SUCCEEDED) == 1
    assert sum(world.job(job).reservation is not None for job in jobs) == 2


def test_a_new_payload_gives_a_new_key() -> None:
    world = world_of()
    job = world.submit(limits=[{"name": "bank"}], payload={"account": 1}, delay_seconds=3600)
    changed = world.change(job, payload={"account": 2})
    again = world.change(changed, payload={"account": 1})
    assert changed.limit_keys != job.limit_keys == again.limit_keys
    assert again.limits == (ChosenLimit("bank"),)


def test_all_jobs_take_shared_limits_in_one_order_whatever_their_keys_are() -> None:
    world = world_of()
    limits = world.api.limits.queues.limits
    declared = world.submit(handler="sync", payload={"account": "acme"})
    chosen = world.submit(limits=[{"name": "pool"}, {"name": "bank", "key": "acme"}])
    by_handler, by_choice = limits.of(declared), limits.of(chosen)
    assert [one.name for one in by_handler] == [one.name for one in by_choice] == ["bank", "pool"]
    assert [one.digest for one in by_handler] == [one.digest for one in by_choice]


def test_a_limit_that_no_handler_declares_any_more_holds_nothing_back() -> None:
    world = world_of()
    jobs = [world.submit(limits=[{"name": "bank", "key": "acme"}]) for _ in range(2)]
    after = world_of(shared=())
    after.store, after.queues = world.store, world.queues
    after.worker = after.process().worker
    crowd = Crowd(after)
    crowd.settle()
    assert crowd.most_running == 2
    assert [after.job(job).status for job in jobs] == [JobStatus.SUCCEEDED] * 2


def test_a_key_that_only_a_submission_gave_is_shown_and_can_have_a_number() -> None:
    world = world_of()
    limits = world.api.limits
    limits.change("pool", LimitChanges(keys={"acme": 0}), "caller")
    jobs = [world.submit(limits=[{"name": "pool", "key": "acme"}]) for _ in range(2)]
    Crowd(world).settle()
    shown = limits.show("pool", "acme")
    assert (shown.max, shown.running, shown.waiting) == (0, 0, 2)
    _, granted = limits.change("pool", LimitChanges(keys={"acme": None}), "caller")
    assert granted == 2
    Crowd(world).settle()
    assert [world.job(job).status for job in jobs] == [JobStatus.SUCCEEDED] * 2


# --- what is refused ----------------------------------------------------------------------------


def test_an_unknown_name_is_refused_with_those_that_exist() -> None:
    world = world_of(Concurrency(1))
    found = refusal(world, {"name": "pool"}, {"name": "banc"})
    assert found == {
        "limits[1].name": "is no shared limit. Did you mean 'bank'? Shared limits: bank, pool"
    }
    assert "Shared limits: none" in refusal(world_of(shared=()), {"name": "x"})["limits[0].name"]


def test_a_limit_without_a_name_of_its_own_is_not_shared() -> None:
    world = world_of(Concurrency(1), shared=())
    assert refusal(world, {"name": "greet"}).keys() == {"limits[0].name"}


@pytest.mark.parametrize(
    ("limits", "field", "problem"),
    [
        ([{"name": name} for name in "abcd"], "limits", "at most 3 entries"),
        ([], "limits", "at least 1 entries"),
        ([{"name": "pool"}, {"name": "pool", "key": "x"}], "limits[1].name", "not be named twice"),
        ([{"name": "pool", "key": "paylod.x"}], "limits[0].key", "must be handler, tenant"),
        ([{"name": "pool", "key": ""}], "limits[0].key", "at least 1 character"),
        ([{"name": "pool", "key": 7}], "limits[0].key", "must be a string"),
        ([{"name": "pool", "key": "x" * 257}], "limits[0].key", "at most 256"),
        ([{"name": "greet.1"}], "limits[0].name", "must match"),
        ([{"key": "x"}], "limits[0].name", "is required"),
        ([{"name": "pool", "max": 3}], "limits[0].max", "is not a known field"),
        (["pool"], "limits[0]", "must be a JSON object"),
        ("pool", "limits", "must be a JSON array"),
    ],
)
def test_limits_that_cannot_be_read_name_the_field(limits: Any, field: str, problem: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        world_of().submit(limits=limits)
    (error,) = refused.value.errors
    assert error.field == field
    assert problem in error.message


def test_limits_and_a_concurrency_key_contradict_each_other() -> None:
    found = refusal(world_of(BANK), {"name": "pool"}, concurrency_key="vip")
    assert found == {"limits": "must not be given together with concurrency_key"}
