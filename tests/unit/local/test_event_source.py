"""Event sources behave as SQS's do: free slots, batches, partial failures, crashes."""

from __future__ import annotations

import queue
import threading
from collections.abc import Iterator, Mapping
from typing import Any, cast

import pytest
from botocore.exceptions import ClientError

from hourhand.domain.jobs.job import Priority
from hourhand.local.aws_backend import AwsBackend
from hourhand.local.event_source import EventSource
from hourhand.local.events import BatchBegun, BatchEnded, News, QueueFailed
from hourhand.local.worker_slot import Answered, Crashed, Invocation, WorkerSlot
from hourhand.settings import Settings

WAIT_SECONDS = 10
URLS = {priority: f"https://queues/{priority}" for priority in Priority}
ARNS = {priority: f"arn:aws:sqs:eu-central-1:0:{priority}" for priority in Priority}


class FakeSqs:
    """As much of SQS as an event source calls."""

    def __init__(self) -> None:
        self.waiting: dict[str, list[Mapping[str, Any]]] = {url: [] for url in URLS.values()}
        self.receives: list[dict[str, Any]] = []
        self.deleted: queue.Queue[list[str]] = queue.Queue()
        self.failures: list[Exception] = []
        self.refused: list[dict[str, str]] = []
        self.lock = threading.Lock()

    def put(self, priority: Priority, *numbers: int) -> None:
        with self.lock:
            self.waiting[URLS[priority]] += [
                {"MessageId": f"id-{n}", "ReceiptHandle": f"r-{n}", "Body": f"body {n}"}
                for n in numbers
            ]

    def receive_message(self, **arguments: Any) -> dict[str, Any]:
        with self.lock:
            self.receives.append(arguments)
            if self.failures:
                raise self.failures.pop()
            held = self.waiting[arguments["QueueUrl"]]
            taken = held[: arguments["MaxNumberOfMessages"]]
            del held[: len(taken)]
            return {"Messages": taken} if taken else {}

    def delete_message_batch(self, **arguments: Any) -> dict[str, Any]:
        self.deleted.put([entry["ReceiptHandle"] for entry in arguments["Entries"]])
        return {"Failed": self.refused}


class FakeSlot:
    """A worker that answers when the test says so."""

    def __init__(self, number: int) -> None:
        self.name, self.pid = f"worker-{number}", number
        self.invocations: queue.Queue[Invocation] = queue.Queue()

    def invoke(self, invocation: Invocation) -> None:
        self.invocations.put(invocation)

    def next(self) -> Invocation:
        return self.invocations.get(timeout=WAIT_SECONDS)


class Stage:
    def __init__(self, *, batch_size: int = 1) -> None:
        self.sqs = FakeSqs()
        self.idle: queue.SimpleQueue[WorkerSlot] = queue.SimpleQueue()
        self.news: queue.Queue[News] = queue.Queue()
        backend = AwsBackend("http://127.0.0.1:9")
        settings = Settings(
            queue_high=URLS[Priority.HIGH],
            queue_medium=URLS[Priority.MEDIUM],
            queue_low=URLS[Priority.LOW],
        )
        backend.use(cast("Any", self.sqs), settings)
        backend._arns = dict(ARNS)
        self.source = EventSource(backend, self.idle, self.news.put, batch_size=batch_size)

    def free(self, number: int = 1) -> FakeSlot:
        slot = FakeSlot(number)
        self.idle.put(cast("WorkerSlot", slot))
        return slot

    def next_news(self) -> News:
        return self.news.get(timeout=WAIT_SECONDS)


@pytest.fixture(autouse=True)
def short_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hourhand.local.event_source.ERROR_PAUSE_SECONDS", 0.01)
    monkeypatch.setattr("hourhand.local.event_source.STOP_CHECK_SECONDS", 0.01)


@pytest.fixture
def stage() -> Iterator[Stage]:
    stage = Stage()
    yield stage
    stage.source.stop()


