"""Accepting jobs: durable before they are acknowledged, and sent at once if they are due."""

from __future__ import annotations

from datetime import timedelta

import pytest

from hourhand.api.requests.jobs import JobSubmission
from hourhand.domain.errors import (
    BadRequest,
    HourhandError,
    IdempotencyConflict,
    InvalidInput,
    Unavailable,
)
from hourhand.domain.ids import job_id_for_key
from hourhand.domain.jobs.job import EventKind, Job, JobStatus, Priority
from hourhand.domain.jobs.submission import NewJob
from hourhand.domain.times import rfc3339
from hourhand.memory import FAKE_SECRET, START, MemoryHandlerDirectory
from hourhand.ports.job_store import Refused, WriteResult
from hourhand.services.jobs.submission import Submitted
from tests.scenarios.steps import IN_BUCKET
from tests.world.faults import Faults, When
from tests.world.world import World

LARGE = "x" * 300


def _parse(**body: object) -> NewJob:
    return JobSubmission.parse({"handler": "greet", **body})


def _submit(world: World, **body: object) -> Submitted:
    return world.api.submission.submit(_parse(**body), actor="caller")


# --- one ----------------------------------------------------------------------------------------


def test_a_job_is_in_the_table_and_its_message_on_the_way_when_it_is_acknowledged(
    world: World,
) -> None:
    submitted = _submit(world, priority="high", delay_seconds=100.9)
    assert submitted.created
    assert world.job(submitted.job) == submitted.job
    (sent,) = world.queues.messages(Priority.HIGH)
    assert sent.message.job_id == submitted.job.id
    # Rounded down: a worker waits out the rest, and nobody could make up for a message too late.
    assert (sent.visible_at - START).total_seconds() == 100
    assert world.telemetry.total("jobs_submitted") == 1


def test_an_unknown_handler_is_refused_naming_those_that_exist(world: World) -> None:
    with pytest.raises(InvalidInput) as refused:
        _submit(world, handler="great")
    (error,) = refused.value.errors
    assert error.field == "handler"
    assert error.message.endswith("Did you mean 'greet'? Registered: greet")
    with pytest.raises(InvalidInput) as refused:
        _submit(world, handler="invoice")
    assert "Did you mean" not in refused.value.errors[0].message
    world.handlers = MemoryHandlerDirectory(advice="Import it.")
    with pytest.raises(InvalidInput, match="The handler 'greet' is not registered") as refused:
        world.process().api.submission.submit(_parse(), actor="caller")
    assert refused.value.errors[0].message.endswith(
        "is not registered. Import it. Registered: none"
    )


def test_a_job_that_cannot_be_sent_is_accepted_all_the_same(world: World) -> None:
    faults = Faults()
    faults.throttle("queues.send")
    submitted = world.process(faults).api.submission.submit(_parse(), actor="caller")
    assert submitted.created
    job = world.job(submitted.job)
    assert (job.status, job.enqueued_at) == (JobStatus.PENDING, None)
    assert job.history[-1].kind is EventKind.SEND_FAILED


def test_a_table_without_an_answer_is_told_to_the_caller(world: World) -> None:
    faults = Faults()
    faults.throttle("jobs.put")
    with pytest.raises(Unavailable):
        world.process(faults).api.submission.submit(_parse(), actor="caller")
    assert not world.store.jobs()


# --- the same again -----------------------------------------------------------------------------


@pytest.mark.parametrize("name", [{"idempotency_key": "k"}, {"id": "own"}])
@pytest.mark.parametrize("payload", [1, LARGE])
def test_the_same_submission_again_is_answered_with_the_first_job(
    world: World, name: dict[str, str], payload: object
) -> None:
    first = _submit(world, payload=payload, **name)
    world.advance(1)
    again = _submit(world, payload=payload, **name)
    assert (again.created, again.job) == (False, first.job)
    assert len(world.queues.messages()) == 1


@pytest.mark.parametrize("name", [{"idempotency_key": "k"}, {"id": "own"}])
@pytest.mark.parametrize("payload", [1, LARGE])
def test_another_body_under_a_name_that_is_taken_is_a_conflict(
    world: World, name: dict[str, str], payload: object
) -> None:
    first = _submit(world, payload="the first", **name)
    with pytest.raises(IdempotencyConflict) as refused:
        _submit(world, payload=payload, **name)
    assert [error.field for error in refused.value.errors] == [*name]
    assert world.job(first.job) == first.job
    assert not world.store.kept_texts(first.job.id)


def test_a_key_belongs_to_its_tenant(world: World) -> None:
    jobs = {_submit(world, idempotency_key="k", tenant=t).job.id for t in (None, "a", "b")}
    assert jobs == {job_id_for_key(FAKE_SECRET, t, "k") for t in (None, "a", "b")}


