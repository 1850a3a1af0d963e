"""Many new jobs on a shard that DynamoDB throttles: none twice, none lost, and a bounded time."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import pytest

from hourhand.api.requests.jobs import JobSubmission
from hourhand.domain.errors import HourhandError, IdempotencyConflict, PutOff, Unavailable
from hourhand.domain.jobs.job import EventKind, Job
from hourhand.domain.jobs.submission import NewJob
from hourhand.domain.ticks.buckets import bucket_of
from hourhand.memory import START
from hourhand.ports.job_store import Applied, Refused, WriteResult
from hourhand.services.jobs.puts import (
    LONGEST_WAIT_SECONDS,
    MAX_UNANSWERED,
    PUT_SECONDS,
    PUT_TOGETHER,
    THROTTLED_SHARD,
    PutPace,
)
from hourhand.services.jobs.submission import Submitted
from tests.unit.services.jobs.test_due import a_new_job
from tests.world.world import World

CALL_SECONDS = 0.01


class Shard:
    """Takes so many jobs a second, of which it saves up one second's.

    ``unanswered`` jobs of the next calls are not answered; ``stores_them`` says whether they are
    stored all the same. ``seconds``: how long a call takes; ``call_seconds``: the next ones.
    """

    def __init__(self, world: World, rate: float) -> None:
        self.world, self.rate = world, rate
        self.unanswered = 0
        self.stores_them = False
        self.seconds = CALL_SECONDS
        self.call_seconds: list[float] = []
        self.puts: Counter[str] = Counter()
        self._plain = world.store.put_many
        self._free, self._at = 0.0, world.clock.monotonic()
        world.store.put_many = self.put_many  # type: ignore[method-assign]

    def put_many(self, jobs: Sequence[Job]) -> list[WriteResult | HourhandError]:
        self.world.advance(self.call_seconds.pop() if self.call_seconds else self.seconds)
        now = self.world.clock.monotonic()
        self._free = min(self.rate, self._free + (now - self._at) * self.rate)
        self._at = now
        return [self._put(job) for job in jobs]

    def _put(self, job: Job) -> WriteResult | HourhandError:
        self.puts[job.id] += 1
        if self.unanswered > 0:
            self.unanswered -= 1
            if self.stores_them:
                self._plain([job])
            return PutOff("no answer", job_id=job.id)
        if self._free < 1:
            return PutOff("throttled", stored=False, job_id=job.id)
        self._free -= 1
        return self._plain([job])[0]


@pytest.fixture
def world() -> World:
    return World()


def submissions(count: int, **fields: object) -> list[NewJob | HourhandError]:
    return [JobSubmission.parse({"handler": "greet", **fields}) for _ in range(count)]


def seconds_since(world: World, began: float) -> float:
    return world.clock.monotonic() - began


@pytest.mark.parametrize("rate", [40, 300, 10_000])
def test_throttled_jobs_are_put_at_the_rate_of_their_shard_and_none_is_moved(
    world: World, rate: int
) -> None:
    shard = Shard(world, rate)
    began = world.clock.monotonic()
    results = world.api.submission.submit_many(submissions(500), actor="caller")
    assert all(isinstance(result, Submitted) for result in results)
    assert seconds_since(world, began) <= 500 / rate / 0.85 + 0.2
    jobs = world.store.jobs().values()
    assert len(jobs) == len(world.queues.messages()) == 500
    assert {event.kind for job in jobs for event in job.history} == {EventKind.SUBMITTED}
    # Each was filed when it was put, not when its call began.
    assert all(bucket_of(job.due_at or START) >= bucket_of(START) for job in jobs)
    assert sum(shard.puts.values()) <= 2 * 500


def test_after_its_time_a_call_says_of_each_job_whether_it_is_stored(world: World) -> None:
    Shard(world, 5)
    began = world.clock.monotonic()
    results = world.api.submission.submit_many(submissions(500), actor="caller")
    assert seconds_since(world, began) <= PUT_SECONDS + 2 * LONGEST_WAIT_SECONDS
    left = [each for each in results if isinstance(each, Unavailable)]
    assert len(results) == 500
    assert len(left) == 500 - len(world.store.jobs())
    assert {each.stored for each in left} == {False}
    ids = {each.job_id for each in left}
    assert len(ids) == len(left)
    assert not ids & world.store.jobs().keys()
    assert len(world.queues.messages()) == len(world.store.jobs()) > 50
    # Some were put off for longer than a writer may stall, but none of these tries filed anything.
    stored = world.store.jobs().values()
    assert {event.kind for job in stored for event in job.history} == {EventKind.SUBMITTED}
    (line,) = [each for each in world.telemetry.logs if each.sentence == THROTTLED_SHARD]
    assert line.fields["shard"] == 0


def test_on_a_clock_that_stands_still_a_call_ends_after_as_many_waits(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    shard = Shard(world, 0)
    shard.seconds = 0.0
    waits: list[float] = []
    monkeypatch.setattr(world.clock, "sleep", waits.append)
    (left,) = world.api.submission.due.put_many([a_new_job()], "caller")
    assert isinstance(left, Unavailable)
    assert left.stored is False
    assert PUT_SECONDS <= sum(waits) < PUT_SECONDS + LONGEST_WAIT_SECONDS
    assert len(waits) < 60


def test_callers_that_repeat_what_is_left_store_each_job_once(world: World) -> None:
    shard = Shard(world, 20)
    shard.unanswered = 60
    shard.stores_them = True
    todo = [{"handler": "greet", "payload": number} for number in range(500)]
    for _ in range(10):
        requests = [JobSubmission.parse(body) for body in todo]
        results = world.api.submission.submit_many(requests, actor="caller")
        shard.unanswered = 30
        todo = [
            {**body, "id": result.job_id}
            for body, result in zip(todo, results, strict=True)
            if isinstance(result, Unavailable)
        ]
        if not todo:
            break
    assert not todo
    payloads = Counter(job.payload.text for job in world.store.jobs().values())
    assert len(payloads) == payloads.total() == 500


@pytest.mark.parametrize("stores", [True, False])
def test_a_put_without_an_answer_is_repeated_and_is_one_job(world: World, *, stores: bool) -> None:
    shard = Shard(world, 10_000)
    shard.unanswered, shard.stores_them = 2, stores
    results = world.api.submission.due.put_many([a_new_job(name) for name in "abc"], "caller")
    assert [isinstance(result, Applied) for result in results] == [True, True, True]
    assert len(world.store.jobs()) == len(world.queues.messages()) == 3


def test_a_job_that_an_unanswered_try_filed_long_ago_is_moved(world: World) -> None:
    shard = Shard(world, 10_000)
    shard.unanswered, shard.stores_them = 1, True
    shard.call_seconds = [6.0]
    (result,) = world.api.submission.due.put_many([a_new_job()], "caller")
    assert isinstance(result, Applied)
    assert result.job.history[-1].kind is EventKind.REFILED
    (message,) = world.queues.messages()
    assert message.message.due_at == result.job.due_at


def test_a_table_that_never_answers_is_asked_a_few_times(world: World) -> None:
    shard = Shard(world, 10_000)
    shard.unanswered = 10_000
    began = world.clock.monotonic()
    results = world.api.submission.due.put_many([a_new_job(name) for name in "ab"], "caller")
    assert seconds_since(world, began) < PUT_SECONDS / 4
    assert set(shard.puts.values()) == {MAX_UNANSWERED}
    left = [each for each in results if isinstance(each, Unavailable)]
    assert [(each.stored, each.job_id) for each in left] == [(None, "a"), (None, "b")]


def test_what_was_not_answered_when_the_time_is_over_is_not_known(world: World) -> None:
    shard = Shard(world, 1)
    shard.unanswered, shard.seconds = 1, PUT_SECONDS
    results = world.api.submission.due.put_many([a_new_job(name) for name in "ab"], "caller")
    (left,) = [each for each in results if isinstance(each, Unavailable)]
    assert (left.stored, left.job_id) == (None, "a")


def test_a_batch_that_was_answered_in_time_is_not_moved_since_another_was_late(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    def put_many(jobs: Sequence[Job]) -> list[WriteResult]:
        early = [Applied(job, idle_seconds=5.5) for job in jobs[:25]]
        for job in jobs:
            world.store.put(job)
        world.advance(6)
        return [*early, *(Applied(job) for job in jobs[25:])]

    monkeypatch.setattr(world.store, "put_many", put_many)
    results = world.api.submission.due.put_many(
        [a_new_job(f"job-{n}") for n in range(50)], "caller"
    )
    kinds = [each.job.history[-1].kind for each in results if isinstance(each, Applied)]
    assert kinds == [EventKind.SUBMITTED] * 25 + [EventKind.REFILED] * 25


def test_moves_of_a_stalled_call_have_a_bound(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    def put_many(jobs: Sequence[Job]) -> list[WriteResult]:
        results = [world.store.put(job) for job in jobs]
        world.advance(6)
        return results

    transition = world.store.transition

    def slow(move: object) -> WriteResult:
        world.advance(2)
        return transition(move)  # type: ignore[arg-type]

    monkeypatch.setattr(world.store, "put_many", put_many)
    monkeypatch.setattr(world.store, "transition", slow)
    results = world.api.submission.due.put_many(
        [a_new_job(f"job-{n}") for n in range(50)], "caller"
    )
    left = [each for each in results if isinstance(each, Unavailable)]
    assert len(left) == 48
    assert {each.stored for each in left} == {True}
    assert left[0].job_id == "job-2"


def test_a_job_that_an_earlier_call_stored_is_found_when_the_time_is_over(world: World) -> None:
    mine = {"handler": "greet", "id": "mine"}
    first = world.api.submission.submit(JobSubmission.parse(mine), actor="caller")
    other = {"handler": "greet", "id": "mine", "payload": 7}
    Shard(world, 1)
    requests: list[NewJob | HourhandError] = [
        *submissions(PUT_TOGETHER),
        JobSubmission.parse(mine),
        Unavailable("parsed wrong"),
        JobSubmission.parse({"handler": "greet", "unique": {"key": "payload"}}),
        JobSubmission.parse({"handler": "greet", "id": "new"}),
        *submissions(1),
        JobSubmission.parse(other),
    ]
    results = world.api.submission.submit_many(requests, actor="caller")
    known, wrong, unique, new, nameless, changed = results[PUT_TOGETHER:]
    assert known == Submitted(first.job, created=False)
    assert wrong is requests[PUT_TOGETHER + 1]
    for left, job_id in ((unique, None), (new, "new")):
        assert isinstance(left, Unavailable)
        assert (left.stored, left.job_id) == (False, job_id)
    assert isinstance(nameless, Unavailable)
    assert nameless.job_id is not None
    assert isinstance(changed, IdempotencyConflict)


def test_a_put_off_job_whose_id_is_taken_is_refused(world: World) -> None:
    other = world.api.submission.submit(
        JobSubmission.parse({"handler": "greet", "id": "a"}), actor="caller"
    )
    Shard(world, 0)
    taken, left = world.api.submission.due.put_many([a_new_job("a"), a_new_job("b")], "caller")
    assert taken == Refused(other.job)
    assert isinstance(left, Unavailable)
    assert left.stored is False


@pytest.mark.parametrize("name", [None, "mine"])
def test_without_a_last_read_only_the_names_of_the_api_are_known_to_be_free(
    world: World, monkeypatch: pytest.MonkeyPatch, name: str | None
) -> None:
    Shard(world, 0)

    def get_many(_: Sequence[str]) -> object:
        raise Unavailable

    monkeypatch.setattr(world.store, "get_many", get_many)
    named = {} if name is None else {"id": name}
    requests = [*submissions(PUT_TOGETHER), *submissions(1, **named)]
    *put, left = world.api.submission.submit_many(requests, actor="caller")
    assert {each.stored for each in put if isinstance(each, Unavailable)} == {None}
    assert isinstance(left, Unavailable)
    assert left.stored is (False if name is None else None)


def test_a_pace_finds_its_rate_again() -> None:
    pace = PutPace(until=0.0)
    pace.note(100, 0)
    assert (pace.most, pace.wait_seconds) == (PUT_TOGETHER, 0.0)
    pace.note(100, 70)
    assert (pace.most, pace.wait_seconds) == (30, 0.1)
    waits = []
    for _ in range(6):
        pace.note(pace.most, pace.most)
        waits.append(pace.wait_seconds)
    assert (pace.most, waits) == (1, [0.2, 0.4, 0.8, 0.8, 0.8, 0.8])
    for _ in range(7):
        pace.note(pace.most, 0)
    assert (pace.most, pace.wait_seconds) == (PUT_TOGETHER, 0.0)


def test_a_job_without_a_name_is_repeated_under_its_id_with_the_same_body_alone(
    world: World,
) -> None:
    def submit(**fields: object) -> Submitted:
        body = {"handler": "greet", "payload": "x" * 300, "tags": {"a": "b"}, **fields}
        return world.api.submission.submit(JobSubmission.parse(body), actor="caller")

    first = submit()
    assert submit(id=first.job.id) == Submitted(first.job, created=False)
    others: list[dict[str, object]] = [{"payload": 1}, {"tags": {}}, {"tenant": "t"}]
    for other in others:
        with pytest.raises(IdempotencyConflict):
            submit(id=first.job.id, **other)