def test_nothing_is_received_while_no_worker_is_free(stage: Stage) -> None:
    stage.sqs.put(Priority.HIGH, 1)
    stage.source.start()
    stage.source.wake()
    threading.Event().wait(0.05)
    assert stage.sqs.receives == []
    assert stage.free().next().event["Records"][0]["body"] == "body 1"


def test_a_message_that_was_worked_off_is_deleted(stage: Stage) -> None:
    stage.sqs.put(Priority.LOW, 1)
    worker = stage.free()
    stage.source.start()
    invocation = worker.next()
    assert invocation.event["Records"][0]["eventSourceARN"] == ARNS[Priority.LOW]
    assert stage.next_news() == BatchBegun(
        worker="worker-1", pid=1, queue=Priority.LOW, bodies=("body 1",)
    )
    invocation.on_end(Answered(result={"batchItemFailures": []}))
    assert stage.sqs.deleted.get(timeout=WAIT_SECONDS) == ["r-1"]
    assert stage.next_news() == BatchEnded(
        worker="worker-1", pid=1, queue=Priority.LOW, bodies=("body 1",)
    )


def test_only_what_was_not_reported_as_failed_is_deleted() -> None:
    stage = Stage(batch_size=10)
    stage.sqs.put(Priority.HIGH, *range(12))
    worker = stage.free()
    stage.source.start()
    invocation = worker.next()
    assert len(invocation.event["Records"]) == 10
    failures = [{"itemIdentifier": f"id-{n}"} for n in range(8)]
    invocation.on_end(Answered(result={"batchItemFailures": failures}))
    assert stage.sqs.deleted.get(timeout=WAIT_SECONDS) == ["r-8", "r-9"]
    stage.source.stop()


def test_a_crashed_invocation_leaves_its_messages_to_their_visibility_timeout(
    stage: Stage,
) -> None:
    stage.sqs.put(Priority.HIGH, 1)
    worker = stage.free()
    stage.source.start()
    worker.next().on_end(Crashed(reason="its process died", pid=1))
    stage.next_news()
    ended = stage.next_news()
    assert isinstance(ended, BatchEnded)
    assert ended.crash == "its process died"
    assert stage.sqs.deleted.empty()


def test_a_batch_is_of_one_queue(stage: Stage) -> None:
    stage.sqs.put(Priority.HIGH, 1)
    stage.sqs.put(Priority.LOW, 2)
    first, second = stage.free(1), stage.free(2)
    stage.source.start()
    assert [r["body"] for r in first.next().event["Records"]] == ["body 1"]
    assert [r["body"] for r in second.next().event["Records"]] == ["body 2"]


def test_no_receive_ever_waits(stage: Stage) -> None:
    stage.free()
    stage.source.start()
    stage.sqs.put(Priority.MEDIUM, 1)
    stage.next_news()
    assert {arguments["WaitTimeSeconds"] for arguments in stage.sqs.receives} == {0}
    assert {a["MessageSystemAttributeNames"][0] for a in stage.sqs.receives} == {"All"}


def test_a_queue_that_fails_is_told_and_asked_again(stage: Stage) -> None:
    error: Any = {"Error": {"Code": "InternalError", "Message": "sorry"}}
    stage.sqs.failures = [ClientError(error, "ReceiveMessage")]
    stage.sqs.put(Priority.HIGH, 1)
    worker = stage.free()
    stage.source.start()
    failed = stage.next_news()
    assert isinstance(failed, QueueFailed)
    assert failed.operation == "receive"
    assert worker.next().event["Records"][0]["body"] == "body 1"


def test_a_message_that_could_not_be_deleted_is_told(stage: Stage) -> None:
    stage.sqs.refused = [{"Code": "ReceiptHandleIsInvalid"}]
    stage.sqs.put(Priority.HIGH, 1)
    worker = stage.free()
    stage.source.start()
    stage.next_news()
    worker.next().on_end(Answered(result=None))
    assert stage.next_news() == QueueFailed(operation="delete", reason="ReceiptHandleIsInvalid")