def test_a_put_that_the_client_repeated_is_known_again_as_our_own(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    put = world.store.put

    def put_twice(job: Job) -> WriteResult:
        # The first answer was lost; the second one says that the item exists.
        put(job)
        return put(job)

    monkeypatch.setattr(world.store, "put", put_twice)
    submitted = _submit(world, idempotency_key="k")
    assert submitted.created
    assert len(world.queues.messages()) == 1


def test_an_id_that_is_freed_while_it_is_taken_is_to_be_tried_again(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(world.store, "put", lambda _job: Refused(None))
    with pytest.raises(Unavailable, match="was deleted during the request"):
        _submit(world, id="own")


def test_who_loses_a_race_for_a_name_answers_with_the_winners_job(world: World) -> None:
    faults = Faults()
    won: list[Submitted] = []
    faults.interrupt("jobs.put", lambda: won.append(_submit(world, idempotency_key="k")))
    request = _parse(idempotency_key="k")
    lost = world.process(faults).api.submission.submit(request, actor="caller")
    assert (lost.created, lost.job) == (False, won[0].job)


# --- many ---------------------------------------------------------------------------------------


def test_each_of_many_is_judged_alone_and_answered_in_its_place(world: World) -> None:
    bad = BadRequest("not JSON")
    requests: list[NewJob | HourhandError] = [
        _parse(payload=1),
        bad,
        _parse(handler="great"),
        _parse(payload=2, delay_seconds=1000),
        _parse(payload=3, id="own"),
        _parse(payload=4, id="own"),
    ]
    first, second, third, fourth, fifth, sixth = world.api.submission.submit_many(
        requests, actor="caller"
    )
    assert isinstance(first, Submitted)
    assert second is bad
    assert isinstance(third, InvalidInput)
    assert isinstance(fourth, Submitted)
    assert isinstance(fifth, Submitted)
    assert isinstance(sixth, IdempotencyConflict)
    assert len(world.store.jobs()) == 3
    sent = [m.message.job_id for m in world.queues.messages()]
    assert sent == [first.job.id, fifth.job.id]


def test_what_was_accepted_of_many_is_sent_though_another_had_no_answer(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    plain = world.store.put_many

    def put_many(jobs: list[Job]) -> list[WriteResult | HourhandError]:
        first, last = plain([jobs[0], jobs[2]])
        return [first, Unavailable("The table is throttled."), last]

    monkeypatch.setattr(world.store, "put_many", put_many)
    service = world.process().api.submission
    results = service.submit_many([_parse(), _parse(), _parse()], actor="caller")
    assert [isinstance(result, Submitted) for result in results] == [True, False, True]
    assert len(world.queues.messages()) == 2


def test_the_first_of_many_do_not_wait_for_the_last(world: World) -> None:
    faults = Faults()
    sent_before: list[int] = []
    for nth in (1, 2, 3):
        faults.interrupt(
            "jobs.put_many", lambda: sent_before.append(len(world.queues.messages())), nth=nth
        )
    service = world.process(faults).api.submission
    service.submit_many([_parse() for _ in range(201)], actor="caller")
    assert sent_before == [0, 100, 200]
    assert [call.method for call in faults.calls].count("send") == 3
    assert len(world.queues.messages()) == 201


@pytest.mark.parametrize("name", [{"id": "mine"}, {"idempotency_key": "mine"}])
def test_of_many_a_name_that_comes_twice_is_one_job(world: World, name: dict[str, str]) -> None:
    """And its large payload, which is kept before the job is, is kept once."""
    requests = [_parse(**name, payload=IN_BUCKET), _parse(), _parse(**name, payload=IN_BUCKET)]
    first, other, again = world.api.submission.submit_many(requests, actor="caller")
    assert isinstance(first, Submitted)
    assert isinstance(other, Submitted)
    assert isinstance(again, Submitted)
    assert (first.created, other.created, again.created) == (True, True, False)
    assert first.job.id == again.job.id != other.job.id
    assert len(world.objects.keys()) == 1


def test_a_repeated_submission_of_a_job_that_ended_is_answered_with_its_end(world: World) -> None:
    _submit(world, idempotency_key="k")
    world.settle()
    world.advance(600)
    again = _submit(world, idempotency_key="k")
    assert (again.created, again.job.status) == (False, JobStatus.SUCCEEDED)
    assert not world.queues.messages()


@pytest.mark.parametrize("name", [{"id": "mine"}, {"idempotency_key": "mine"}])
def test_a_submission_repeated_when_its_times_are_over_is_answered_with_the_first_job(
    world: World, name: dict[str, str]
) -> None:
    times = {"run_at": rfc3339(START), "expires_at": rfc3339(START + timedelta(hours=1))}
    first = _submit(world, **name, **times).job
    world.advance(2 * 86_400)
    again = _submit(world, **name, **times)
    assert (again.created, again.job.id) == (False, first.id)
    with pytest.raises(IdempotencyConflict):
        _submit(world, **name, **times, payload="another")
    with pytest.raises(InvalidInput):
        _submit(world, **times)


def test_a_repeated_submission_whose_job_was_passed_by_is_filed_and_sent_anew(world: World) -> None:
    job = _submit(world, idempotency_key="k").job
    world.queues.purge()
    world.advance(120)
    again = _submit(world, idempotency_key="k")
    assert (again.created, again.job.id, again.job.due_at) == (False, job.id, world.clock.now())
    assert len(world.queues.messages()) == 1


def test_a_writer_that_stalled_until_its_job_was_run_sends_nothing(world: World) -> None:
    faults = Faults()

    def overtake() -> None:
        world.advance(120)
        world.tick()
        world.deliver()

    faults.interrupt("jobs.put", overtake, when=When.AFTER)
    faults.throttle("queues.send")
    submitted = world.process(faults).api.submission.submit(_parse(), actor="caller")
    assert submitted.job.status is JobStatus.SUCCEEDED
    assert [call.method for call in faults.calls].count("send") == 0
