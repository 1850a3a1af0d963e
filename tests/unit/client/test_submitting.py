"""Any number of jobs: in batches, side by side, told in order, and none of them forgotten."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from typing import Any

import httpx
import pytest

from hourhand.client import (
    ClientError,
    Conflict,
    Invalid,
    NotConfigured,
    NotSent,
    ServerFailed,
    Submission,
    SubmitProgress,
    Submitted,
    Throttled,
    TooLarge,
    UnexpectedAnswer,
    Unreachable,
    submitted_before,
)
from hourhand.client._operations._batches import MAX_BATCH_BYTES, MAX_BATCH_JOBS
from hourhand.client._operations._many import submit_many
from tests.unit.client.callers import Caller, PausingClock, Script, job_value

Calling = Callable[..., Caller]

LOST = httpx.ReadTimeout("")
THROTTLED = httpx.Response(429, headers={"retry-after": "3"})
UNAVAILABLE = {"type": "urn:hourhand:unavailable", "status": 503, "detail": "Not now."}
REFUSED = {"type": "urn:hourhand:invalid", "status": 422, "detail": "No.", "errors": []}


def jobs_of(request: httpx.Request) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(request.content)["jobs"]
    return found


def accept(request: httpx.Request) -> httpx.Response:
    """Answer as the API does to a batch that it takes whole."""
    results = [{"job": job_value(id=one["id"])} for one in jobs_of(request)]
    return httpx.Response(200, json={"results": results})


def results(*told: Any) -> httpx.Response:
    return httpx.Response(200, json={"results": list(told)})


def greetings(count: int) -> Iterator[dict[str, Any]]:
    return ({"handler": "greet", "payload": number} for number in range(count))


def payloads(caller: Caller) -> list[list[Any]]:
    return [[one.get("payload") for one in jobs_of(request)] for request in caller.requests]


def test_what_became_of_each_is_told_in_the_order_given(calling: Calling) -> None:
    caller = calling(accept)

    told = caller("submit_each", greetings(1234))

    assert [one.index for one in told] == list(range(1234))
    assert [one.submission.payload for one in told] == list(range(1234))
    assert {one.fate for one in told} == {"submitted"}
    assert all(one.job.id == one.submission.id for one in told)


def test_a_batch_holds_as_many_jobs_as_the_api_takes(calling: Calling) -> None:
    caller = calling(accept)

    caller("submit_many", list(greetings(1234)))

    assert sorted(len(jobs_of(request)) for request in caller.requests) == [234, 500, 500]


def test_a_batch_holds_as_many_bytes_as_the_api_takes(calling: Calling) -> None:
    caller = calling(accept)
    large = {"handler": "greet", "payload": "x" * 600_000}

    told = caller("submit_many", [large] * 9)

    assert [one.fate for one in told] == ["submitted"] * 9
    sizes = [len(request.content) for request in caller.requests]
    assert max(sizes) <= MAX_BATCH_BYTES
    assert sorted(len(jobs_of(request)) for request in caller.requests) == [1, 4, 4]


def test_a_batch_is_filled_to_the_last_byte(calling: Calling) -> None:
    caller = calling(accept)
    half = Submission(handler="greet", payload="x" * 1_000_000, id="a")
    other = Submission(handler="greet", payload="", id="b")
    taken = len(half.body()) + len(other.body()) + len('{"jobs":[,]}')
    filling = "y" * (MAX_BATCH_BYTES - taken)

    caller("submit_many", [half, replace(other, payload=filling)])
    caller("submit_many", [half, replace(other, payload=filling + "y")])

    assert [len(jobs_of(request)) for request in caller.requests] == [2, 1, 1]
    assert len(caller.requests[0].content) == MAX_BATCH_BYTES


def test_a_job_that_no_batch_can_hold_fails_alone(calling: Calling) -> None:
    caller = calling(accept)
    giant = {"handler": "greet", "payload": "x" * MAX_BATCH_BYTES}

    told = caller("submit_many", [{"handler": "greet"}, giant, {"handler": "greet"}])

    assert [one.fate for one in told] == ["submitted", "not submitted", "submitted"]
    assert isinstance(told[1].error, TooLarge)
    assert told[1].error.submission is told[1].submission
    assert len(caller.requests) == 1


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"payload": 1}, "handler is required"),
        ({"handler": "greet", "shape": 1}, "shape is not a known field. The fields are handler"),
        ({"handler": "greet", "payload": {1, 2}}, "payload must be JSON"),
        ({"handler": "greet", "delay": 1, "delay_seconds": 1}, "delay must not be given together"),
        ({"handler": "greet", "delay": "soon"}, "delay must be a number of seconds"),
        ({"handler": "greet", "run_at": 5}, "run_at must be an aware datetime"),
        ({5: "greet"}, "5 is not a known field"),
        ("greet", "submission must be a Submission or a mapping"),
        (None, "submission must be a Submission or a mapping"),
    ],
)
def test_what_is_no_submission_fails_alone_and_says_why(
    calling: Calling, given: Any, said: str
) -> None:
    caller = calling(accept)

    good, bad, good_too = caller(
        "submit_many", [Submission(handler="greet"), given, {"handler": "x"}]
    )

    assert (good.fate, bad.fate, good_too.fate) == ("submitted", "not submitted", "submitted")
    assert isinstance(bad.error, Invalid)
    assert said in str(bad.error)


def test_fields_may_be_those_of_the_api(calling: Calling) -> None:
    caller = calling(accept)
    given = {"handler": "greet", "delay_seconds": 5, "expires_at": "2027-01-01T00:00:00+01:00"}

    caller("submit_many", [given])

    [[sent]] = [jobs_of(request) for request in caller.requests]
    assert sent == {**given, "id": sent["id"]}


def test_who_has_a_key_or_an_id_keeps_it_and_others_get_an_id(calling: Calling) -> None:
    caller = calling(lambda request: results(*[{"job": job_value()}] * len(jobs_of(request))))
    given = [{"handler": "a", "idempotency_key": "k"}, {"handler": "a", "id": "i"}]

    caller("submit_many", [*given, {"handler": "a"}, {"handler": "a"}])

    [sent] = [jobs_of(request) for request in caller.requests]
    assert sent[:2] == given
    assert len({sent[2]["id"], sent[3]["id"], "i"}) == 3


def test_a_batch_whose_answer_is_lost_is_sent_again_as_it_was(calling: Calling) -> None:
    caller = calling(Script(LOST, accept))

    told = caller("submit_many", greetings(3))

    first, second = caller.requests
    assert first.content == second.content
    assert [one.fate for one in told] == ["submitted"] * 3


def test_only_what_was_refused_for_a_time_is_sent_again(calling: Calling) -> None:
    taken = {"job": job_value()}
    caller = calling(
        Script(
            results(taken, {"error": UNAVAILABLE}, {"error": REFUSED}, {"error": UNAVAILABLE}),
            results({"error": UNAVAILABLE}, taken),
            results(taken),
        )
    )

    told = caller("submit_many", greetings(4))

    assert payloads(caller) == [[0, 1, 2, 3], [1, 3], [1]]
    assert [one.fate for one in told] == ["submitted", "submitted", "not submitted", "submitted"]
    assert isinstance(told[2].error, Invalid)


def test_what_is_throttled_to_the_end_is_not_submitted(calling: Calling) -> None:
    caller = calling(Script(THROTTLED), max_attempts=3)

    told = caller("submit_many", greetings(2))

    assert [one.fate for one in told] == ["not submitted"] * 2
    assert isinstance(told[0].error, Throttled)
    assert told[0].error is not told[1].error
    assert len(caller.requests) == 3


@pytest.mark.parametrize(
    ("stored", "fate"), [(False, "not submitted"), (True, "unknown"), (None, "unknown")]
)
def test_an_unavailable_job_says_whether_it_is_stored(
    calling: Calling, stored: bool | None, fate: str
) -> None:
    left = {"error": UNAVAILABLE, "status": 503, "code": "unavailable", "stored": stored}
    caller = calling(Script(results(left)), max_attempts=1)

    [told] = caller("submit_many", greetings(1))

    assert (told.fate, told.error.stored) == (fate, stored)


@pytest.mark.parametrize("last", [LOST, THROTTLED, results({"error": UNAVAILABLE})])
def test_whose_answer_was_lost_once_is_unknown_unless_it_is_known_later(
    calling: Calling, last: Any
) -> None:
    caller = calling(Script(LOST, last), max_attempts=2)

    [told] = caller("submit_many", greetings(1))

    assert told.fate == "unknown"
    assert told.error.may_have_happened
    assert told.error.submission.id == jobs_of(caller.requests[0])[0]["id"]


def test_what_is_unknown_can_be_submitted_again_under_its_id(calling: Calling) -> None:
    caller = calling(Script(LOST, accept), max_attempts=1)
    [unknown] = caller("submit_many", greetings(1))

    [told] = caller("submit_many", [unknown.submission])

    assert told.fate == "submitted"
    assert caller.requests[0].content == caller.requests[1].content


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (httpx.Response(200, text="<html>"), "is not JSON"),
        (httpx.Response(200, json={}), "has no array results"),
        (results({"job": job_value()}), "has 1 results for 2 jobs"),
        (results({}, {}), "job should be an object"),
        (results(5, 5), "job should be an object"),
        (results({"job": {}}, {"error": {}}), "lacks job.id"),
        (results({"error": {"status": "503"}}, {}), "job should be an object"),
    ],
)
def test_an_answer_that_makes_no_sense_leaves_the_fate_unknown(
    calling: Calling, answer: httpx.Response, said: str
) -> None:
    caller = calling(Script(answer))

    told = caller("submit_many", greetings(2))

    assert [one.fate for one in told] == ["unknown"] * 2
    assert isinstance(told[0].error, UnexpectedAnswer)
    assert said in str(told[0].error)


def test_a_batch_that_is_refused_whole_fails_each_of_its_jobs(calling: Calling) -> None:
    caller = calling(Script(httpx.Response(403, json={"message": "Forbidden"})))

    told = caller("submit_many", greetings(2))

    assert [(one.fate, one.error.status) for one in told] == [("not submitted", 403)] * 2
    assert len(caller.requests) == 1


def test_a_conflict_is_told_of_its_job(calling: Calling) -> None:
    conflict = {"type": "urn:hourhand:idempotency_conflict", "status": 409, "detail": "Used."}
    caller = calling(Script(results({"error": conflict})))

    [told] = caller("submit_many", [{"handler": "greet", "idempotency_key": "k"}])

    assert isinstance(told.error, Conflict)
    assert told.error.code == "idempotency_conflict"


def test_no_more_batches_are_under_way_than_parallel_says(calling: Calling) -> None:
    lock, under_way, most = threading.Lock(), 0, 0
    both = threading.Barrier(2, timeout=10)

    def answer(request: httpx.Request) -> httpx.Response:
        nonlocal under_way, most
        with lock:
            under_way += 1
            most = max(most, under_way)
        if caller.kind == "sync":
            # Two are under way at once, or this breaks.
            both.wait()
        with lock:
            under_way -= 1
        return accept(request)

    caller = calling(answer)
    told = caller("submit_many", greetings(4 * MAX_BATCH_JOBS), parallel=2)

    assert len(told) == 4 * MAX_BATCH_JOBS
    assert most == (2 if caller.kind == "sync" else 1)


def test_the_source_is_read_only_as_far_as_batches_are_under_way(calling: Calling) -> None:
    read = 0

    def source() -> Iterator[dict[str, Any]]:
        nonlocal read
        for one in greetings(100_000):
            read += 1
            yield one

    caller = calling(accept)
    stream = caller.client.submit_each(source(), parallel=3)

    assert read == 0
    caller.take(stream, 1)
    assert read <= 4 * MAX_BATCH_JOBS + 1
    caller.take(stream, 3_000)
    assert read <= 3_000 + 5 * MAX_BATCH_JOBS
    caller.collect(stream.stop())


def test_what_is_wrong_does_not_pile_up_behind_what_is_under_way(calling: Calling) -> None:
    read = 0

    def source() -> Iterator[dict[str, Any]]:
        nonlocal read
        yield {"handler": "greet"}
        for _ in range(5_000):
            read += 1
            yield {"handler": "greet", "shape": "round"}

    caller = calling(accept)
    stream = caller.client.submit_each(source(), parallel=3)

    first, second = caller.take(stream, 2)
    assert (first.fate, second.fate) == ("submitted", "not submitted")
    assert read <= 3 * MAX_BATCH_JOBS
    assert len(caller.collect(stream)) == 5_000 - 1


def test_progress_is_told_as_it_comes(calling: Calling) -> None:
    caller = calling(accept)
    told: list[SubmitProgress] = []

    caller("submit_many", [*greetings(1000), {"handler": 5, "x": 1}], on_progress=told.append)

    assert [one.done for one in told] == sorted({one.done for one in told})
    assert told[-1] == SubmitProgress(done=1001, failed=1, total=1001)


def test_the_total_is_unknown_where_the_iterable_does_not_tell_it(calling: Calling) -> None:
    told: list[SubmitProgress] = []

    calling(accept)("submit_many", greetings(3), on_progress=told.append)

    assert told == [SubmitProgress(done=3, failed=0, total=None)]


def test_nothing_submitted_is_no_request(calling: Calling) -> None:
    caller = calling(accept)

    assert caller("submit_many", []) == []
    assert caller("submit_each", iter([])) == []
    assert caller.requests == []


@pytest.mark.parametrize("parallel", [0, -1, 65, 2.5, True, "4"])
def test_parallel_is_a_number_of_batches(calling: Calling, parallel: Any) -> None:
    with pytest.raises(Invalid, match="parallel must be a whole number from 1 to 64"):
        calling(accept)("submit_many", [], parallel=parallel)


@pytest.mark.parametrize("submissions", [5, "greet", b"bytes", None])
def test_submissions_are_an_iterable_of_them(calling: Calling, submissions: Any) -> None:
    with pytest.raises(Invalid, match="submissions must be an iterable"):
        calling(accept)("submit_each", submissions)


def refusing() -> str:
    raise LookupError("nobody is logged in")


def broken_off(count: int, error: BaseException) -> Iterator[dict[str, Any]]:
    yield from greetings(count)
    raise error


def fates(told: Iterable[Submitted]) -> list[str]:
    return [one.fate for one in told]


def test_what_the_iterable_raises_is_raised_when_all_before_it_is_told(calling: Calling) -> None:
    caller = calling(accept)
    stream = caller.client.submit_each(broken_off(1200, LookupError("line 1201")))

    told = caller.take(stream, 1200)

    assert fates(told) == ["submitted"] * 1000 + ["not submitted"] * 200
    assert isinstance(told[-1].error, NotSent)
    with pytest.raises(LookupError, match="line 1201"):
        caller.take(stream, 1)


@pytest.mark.parametrize("error", [LookupError("line 1201"), KeyboardInterrupt()])
def test_submit_many_ended_early_tells_what_it_knows(
    calling: Calling, error: BaseException
) -> None:
    caller = calling(accept)
    progress: list[SubmitProgress] = []

    with pytest.raises(type(error)) as raised:
        caller("submit_many", broken_off(1200, error), on_progress=progress.append)

    told = submitted_before(raised.value)
    assert fates(told) == ["submitted"] * 1000 + ["not submitted"] * 200
    assert [one.index for one in told] == list(range(1200))
    assert progress[-1].done == 1200


def test_any_other_error_knows_of_no_submissions() -> None:
    assert submitted_before(ValueError()) == []


def test_a_stream_that_is_stopped_tells_what_was_under_way_and_submits_no_more(
    calling: Calling,
) -> None:
    caller = calling(accept)
    stream = caller.client.submit_each(greetings(100_000), parallel=2)

    told = caller.take(stream, 700)
    told += caller.collect(stream.stop())

    assert [one.index for one in told] == list(range(len(told)))
    assert set(fates(told)) == {"submitted", "not submitted"}
    assert len([one for one in told if one.fate == "submitted"]) == sum(map(len, payloads(caller)))
    assert len(told) < 5 * MAX_BATCH_JOBS


def test_a_stream_that_is_stopped_does_not_wait_to_try_again(calling: Calling) -> None:
    caller = calling(Script(THROTTLED), max_attempts=50)
    stream = caller.client.submit_each(greetings(3))

    told = caller.collect(stream.stop())
    assert told == []

    caller = calling(Script(LOST), max_attempts=50)
    stream = caller.client.submit_each(broken_off(501, LookupError()))
    told = caller.take(stream, 501)
    assert set(fates(told[:500])) == {"unknown"}
    assert fates(told[500:]) == ["not submitted"]
    assert len(caller.requests) < 50


def test_the_longest_wait_asked_for_in_a_batch_is_waited_for(calling: Calling) -> None:
    caller = calling(Script(THROTTLED, accept))

    caller("submit_many", greetings(2))

    assert 3 <= caller.clock.pauses[0] < 4


def test_a_wait_too_long_is_obeyed_by_giving_up(calling: Calling) -> None:
    caller = calling(Script(httpx.Response(429, headers={"retry-after": "3600"})))

    [told] = caller("submit_many", greetings(1))

    assert told.fate == "not submitted"
    assert len(caller.requests) == 1


@pytest.mark.parametrize(
    ("failure", "expected"), [(LOST, Unreachable), (httpx.Response(500), ServerFailed)]
)
def test_one_submission_that_fails_says_what_may_be_submitted_again(
    calling: Calling, failure: Any, expected: type[ClientError]
) -> None:
    caller = calling(Script(failure), max_attempts=2)

    with pytest.raises(expected) as raised:
        caller("submit", "greet", {"a": 1}, tags={"b": "c"})

    submission = raised.value.submission
    assert submission is not None
    assert raised.value.may_have_happened
    assert submission.body() == caller.requests[0].content == caller.requests[1].content


def test_what_is_wrong_behind_what_was_not_sent_keeps_its_reason(calling: Calling) -> None:
    caller = calling(accept)

    def source() -> Iterator[dict[str, Any]]:
        yield {"handler": "greet"}
        yield {"shape": "round"}
        raise LookupError

    unsent, wrong = caller.take(caller.client.submit_each(source()), 2)

    assert isinstance(unsent.error, NotSent)
    assert isinstance(wrong.error, Invalid)


def test_a_submission_that_nobody_waits_for_any_more_does_nothing(calling: Calling) -> None:
    caller = calling(accept)

    operation = submit_many(caller.client._session, greetings(3))
    next(operation)
    operation.close()

    assert caller.requests == []


def test_a_batch_that_is_tried_again_is_not_told_of_before_it_has_ended() -> None:
    failed, read_on = threading.Event(), threading.Event()

    class WaitingClock(PausingClock):
        def sleep(self, seconds: float) -> None:
            failed.set()
            assert read_on.wait(10)
            super().sleep(seconds)

    def source() -> Iterator[dict[str, Any]]:
        for number, one in enumerate(greetings(600)):
            # The first batch left before its 501st: while it failed for a time, we read on.
            if number == 502:
                assert failed.wait(10)
            yield one
        read_on.set()

    caller = Caller("sync", Script(THROTTLED, accept), clock=WaitingClock())

    assert fates(caller("submit_each", source())) == ["submitted"] * 600
    caller.close()


@pytest.mark.parametrize(
    ("token", "kind_of_error", "fate"),
    [("a b", NotConfigured, "not submitted"), (refusing, ClientError, "unknown")],
)
def test_a_batch_that_cannot_be_sent_is_told_job_by_job(
    calling: Calling, token: Any, kind_of_error: type[ClientError], fate: str
) -> None:
    caller = calling(accept, token=token)
    stream = caller.client.submit_each(greetings(501))

    told = caller.collect(stream)

    assert fates(told) == [fate] * 501
    assert type(told[0].error) is kind_of_error
    assert caller.requests == []
