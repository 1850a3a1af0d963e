"""Debounced jobs: which submissions become one job, when it runs, and with which payload."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from hourhand.domain.errors import InvalidDebounce, InvalidInput, InvalidUnique, MissingKey
from hourhand.domain.jobs.job import Job, JobStatus
from hourhand.domain.limits.debounce import MAX_WAIT_SECONDS, Debounce
from hourhand.domain.limits.declarations import Concurrency
from hourhand.memory import START
from hourhand.ports.handler_directory import HandlerInfo
from hourhand.ports.handler_runner import Finished, Pulse
from tests.world.runs import succeed
from tests.world.world import World


def debounced(**options: Any) -> World:
    debounce = Debounce("payload.shop", **{"wait": 10, **options})
    return World(handlers=(HandlerInfo(name="greet", debounce=debounce), "other"))


def edit(world: World, number: int, shop: str = "acme", **body: Any) -> Job:
    return world.submit(payload={"shop": shop, "n": number}, **body)


def ran(world: World) -> list[str]:
    return [run.payload_text for run in world.runs]


def seconds(job: Job) -> float:
    return (job.run_at - START).total_seconds()


@pytest.mark.parametrize(
    ("options", "field"),
    [
        ({"key": "paylod.shop", "wait": 1}, "key"),
        ({"key": "tenant", "wait": 0}, "wait"),
        ({"key": "tenant", "wait": "1"}, "wait"),
        ({"key": "tenant", "wait": True}, "wait"),
        ({"key": "tenant", "wait": float("nan")}, "wait"),
        ({"key": "tenant", "wait": MAX_WAIT_SECONDS + 1}, "wait"),
        ({"key": "tenant", "wait": 10, "max_wait": 9}, "max_wait"),
        ({"key": "tenant", "wait": 10, "max_wait": None, "mode": "all"}, "mode"),
    ],
)
def test_a_wrong_option_is_named(options: dict[str, Any], field: str) -> None:
    with pytest.raises(InvalidDebounce) as refused:
        Debounce(**options)
    assert refused.value.errors[0].field == f"debounce.{field}"


def test_submissions_shortly_after_one_another_are_one_job_with_the_last_payload() -> None:
    world = debounced()
    jobs = []
    for number in range(5):
        jobs.append(edit(world, number))
        world.advance(4)
    assert len({job.id for job in jobs}) == 1
    assert [seconds(job) for job in jobs] == [10, 14, 18, 22, 26]
    world.settle()
    assert ran(world) == ['{"n":4,"shop":"acme"}']


def test_the_first_payload_may_be_kept() -> None:
    world = debounced(mode="first")
    for number in range(3):
        edit(world, number)
        world.advance(4)
    world.settle()
    assert ran(world) == ['{"n":0,"shop":"acme"}']


def test_a_job_is_put_off_until_the_longest_wait_and_no_further() -> None:
    world = debounced(max_wait=15)
    times = []
    for number in range(4):
        times.append(seconds(edit(world, number)))
        world.advance(4)
    assert times == [10, 14, 15, 15]
    world.settle()
    assert len(ran(world)) == 1


def test_each_key_has_a_job_of_its_own() -> None:
    world = debounced()
    assert edit(world, 1, "acme").id != edit(world, 1, "globex").id
    assert edit(world, 1, "acme", tenant="a").id != edit(world, 1, "acme", tenant="b").id


def test_a_submission_while_the_job_runs_is_a_new_job() -> None:
    world = debounced()
    first = edit(world, 1)
    world.advance(11)
    later: list[Job] = []

    def behave(job: Job, pulse: Pulse) -> Finished:
        later.append(edit(world, 2))
        return succeed(job, pulse)

    world.handle(world.receive()[0], behave)
    assert later[0].id != first.id
    world.settle()
    assert ran(world) == ['{"n":1,"shop":"acme"}', '{"n":2,"shop":"acme"}']


def test_a_message_of_an_older_payload_starts_nothing() -> None:
    world = debounced()
    edit(world, 1)
    world.advance(9)
    edit(world, 2)
    world.advance(2)
    world.deliver()
    assert ran(world) == []
    world.advance(8)
    world.deliver()
    assert ran(world) == ['{"n":2,"shop":"acme"}']


def test_a_submission_may_state_it_itself() -> None:
    world = World()
    given = {"key": "payload.shop", "wait_seconds": 30, "max_wait_seconds": 40}
    first = edit(world, 1, debounce=given)
    world.advance(20)
    second = edit(world, 2, debounce=given)
    assert (first.id, seconds(first)) == (second.id, 30)
    assert second.run_at - START == timedelta(seconds=40)


def test_an_expiry_belongs_to_the_submission_that_gives_it() -> None:
    world = debounced()
    edit(world, 1, expires_at=(START + timedelta(seconds=15)).isoformat())
    world.advance(8)
    second = edit(world, 2)
    assert second.expires_at is None
    world.settle()
    assert ran(world) == ['{"n":2,"shop":"acme"}']


def test_a_request_that_is_repeated_after_its_job_ended_creates_no_other() -> None:
    world = debounced()
    edit(world, 1, id="first")
    job = edit(world, 2, id="second")
    world.settle()
    again = edit(world, 2, id="second")
    assert (again.id, again.status) == (job.id, JobStatus.SUCCEEDED)
    assert len(world.store.jobs()) == 1


def test_a_request_that_is_repeated_while_its_job_waits_does_not_put_it_off() -> None:
    world = debounced()
    first = edit(world, 1, id="first")
    world.advance(5)
    assert edit(world, 1, id="first").run_at == first.run_at


# --- what a further submission writes ---


def test_a_further_submission_is_one_write_of_the_job_and_sends_no_message(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    world = debounced()
    first = edit(world, 1)
    writes: list[str] = []
    for port, names in (
        (world.store, ("transition", "put", "put_content", "put_failure")),
        (world.side_items, ("write_item",)),
        (world.queues, ("send",)),
    ):
        for name in names:
            if hasattr(port, name):
                real = getattr(port, name)
                monkeypatch.setattr(port, name, _noting(writes, name, real), raising=False)
    world.advance(4)
    second = edit(world, 2)
    assert writes == ["transition"]
    entry = (first.due_at, first.shard, first.generation, first.enqueued_at, first.history)
    assert entry == (
        second.due_at,
        second.shard,
        second.generation,
        second.enqueued_at,
        second.history,
    )


def _noting(writes: list[str], name: str, real: Any) -> Any:
    def call(*args: Any, **kwargs: Any) -> Any:
        writes.append(name)
        return real(*args, **kwargs)

    return call


@pytest.mark.parametrize("wait", [20, 10, 2])
def test_a_job_moves_at_most_twice_in_each_wait_however_many_submissions_come(wait: int) -> None:
    world = debounced(wait=wait)
    for number in range(60):
        job = edit(world, number)
        world.advance(1)
        world.deliver()
    assert ran(world) == []
    moves = world.job(job).generation - 1
    assert 1 < moves <= 2 * 60 // wait
    world.settle()
    assert ran(world) == ['{"n":59,"shop":"acme"}']


def test_the_record_of_a_job_that_is_put_off_for_weeks_outlives_it() -> None:
    world = debounced(wait=MAX_WAIT_SECONDS)
    job = edit(world, 0)
    [record] = world.side_items.items()
    before = world.side_items.kept_until(record)
    for day in range(33):
        world.advance(80_000)
        world.minute()
        assert edit(world, day).id == job.id
    after = world.side_items.kept_until(record)
    assert before is not None
    assert after is not None
    assert after > before


def test_a_job_that_waits_for_a_slot_takes_newer_payloads() -> None:
    debounce = Debounce("payload.shop", wait=10)
    handler = HandlerInfo(name="greet", debounce=debounce, limits=(Concurrency(1),))
    world = World(handlers=(handler,))
    edit(world, 1, "other")
    world.advance(10)
    [delivery] = world.receive()

    def behave(job: Job, pulse: Pulse) -> Finished:
        edit(world, 1)
        world.advance(10)
        world.deliver()
        waiting = edit(world, 2)
        assert waiting.waits_for is not None
        return succeed(job, pulse)

    world.handle(delivery, behave)
    world.settle()
    assert ran(world) == ['{"n":1,"shop":"other"}', '{"n":2,"shop":"acme"}']


def test_a_job_that_a_person_runs_now_waits_for_no_further_submission() -> None:
    world = debounced()
    job = edit(world, 1)
    world.advance(4)
    edit(world, 2)
    world.api.operations.run_now(job.id, actor="caller")
    world.deliver()
    assert ran(world) == ['{"n":2,"shop":"acme"}']


@pytest.mark.parametrize("sizes", [(10, 400_000), (400_000, 10), (400_000, 300_000), (10, 1_000)])
def test_payloads_of_any_size_replace_each_other(sizes: tuple[int, int]) -> None:
    world = debounced()
    for size in sizes:
        job = world.submit(payload={"shop": "acme", "text": "x" * size})
        world.advance(1)
    world.settle()
    assert world.job(job).status is JobStatus.SUCCEEDED
    assert [len(text) for text in ran(world)] == [len('{"shop":"acme","text":""}') + sizes[1]]


@pytest.mark.parametrize("field", [{"delay_seconds": 5}, {"run_at": "2026-01-05T10:00:00Z"}])
def test_a_debounced_job_takes_no_time(field: dict[str, Any]) -> None:
    with pytest.raises(InvalidDebounce) as refused:
        edit(debounced(), 1, **field)
    assert [refused.value.errors[0].field] == list(field)


def test_other_bad_input_is_refused() -> None:
    with pytest.raises(MissingKey):
        debounced().submit(payload={})
    with pytest.raises(InvalidUnique):
        edit(debounced(), 1, idempotency_key="once")
    debounce = {"key": "tenant", "wait_seconds": 1}
    with pytest.raises(InvalidInput):
        edit(World(), 1, unique={"key": "tenant"}, debounce=debounce)
