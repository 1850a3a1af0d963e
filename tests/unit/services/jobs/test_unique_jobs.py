"""Unique jobs: which submission creates the job, and what the others get."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from hourhand.api.requests.filters import BulkRequest
from hourhand.api.requests.jobs import JobSubmission
from hourhand.domain.errors import InvalidUnique, MissingKey, Unavailable, UniqueConflict
from hourhand.domain.jobs.job import Job, JobStatus
from hourhand.domain.limits.unique_keys import Unique
from hourhand.memory import START
from hourhand.ports.handler_directory import HandlerInfo
from hourhand.ports.handler_runner import Finished, Pulse
from hourhand.ports.job_store import Refused
from hourhand.services.jobs.submission import Submitted
from tests.world.faults import Faults
from tests.world.runs import fail_for_good, succeed
from tests.world.world import World

DAY = {"day": "2026-01-05"}


def unique_world(*args: Any, **options: Any) -> World:
    return World(handlers=(HandlerInfo(name="greet", unique=Unique(*args, **options)), "other"))


def by_day(**options: Any) -> World:
    return unique_world("payload.day", **options)


def while_it_runs(world: World, look: Any) -> None:
    def behave(job: Job, pulse: Pulse) -> Finished:
        look()
        return succeed(job, pulse)

    [delivery] = world.receive()
    world.handle(delivery, behave)


# --- scope ---


def test_a_second_submission_gets_the_job_that_has_the_key() -> None:
    world = by_day()
    first, second = world.submit(payload=DAY), world.submit(payload={**DAY, "more": 1})
    assert first.id == second.id
    assert first.id.startswith("u.")
    assert world.submit(payload={"day": "2026-01-06"}).id != first.id
    assert len(world.store.jobs()) == 2


@pytest.mark.parametrize(
    ("until", "while_running", "after_success", "after_failure"),
    [
        ("start", False, False, False),
        ("end", True, False, False),
        ("success", True, False, True),
        (3600, True, True, True),
    ],
)
def test_a_key_is_free_again_once_its_job_is_out_of_scope(
    until: Any, while_running: bool, after_success: bool, after_failure: bool
) -> None:
    world = by_day(until=until)
    first = world.submit(payload=DAY)
    same: list[bool] = []
    while_it_runs(world, lambda: same.append(world.submit(payload=DAY).id == first.id))
    assert same == [while_running]
    world = by_day(until=until)
    first = world.submit(payload=DAY)
    world.deliver()
    assert (world.submit(payload=DAY).id == first.id) is after_success
    world = by_day(until=until)
    first = world.submit(payload=DAY)
    world.deliver(fail_for_good)
    assert world.job(first).status is JobStatus.DEAD
    assert (world.submit(payload=DAY).id == first.id) is after_failure


def test_a_key_for_a_number_of_seconds_is_free_after_them() -> None:
    world = by_day(until=60)
    first = world.submit(payload=DAY)
    world.deliver()
    world.advance(59)
    assert world.submit(payload=DAY).id == first.id
    world.advance(1)
    assert world.submit(payload=DAY).id != first.id


def test_keys_belong_to_a_handler_and_a_tenant() -> None:
    world = by_day()
    unique = {"key": "payload.day"}
    jobs = [
        world.submit(payload=DAY),
        world.submit(payload=DAY, tenant="acme"),
        world.submit(payload=DAY, tenant="globex"),
        world.submit(payload=DAY, handler="other", unique=unique),
    ]
    assert len({job.id for job in jobs}) == 4
    assert world.submit(payload=DAY, handler="other", unique=unique).id == jobs[3].id
    assert world.submit(payload=DAY, handler="other").id != jobs[3].id


@pytest.mark.parametrize("key", ["payload", "handler", "nightly", "tags.a"])
def test_any_key_path_names_a_unique_key(key: str) -> None:
    world = unique_world(key)
    first = world.submit(payload=[1, {"a": 2}], tags={"a": "b"})
    assert world.submit(payload=[1, {"a": 2}], tags={"a": "b"}).id == first.id


def test_incarnations_are_numbered_and_the_record_names_the_newest() -> None:
    world = by_day()
    for number in (1, 2, 3):
        job = world.submit(payload=DAY)
        assert job.unique_key is not None
        assert job.unique_key[1] == number
        world.deliver()
    [record] = world.side_items.items().values()
    assert record.number("newest") == 3
    assert len(world.store.jobs()) == 3


# --- conflicts ---


def test_a_submission_is_rejected_with_the_id_of_the_job_that_has_the_key() -> None:
    world = by_day(on_conflict="reject")
    first = world.submit(payload=DAY)
    with pytest.raises(UniqueConflict, match=first.id):
        world.submit(payload=DAY)
    world.deliver()
    assert world.submit(payload=DAY).id != first.id


def test_a_request_that_is_repeated_after_a_lost_answer_is_not_rejected() -> None:
    world = by_day(on_conflict="reject")
    first = world.submit(payload=DAY, id="mine")
    assert world.submit(payload=DAY, id="mine").id == first.id
    with pytest.raises(UniqueConflict):
        world.submit(payload=DAY, id="another")


def test_payload_and_time_of_a_job_that_has_not_begun_are_replaced() -> None:
    world = by_day(until="start", on_conflict="replace")
    first = world.submit(payload={**DAY, "n": 1}, delay_seconds=3600)
    second = world.submit(payload={**DAY, "n": 2}, delay_seconds=60, priority="high")
    assert second.id == first.id
    assert (second.run_at - START).total_seconds() == 60
    assert second.priority == "high"
    world.settle()
    assert [run.payload_text for run in world.runs] == ['{"day":"2026-01-05","n":2}']


def test_a_job_that_began_is_not_replaced_and_a_new_one_is_created() -> None:
    world = by_day(until="start", on_conflict="replace")
    first = world.submit(payload=DAY)
    ids: list[str] = []
    while_it_runs(world, lambda: ids.append(world.submit(payload=DAY).id))
    assert ids != [first.id]
    world.settle()
    assert len(world.runs) == 2


def test_a_job_that_begins_between_the_look_and_the_change_is_not_replaced() -> None:
    world = by_day(until="start", on_conflict="replace")
    first = world.submit(payload=DAY)
    faults = Faults().interrupt("jobs.transition", world.deliver)
    second = world.submit(payload=DAY, by=world.process(faults).api)
    assert second.id != first.id
    assert world.job(first).status is JobStatus.SUCCEEDED


def test_a_job_that_is_replaced_loses_an_expiry_that_the_submission_does_not_give() -> None:
    world = by_day(until="start", on_conflict="replace")
    world.submit(payload=DAY, delay_seconds=60, expires_at=(START + timedelta(300)).isoformat())
    second = world.submit(payload=DAY, delay_seconds=3600)
    assert second.expires_at is None


# --- repeated requests ---


@pytest.mark.parametrize("until", ["start", "end", "success", 1])
@pytest.mark.parametrize("ends", [succeed, fail_for_good])
def test_a_request_that_is_repeated_after_its_job_ended_creates_no_other(
    until: Any, ends: Any
) -> None:
    world = by_day(until=until)
    first = world.submit(payload=DAY, id="mine")
    world.deliver(ends)
    world.advance(2)
    again = world.submit(payload=DAY, id="mine")
    assert (again.id, again.round) == (first.id, 1)
    assert len(world.store.jobs()) == 1


def test_a_request_that_replaced_a_job_is_known_once_that_job_ended() -> None:
    world = by_day(until="start", on_conflict="replace")
    world.submit(payload={**DAY, "n": 1}, id="first")
    job = world.submit(payload={**DAY, "n": 2}, id="second")
    world.deliver()
    assert world.submit(payload={**DAY, "n": 2}, id="second").id == job.id
    # Another one came since: the first counts as a new request.
    assert world.submit(payload={**DAY, "n": 1}, id="first").id != job.id


def test_an_id_with_another_body_is_another_request() -> None:
    world = by_day()
    first = world.submit(payload=DAY, id="mine")
    world.deliver()
    assert world.submit(payload={**DAY, "n": 2}, id="mine").id != first.id


def test_the_same_body_without_an_id_is_another_request() -> None:
    world = by_day()
    first = world.submit(payload=DAY)
    world.deliver()
    assert world.submit(payload=DAY).id != first.id


# --- bad input ---


@pytest.mark.parametrize("payload", [None, {}, {"day": None}, [1], "text"])
def test_a_job_without_its_key_is_refused(payload: Any) -> None:
    world = by_day()
    with pytest.raises(MissingKey) as refused:
        world.submit(payload=payload)
    assert refused.value.errors[0].message == "the job has no payload.day"
    assert world.store.jobs() == {}


def test_a_unique_job_takes_no_idempotency_key() -> None:
    with pytest.raises(InvalidUnique) as refused:
        by_day().submit(payload=DAY, idempotency_key="once")
    assert refused.value.errors[0].field == "idempotency_key"


# --- races and crashes ---


def test_of_two_submissions_at_once_one_creates_the_job() -> None:
    world = by_day()
    others: list[Job] = []
    faults = Faults().interrupt("jobs.put", lambda: others.append(world.submit(payload=DAY)))
    job = world.submit(payload=DAY, by=world.process(faults).api)
    assert [job.id] == [other.id for other in others]
    assert len(world.store.jobs()) == 1


def test_a_submission_that_died_before_the_record_is_found_by_the_next() -> None:
    world = by_day()
    faults = Faults().fail("side_items.write_item", Unavailable("It did not answer."))
    with pytest.raises(Unavailable):
        world.submit(payload=DAY, by=world.process(faults).api)
    [job] = world.store.jobs().values()
    assert world.submit(payload=DAY).id == job.id
    assert len(world.store.jobs()) == 1
    [record] = world.side_items.items().values()
    assert record.number("newest") == 1


def test_the_payload_of_a_submission_that_came_second_expires() -> None:
    world = by_day()
    large = {**DAY, "text": "x" * 300_000}
    others: list[Job] = []
    faults = Faults().interrupt("jobs.put", lambda: others.append(world.submit(payload=large)))
    job = world.submit(payload={**large, "n": 2}, by=world.process(faults).api)
    assert [job.id] == [other.id for other in others]
    [stays] = world.objects.keys() - set(world.objects.finished())
    assert stays == job.payload.key


def test_a_payload_that_two_submissions_share_does_not_expire() -> None:
    world = by_day()
    large = {**DAY, "text": "x" * 300_000}
    faults = Faults().interrupt("jobs.put", lambda: world.submit(payload=large))
    job = world.submit(payload=large, by=world.process(faults).api)
    assert world.objects.keys() == {job.payload.key}
    assert not world.objects.finished()


def test_a_job_that_is_met_in_a_bucket_that_may_be_closed_is_found_by_the_sweep() -> None:
    world = by_day()
    faults = Faults().interrupt("jobs.put", lambda: world.advance(600))
    faults.fail("jobs.transition", Unavailable("It did not answer."))
    with pytest.raises(Unavailable):
        world.submit(payload=DAY, by=world.process(faults).api)
    [job] = world.store.jobs().values()
    met = world.submit(payload=DAY)
    assert met.id == job.id
    assert met.due_at is not None
    assert met.due_at >= job.run_at + timedelta(seconds=600)


def test_a_submission_that_stalls_looks_again_before_it_creates_a_job() -> None:
    world = by_day()
    faults = Faults().interrupt("side_items.read_item", lambda: world.advance(10))
    job = world.submit(payload=DAY, by=world.process(faults).api)
    assert [call.method for call in faults.calls].count("read_item") == 2
    assert world.job(job).unique_key is not None


def test_a_key_that_others_take_each_time_is_answered_as_unavailable(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    world = by_day()
    world.submit(payload=DAY)
    monkeypatch.setattr(type(world.side_items), "read_item", lambda *_, **__: None)
    with pytest.raises(Unavailable, match="came first each time"):
        world.submit(payload={"day": "2026-01-05", "n": 2})


def test_a_job_that_is_deleted_as_a_submission_meets_it_is_created_anew(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    world = by_day()
    put, refusals = world.store.put, [Refused(None)]
    monkeypatch.setattr(world.store, "put", lambda job: refusals.pop() if refusals else put(job))
    job = world.submit(payload=DAY)
    assert refusals == []
    assert list(world.store.jobs()) == [job.id]
    [record] = world.side_items.items().values()
    assert record.number("newest") == 1


# --- many ---


def test_unique_jobs_of_a_batch_meet_each_other_and_those_before_them() -> None:
    world = by_day()
    first, tuesday = world.submit(payload=DAY), {"day": "2026-01-06"}
    bodies: list[dict[str, Any]] = [
        {"handler": "greet", "payload": DAY},
        {"handler": "greet", "payload": tuesday},
        {"handler": "other", "payload": DAY},
        {"handler": "greet", "payload": {}},
        {"handler": "greet", "payload": tuesday},
    ]
    requests = [JobSubmission.parse(body) for body in bodies]
    met, new, plain, refused, again = world.api.submission.submit_many(requests, actor="caller")
    assert met == Submitted(first, created=False)
    assert isinstance(new, Submitted)
    assert new.created
    assert again == Submitted(new.job, created=False)
    assert isinstance(plain, Submitted)
    assert (plain.created, plain.job.unique_key) == (True, None)
    assert isinstance(refused, MissingKey)
    assert {*world.store.jobs()} == {first.id, new.job.id, plain.job.id}
    world.deliver()
    assert len(world.runs) == 3


def test_a_batch_that_takes_too_long_leaves_its_other_unique_jobs_to_a_repetition() -> None:
    world = by_day()
    faults = Faults().interrupt("side_items.write_item", lambda: world.advance(20), nth=2)
    bodies = [{"handler": "greet", "payload": {"day": n}, "id": f"id-{n}"} for n in range(3)]
    requests = [JobSubmission.parse({**body}) for body in bodies]
    plain = JobSubmission.parse({"handler": "other"})
    process = world.process(faults).api
    *taken, late, other = process.submission.submit_many([*requests, plain], actor="caller")
    assert all(isinstance(one, Submitted) for one in (*taken, other))
    assert isinstance(late, Unavailable)
    again = world.api.submission.submit_many(requests, actor="caller")
    assert [isinstance(one, Submitted) and one.created for one in again] == [False, False, True]


# --- redrives ---


def dead_jobs(world: World, count: int) -> list[Job]:
    """Return jobs of one key, each of which ended DEAD before the next was submitted."""
    jobs = []
    for _ in range(count):
        jobs.append(world.submit(payload=DAY))
        world.deliver(fail_for_good)
    return jobs


def redrive(world: World, job: Job) -> Job:
    return world.api.operations.redrive(job.id, actor="caller")


def test_only_the_newest_job_of_a_key_is_redriven() -> None:
    world = by_day()
    *older, newest = dead_jobs(world, 3)
    for job in older:
        with pytest.raises(UniqueConflict, match=newest.id):
            redrive(world, job)
    assert redrive(world, newest).round == 2
    assert world.submit(payload=DAY).id == newest.id
    # Nor once the newest has ended.
    world.deliver()
    for job in older:
        with pytest.raises(UniqueConflict, match=newest.id):
            redrive(world, job)


@pytest.mark.parametrize("ends", [succeed, fail_for_good])
def test_a_bulk_redrive_puts_one_job_of_a_key_in_scope(ends: Any) -> None:
    world = by_day()
    *older, newest = dead_jobs(world, 3)
    result = world.api.bulk.redrive(BulkRequest.parse({"all": True}), actor="caller")
    assert (result.matched, result.changed) == (3, 1)
    assert {failure.id for failure in result.failed} == {job.id for job in older}
    assert all(isinstance(failure.error, UniqueConflict) for failure in result.failed)
    world.deliver(ends)
    again = world.api.bulk.redrive(BulkRequest.parse({"all": True}), actor="caller")
    assert again.changed == (0 if ends is succeed else 1)
    assert world.job(newest).round >= 2


@pytest.mark.parametrize("until", ["start", 60])
def test_a_job_that_ended_before_the_next_of_its_key_is_not_redriven(until: Any) -> None:
    world = by_day(until=until)
    [first] = dead_jobs(world, 1)
    world.advance(60)
    second = world.submit(payload=DAY)
    with pytest.raises(UniqueConflict, match=second.id):
        redrive(world, first)


def test_a_job_that_still_ran_when_the_next_of_its_key_came_is_redriven_at_any_time() -> None:
    world = by_day(until="start")
    first = world.submit(payload=DAY)
    later: list[Job] = []

    def behave(job: Job, pulse: Pulse) -> Finished:
        later.append(world.submit(payload=DAY))
        return fail_for_good(job, pulse)

    [delivery] = world.receive()
    world.handle(delivery, behave)
    assert later[0].id != first.id
    assert redrive(world, first).round == 2
    assert world.submit(payload=DAY).id == later[0].id


def test_a_job_that_was_cancelled_before_it_began_has_the_key_again_once_redriven() -> None:
    world = by_day(until="start")
    first = world.submit(payload=DAY)
    world.api.operations.cancel(first.id, actor="caller")
    redrive(world, first)
    assert world.submit(payload=DAY).id == first.id


def test_a_cancelled_job_is_not_redriven_beside_a_dead_one_that_keeps_the_key() -> None:
    world = by_day(until="success")
    first = world.submit(payload=DAY)
    world.api.operations.cancel(first.id, actor="caller")
    [second] = dead_jobs(world, 1)
    with pytest.raises(UniqueConflict, match=second.id):
        redrive(world, first)


def test_a_dead_job_that_is_discarded_leaves_its_key() -> None:
    world = by_day(until="success")
    [first] = dead_jobs(world, 1)
    world.api.operations.discard(first.id, actor="caller")
    second = world.submit(payload=DAY)
    assert second.id != first.id
    with pytest.raises(UniqueConflict, match=second.id):
        redrive(world, first)


def test_a_job_whose_successor_was_deleted_is_to_be_submitted_again() -> None:
    world = by_day()
    first = world.submit(payload=DAY, retention_seconds=10 * 86_400)
    world.deliver(fail_for_good)
    second = world.submit(payload=DAY, retention_seconds=86_400)
    world.deliver()
    world.advance(2 * 86_400)
    world.store.delete_expired(world.clock.now())
    assert second.id not in world.store.jobs()
    with pytest.raises(UniqueConflict, match="Submit the job again"):
        redrive(world, first)


def test_a_refused_redrive_leaves_no_payload_in_the_bucket() -> None:
    world = by_day()
    large = {**DAY, "text": "x" * 300_000}
    first = world.submit(payload=large)
    world.settle(fail_for_good)
    faults = Faults().interrupt("jobs.transition", lambda: world.submit(payload=DAY))
    with pytest.raises(UniqueConflict):
        world.process(faults).api.operations.redrive(first.id, actor="caller")
    assert world.job(first).payload.key in world.objects.finished()


# --- changes ---


def test_a_job_that_is_moved_a_little_leaves_its_record_as_it_is() -> None:
    world = by_day()
    first = world.submit(payload=DAY)
    [record] = world.side_items.items()
    before = world.side_items.kept_until(record)
    world.change(first, delay_seconds=30 * 86_400)
    assert world.side_items.kept_until(record) == before


def test_a_job_that_is_moved_by_a_year_keeps_its_key() -> None:
    world = by_day()
    first = world.submit(payload=DAY)
    [record] = world.side_items.items()
    before = world.side_items.kept_until(record)
    world.change(first, delay_seconds=365 * 86_400)
    after = world.side_items.kept_until(record)
    assert before is not None
    assert after is not None
    assert after - before == timedelta(days=365)
    assert world.submit(payload=DAY).id == first.id


def test_a_unique_job_is_kept_for_a_day_at_least() -> None:
    job = by_day().submit(payload=DAY, retention_seconds=0)
    assert job.retention_seconds == 86_400
    job = by_day(until=172_800).submit(payload=DAY, retention_seconds=0)
    assert job.retention_seconds == 172_800
