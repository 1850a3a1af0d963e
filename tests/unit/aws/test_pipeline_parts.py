"""Parts of batches that AWS puts off: they wait alone and join a further batch."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from hourhand.aws.layout.jobs import job_to_item
from hourhand.aws.pipeline import MAX_PART_TRIES
from hourhand.domain.jobs.job import TICK, Job
from hourhand.domain.jobs.transitions import EnqueuedMarks, Transition
from tests.unit.aws.lean.conftest import closed
from tests.unit.aws.lean.raw_server import refusing
from tests.unit.aws.sweep_rig import Aws, PutOff, Swept, aws, swept
from tests.world.factories import make_outgoing

__all__ = ["aws", "closed", "swept"]
PARTS_PUT_OFF = [
    ("mark", {"Code": "InternalServerError"}),
    ("mark", {"Code": "ProvisionedThroughputExceeded"}),
    ("mark", {"Code": "RequestLimitExceeded"}),
    ("mark", {"Code": "ThrottlingError"}),
    ("mark", {"Code": "TransactionConflict"}),
    ("send", {"Code": "InternalError", "SenderFault": False}),
    ("send", {"Code": "RequestThrottled", "SenderFault": True}),
]
"""How DynamoDB and SQS answer to a part of a batch that may be tried again."""


@pytest.mark.parametrize(("kind", "error"), PARTS_PUT_OFF)
def test_parts_that_are_put_off_are_tried_again_in_a_batch_while_pages_go_on(
    aws: Aws, swept: Swept, kind: str, error: Any
) -> None:
    ids, put_off = list(aws.jobs), {"job-0007", "job-0123", "job-0124"}
    aws.errors_of = PutOff(kind, dict.fromkeys(put_off, error))
    swept.page(ids[:250])
    waits = put_off if kind == "send" else set()
    assert swept.sent == 250 - len(waits)
    # What filled no batch may still be on its way.
    assert len(aws.places("mark")) >= 225
    swept.page(ids[250:])
    assert swept.sent == 450 - len(waits), "the next page waits for the parts"
    assert len(aws.places("mark")) >= 425
    assert not put_off & aws.places(kind).keys()
    swept.go_on()
    assert (swept.sent, swept.unsent, swept.errors) == (450, 0, [])
    assert {done for done, _ in aws.log} == {"read", "send", "mark"}
    sent, marked = aws.places("send"), aws.places("mark")
    assert sent.keys() == marked.keys() == aws.jobs.keys()
    assert all(sent[name] < marked[name] for name in ids), "a mark before its message"
    again = [names for done, names in aws.log if done == kind and {*names} <= put_off]
    assert sorted(name for names in again for name in names) == sorted(put_off)
    assert [aws.calls(kind, name) for name in sorted(put_off)] == [2, 2, 2]


@pytest.mark.parametrize(("kind", "calls"), [("send", 40), ("mark", 16)])
def test_parts_of_several_pages_join_the_batches_of_the_next(
    aws: Aws, swept: Swept, kind: str, calls: int
) -> None:
    ids = list(aws.jobs)
    error = {"Code": "ThrottlingError", "SenderFault": False}
    aws.errors_of = PutOff(kind, dict.fromkeys([ids[3], ids[30], ids[130], ids[230]], error))
    for at in (0, 100, 200):
        swept.page(ids[at : at + 100])
    swept.let_time_pass()
    swept.page(ids[300:400])
    swept.go_on()
    assert (swept.sent, swept.errors) == (400, [])
    assert sum(done == kind for done, _ in aws.log) == calls + 1, "one more for four parts"


@pytest.mark.parametrize("kind", ["send", "mark"])
def test_a_part_that_is_put_off_again_and_again_is_at_last_done_alone(
    aws: Aws, swept: Swept, kind: str
) -> None:
    error = {"Code": "ThrottlingError", "SenderFault": False}
    aws.errors_of = PutOff(kind, {"job-0007": error}, times=100)
    swept.page(list(aws.jobs)[:50])
    swept.go_on()
    assert (swept.sent, swept.unsent, swept.errors) == (50, 0, [])
    assert aws.calls(kind, "job-0007") == MAX_PART_TRIES
    assert [names for done, names in aws.log if done.endswith("alone")] == [("job-0007",)]


def test_a_message_that_is_the_senders_fault_is_sent_alone_at_once(aws: Aws, swept: Swept) -> None:
    fault = {"Code": "InvalidParameterValue", "SenderFault": True}
    aws.errors_of = PutOff("send", {"job-0007": fault}, times=100)
    aws.refuse = lambda kind, *_: refusing("NoSuchKey") if kind == "send alone" else None
    swept.page(list(aws.jobs)[:50])
    swept.go_on()
    assert (swept.sent, swept.unsent) == (49, 1)
    assert aws.calls("send", "job-0007") == 1
    assert aws.places("mark").keys() == {*list(aws.jobs)[:50]} - {"job-0007"}


@pytest.mark.parametrize("code", ["ValidationError", "AccessDenied"])
def test_a_mark_with_another_error_is_made_alone_at_once(aws: Aws, swept: Swept, code: str) -> None:
    aws.errors_of = PutOff("mark", {"job-0007": {"Code": code}}, times=100)
    swept.page(list(aws.jobs)[:50])
    assert (swept.sent, swept.errors) == (50, [])
    assert (aws.calls("mark", "job-0007"), aws.calls("mark alone", "job-0007")) == (1, 1)


@pytest.mark.parametrize(("is_own", "refused"), [(True, 0), (False, 1)])
def test_a_mark_that_was_put_off_is_judged_by_the_item_that_refuses_it_later(
    aws: Aws, swept: Swept, *, is_own: bool, refused: int
) -> None:
    job = aws.jobs["job-0007"]
    (mark,) = [_mark(swept, job)]
    held = mark.apply(job) if is_own else replace(job, generation=job.generation + 1)
    stood = {"Code": "ConditionalCheckFailed", "Item": job_to_item(held)}
    answers = iter([{"Code": "InternalServerError"}, stood])
    aws.errors_of = lambda kind, names: (
        {"job-0007": next(answers)} if kind == "mark" and "job-0007" in names else {}
    )
    swept.page(list(aws.jobs)[:50])
    swept.go_on()
    assert (swept.sent, swept.errors) == (50, [])
    assert {done for done, _ in aws.log} == {"read", "send", "mark"}
    assert swept.counted("marks_refused") == refused


def test_a_mark_whose_wait_ends_is_made_alone_where_another_of_its_job_is_pending(
    aws: Aws, swept: Swept
) -> None:
    aws.errors_of = PutOff("mark", {"job-0001": {"Code": "ThrottlingError"}})
    swept.page(["job-0001"])
    while not aws.calls("mark", "job-0001"):
        swept.go_on(most_left=1)
    swept.go_on(most_left=1)
    swept.let_time_pass()
    # A full batch is under way, so that the second mark is still pending as the wait ends.
    swept.pipeline.send([make_outgoing(aws.jobs["job-0002"])] * 10, lambda _: None)
    made: list[Any] = []
    swept.pipeline.mark([_mark(swept, aws.jobs["job-0001"])], made.append)
    swept.go_on()
    assert (swept.errors, made) == ([], [[True]])
    assert (aws.calls("mark", "job-0001"), aws.calls("mark alone", "job-0001")) == (2, 1)


def _mark(swept: Swept, job: Job) -> Transition:
    return EnqueuedMarks(swept.dispatcher.clock.now(), TICK).of(job)
