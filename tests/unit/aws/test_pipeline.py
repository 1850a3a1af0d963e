"""The pipeline of a sweep: what is put off waits alone, and each job is sent before its mark."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

from hourhand.aws.job_store import DynamoJobStore
from hourhand.aws.layout.jobs import job_to_item
from hourhand.aws.pipeline import lean_pipeline
from hourhand.aws.queues import SqsQueues
from hourhand.domain.errors import Unavailable
from hourhand.domain.jobs.actions import Dispatch
from hourhand.domain.jobs.transitions import Transition
from hourhand.memory import RecordingTelemetry
from hourhand.ports.queues import Outgoing
from hourhand.services.ticks.dispatch import ToDispatch
from tests.unit.aws.lean.conftest import boto, closed
from tests.unit.aws.lean.raw_server import Behaviour, refusing, whole
from tests.unit.aws.sweep_rig import TABLE, THROTTLED, URLS, Aws, Swept, aws, read_call, swept
from tests.world.factories import make_outgoing

__all__ = ["aws", "closed", "swept"]


def test_without_lean_clients_there_is_no_pipeline(aws: Aws) -> None:
    dynamodb, sqs = boto("dynamodb", aws.server.url), boto("sqs", aws.server.url)
    telemetry = RecordingTelemetry()
    queues = SqsQueues(sqs, URLS, dead_letter_url="", clock_url="", telemetry=telemetry)
    assert lean_pipeline(DynamoJobStore(dynamodb, TABLE), queues) is None


def test_a_page_is_read_sent_and_marked_in_full_batches(aws: Aws, swept: Swept) -> None:
    swept.page(list(aws.jobs))
    assert (swept.sent, swept.unsent, swept.errors) == (450, 0, [])
    sizes = Counter((kind, len(names)) for kind, names in aws.log)
    assert sizes == {
        ("read", 100): 4,
        ("read", 50): 1,
        ("send", 10): 45,
        ("mark", 25): 18,
    }
    sent, marked = aws.places("send"), aws.places("mark")
    assert sent.keys() == marked.keys() == aws.jobs.keys()
    assert all(sent[name] < marked[name] for name in aws.jobs), "a mark before its message"


def test_the_answers_to_what_filled_no_batch_are_read_beside_the_next_page(
    aws: Aws, swept: Swept
) -> None:
    ids = list(aws.jobs)
    swept.page(ids[:105])
    assert swept.sent == 100, "the last batch of a page holds up the next page"
    swept.page(ids[105:200])
    swept.go_on()
    assert (swept.sent, swept.errors) == (200, [])
    assert swept.sent == len(aws.places("mark"))
    sizes = Counter((kind, len(names)) for kind, names in aws.log)
    assert sizes["send", 10] + sizes["send", 5] == 19 + 2


@pytest.mark.parametrize("kind", ["read", "send", "mark"])
def test_a_call_that_is_put_off_holds_up_neither_its_page_nor_the_next(
    aws: Aws, swept: Swept, kind: str
) -> None:
    ids = list(aws.jobs)
    put_off: set[str] = set()

    def once(asked_kind: str, asked: Any, turn: int) -> Behaviour | None:
        _, names = read_call(asked)
        if asked_kind != kind or turn > 1 or (put_off and put_off != {*names}):
            return None
        put_off.update(names)
        return THROTTLED

    aws.refuse = once
    swept.page(ids[:250])
    assert put_off
    waits = put_off if kind != "mark" else set()
    assert swept.sent == 250 - len(waits)
    aws.refuse = lambda *_: None
    swept.page(ids[250:])
    assert swept.sent == 450 - len(waits), "the next page waits for the retry"
    assert not put_off & aws.places(kind).keys()
    swept.go_on()
    assert (swept.sent, swept.unsent, swept.errors) == (450, 0, [])
    sent, marked = aws.places("send"), aws.places("mark")
    assert all(sent[name] < marked[name] for name in ids)
    last = [names for done, names in aws.log if done == kind][-1]
    assert {*last} >= put_off or kind == "send"


def test_no_more_jobs_than_the_bound_wait(aws: Aws, swept: Swept) -> None:
    aws.refuse = lambda kind, _, turn: THROTTLED if kind == "read" and turn == 1 else None
    ids = list(aws.jobs)
    swept.page(ids[:100], most_left=200)
    swept.page(ids[100:200], most_left=200)
    assert swept.sent == 0, "two hundred wait"
    swept.page(ids[200:300], most_left=200)
    assert swept.sent >= 100
    swept.go_on()
    assert swept.sent == 300


def test_what_cannot_be_read_is_raised_once_and_all_else_is_sent(aws: Aws, swept: Swept) -> None:
    def refuse(kind: str, asked: Any, _turn: int) -> Behaviour | None:
        return THROTTLED if kind == "read" and "job-0100" in read_call(asked)[1] else None

    aws.refuse = refuse
    swept.page(list(aws.jobs))
    swept.go_on()
    assert (swept.sent, swept.unsent) == (350, 0)
    (error,) = swept.errors
    assert isinstance(error, Unavailable)
    swept.go_on()
    assert len(swept.errors) == 1


def test_what_is_never_accepted_is_told_and_not_marked(aws: Aws, swept: Swept) -> None:
    def refuse(kind: str, asked: Any, _turn: int) -> Behaviour | None:
        return THROTTLED if kind == "send" and "job-0005" in read_call(asked)[1] else None

    aws.refuse = refuse
    swept.page(list(aws.jobs)[:100])
    swept.go_on()
    assert (swept.sent, swept.unsent) == (90, 10)
    assert "job-0005" not in aws.places("mark")
    assert len(aws.places("mark")) == 90


def test_marks_that_fail_are_raised_and_what_was_sent_counts(aws: Aws, swept: Swept) -> None:
    aws.refuse = lambda kind, *_: refusing("AccessDeniedException") if kind == "mark" else None
    swept.page(list(aws.jobs)[:50])
    for _ in range(3):
        swept.go_on()
    assert swept.sent == 50
    assert {type(error) for error in swept.errors} == {Unavailable}


def test_keys_that_are_put_off_are_read_again_and_the_others_are_sent_at_once(
    aws: Aws, swept: Swept
) -> None:
    def some_unread(kind: str, asked: Any, _turn: int) -> Behaviour | None:
        keys = asked["RequestItems"][TABLE]["Keys"] if kind == "read" else []
        if len(keys) != 100:
            return None
        items = [job_to_item(aws.jobs[key["p"]["S"]]) for key in keys[10:]]
        unread = {TABLE: {"Keys": keys[:10], "ConsistentRead": True}}
        return whole(200, {"Responses": {TABLE: items}, "UnprocessedKeys": unread})

    aws.refuse = some_unread
    swept.page(list(aws.jobs)[:100])
    swept.go_on()
    assert (swept.sent, swept.errors) == (100, [])
    assert sorted(swept.read) == list(aws.jobs)[:100]


def test_keys_that_are_put_off_for_ever_are_given_up(aws: Aws, swept: Swept) -> None:
    def unread(kind: str, asked: Any, _turn: int) -> Behaviour | None:
        if kind != "read":
            return None
        return whole(200, {"Responses": {TABLE: []}, "UnprocessedKeys": asked["RequestItems"]})

    aws.refuse = unread
    swept.page(list(aws.jobs)[:5])
    swept.go_on()
    (error,) = swept.errors
    assert "unread after 8 tries" in str(error)


def test_a_delay_that_sqs_does_not_take_is_told_and_the_others_are_sent(
    aws: Aws, swept: Swept
) -> None:
    told: dict[int, str | None] = {}
    jobs = list(aws.jobs.values())[:3]
    delays = (0, 901, 900)
    outgoing: list[Outgoing] = [
        make_outgoing(job, delay_seconds=delay) for job, delay in zip(jobs, delays, strict=True)
    ]
    swept.pipeline.send(outgoing, told.update)
    swept.go_on()
    assert told == {0: None, 1: "DelaySeconds must be 0 to 900, not 901", 2: None}


def test_a_job_that_is_marked_twice_is_marked_by_itself_the_second_time(
    aws: Aws, swept: Swept, monkeypatch: pytest.MonkeyPatch
) -> None:
    alone: list[str] = []

    def is_made(_: DynamoJobStore, move: Transition) -> bool:
        alone.append(move.job_id)
        return True

    monkeypatch.setattr(DynamoJobStore, "_is_made", is_made)
    swept.page(["job-0001"])
    twice = [ToDispatch(aws.jobs["job-0002"], Dispatch())] * 2
    swept.dispatcher.dispatch(twice, swept.note)
    swept.go_on()
    assert (swept.sent, alone) == (3, ["job-0002"])
