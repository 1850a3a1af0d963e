"""The entry point of the worker function, on the events that its SQS event source gives it."""

from __future__ import annotations

import sys
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from hourhand.aws.lambda_init import INITIALIZATION_TYPE
from hourhand.aws.layout.messages import message_body, read_delivery
from hourhand.domain.jobs.job import Job, JobStatus, Priority
from hourhand.local.entry_points import Handler, load_entry_point
from hourhand.settings import Settings, settings_environment
from hourhand.wiring import functions
from hourhand.worker import STUCK_EXIT_CODE
from tests.functions.api_client import load_event
from tests.world.world import World

QUEUES = {"hourhand-medium": Priority.MEDIUM}


@dataclass(frozen=True, slots=True)
class Context:
    """As much of Lambda's context as the function looks at."""

    remaining_ms: int = 900_000
    invoked_function_arn: str = "arn:aws:lambda:eu-central-1:123456789012:function:worker:live"
    function_version: str = "7"

    def get_remaining_time_in_millis(self) -> int:
        return self.remaining_ms


@pytest.fixture
def world() -> World:
    return World(handlers=("send-welcome",))


@pytest.fixture
def worker(monkeypatch: pytest.MonkeyPatch, world: World) -> Handler:
    """The function with an environment and real handlers, and the world where AWS would be."""
    adapters = replace(
        world.adapters(world.clock),
        read_delivery=lambda record: read_delivery(record, None, QUEUES),
    )
    wire = functions.wire_worker
    monkeypatch.setattr(functions, "wire_worker", lambda settings: wire(settings, adapters))
    settings = Settings(
        jobs_table="jobs",
        control_table="control",
        schedules_table="schedules",
        bucket="bucket",
        queue_high="high",
        queue_medium="hourhand-medium",
        queue_low="low",
        dead_letter_queue="dead",
        clock_queue="clock",
        idempotency_table="idempotency",
        handlers="examples.quickstart",
        manifest="manifest.json",
    )
    for name, value in settings_environment(settings).items():
        monkeypatch.setenv(name, value)
    return load_entry_point("worker")


def submit(world: World, job_id: str) -> Job:
    payload = {"email": "ada@example.org", "name": "Ada"}
    return world.submit(id=job_id, handler="send-welcome", payload=payload, timeout_seconds=60)


def ids_of(event: dict[str, Any]) -> list[str]:
    return [record["messageId"] for record in event["Records"]]


def kept(*message_ids: str) -> dict[str, Any]:
    """Return the answer that keeps these messages alone."""
    return {"batchItemFailures": [{"itemIdentifier": name} for name in message_ids]}


def test_the_recorded_message_is_what_a_submission_sends(world: World) -> None:
    submit(world, "order-1042")
    (delivery,) = world.receive()
    (record,) = load_event("sqs_one_record")["Records"]
    assert record["body"] == message_body(delivery.message)


def test_a_message_that_is_worked_off_is_not_kept(worker: Handler, world: World) -> None:
    job = submit(world, "order-1042")
    world.advance(1)
    assert worker(load_event("sqs_one_record"), Context()) == kept()
    ended = world.job(job)
    assert ended.status is JobStatus.SUCCEEDED
    assert ended.result is not None
    assert ended.result.text == '{"sent_to":"ada@example.org"}'
    # From the SentTimestamp of the record, which is 6 ms after the submission.
    assert world.telemetry.values("time_to_claim_ms") == [994]
    assert world.telemetry.flushes == 1


def test_a_foreign_message_among_good_ones_is_the_only_one_kept(
    worker: Handler, world: World
) -> None:
    jobs = [submit(world, name) for name in ("order-1043", "order-1044")]
    event = load_event("sqs_three_records")
    assert worker(event, Context()) == kept(ids_of(event)[1])
    assert {world.job(job).status for job in jobs} == {JobStatus.SUCCEEDED}
    assert world.telemetry.total("messages_foreign") == 1
    assert "secret-7" not in repr(world.telemetry.warnings)


def test_a_message_for_which_too_little_time_is_left_is_kept(worker: Handler, world: World) -> None:
    job = submit(world, "order-1042")
    event = load_event("sqs_one_record")
    assert worker(event, Context(remaining_ms=79_999)) == kept(*ids_of(event))
    assert world.job(job).status is JobStatus.ENQUEUED


# --- in Lambda's init phase -----------------------------------------------------------------------


def own_handlers(monkeypatch: pytest.MonkeyPatch, folder: Path, name: str, code: str) -> None:
    """Let the function find the module ``name`` and take it for its handlers."""
    (folder / f"{name}.py").write_text(code)
    monkeypatch.syspath_prepend(folder)
    monkeypatch.setenv("HOURHAND_HANDLERS", name)


def test_the_handlers_are_imported_before_the_first_message(
    worker: Handler, world: World, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    own_handlers(monkeypatch, tmp_path, "early_handlers", "import examples.quickstart")
    monkeypatch.setenv(INITIALIZATION_TYPE, "on-demand")
    early = load_entry_point("worker")
    assert "early_handlers" in sys.modules
    job = submit(world, "order-1042")
    assert early(load_event("sqs_one_record"), Context()) == kept()
    assert world.job(job).status is JobStatus.SUCCEEDED


ONCE_FOR_A_PROCESS = """
import signal
import sys

if hasattr(sys, "hourhand_test_metric"):
    raise ValueError("Duplicated timeseries")
sys.hourhand_test_metric = True
import examples.quickstart
signal.signal(signal.SIGUSR2, signal.getsignal(signal.SIGUSR2))
"""
"""What may be imported by the first thread alone, and only once."""


def test_handlers_that_only_the_first_thread_may_import_and_only_once_run(
    worker: Handler, world: World, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(sys, "hourhand_test_metric", None, raising=False)
    monkeypatch.delattr(sys, "hourhand_test_metric")
    own_handlers(monkeypatch, tmp_path, "particular_handlers", ONCE_FOR_A_PROCESS)
    monkeypatch.setenv(INITIALIZATION_TYPE, "on-demand")
    early = load_entry_point("worker")
    job = submit(world, "order-1042")
    assert early(load_event("sqs_one_record"), Context()) == kept()
    assert world.job(job).status is JobStatus.SUCCEEDED


@pytest.fixture
def exit_codes(worker: Handler, monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The codes that the process would have ended with."""
    codes: list[int] = []
    wire = functions.wire_worker

    def noting(settings: Settings) -> functions.WorkerServices:
        wired = wire(settings)
        wired.runtime.end_process = codes.append
        return wired

    monkeypatch.setattr(functions, "wire_worker", noting)
    return codes


@pytest.mark.parametrize(
    ("begun", "ends"),
    [
        ("on-demand", [STUCK_EXIT_CODE]),
        ("provisioned-concurrency", [STUCK_EXIT_CODE]),
        # A copy of the snapshot is a process of its own, and this was its first try.
        ("snap-start", []),
    ],
)
def test_handlers_that_cannot_be_imported_fail_the_attempts_and_not_the_init_phase(
    exit_codes: list[int],
    world: World,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    begun: str,
    ends: list[int],
) -> None:
    code = "raise LookupError('no such secret')"
    own_handlers(monkeypatch, tmp_path, "broken_handlers", code)
    monkeypatch.setenv(INITIALIZATION_TYPE, begun)
    early = load_entry_point("worker")
    job = submit(world, "order-1042")
    assert early(load_event("sqs_one_record"), Context()) == kept()
    details = world.store.get_details(job.id)
    assert details is not None
    error = details.failures[1].error
    assert error is not None
    assert "no such secret" in error.message
    assert exit_codes == ends


def test_two_copies_of_a_snapshot_are_two_workers(
    worker: Handler, world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(INITIALIZATION_TYPE, "snap-start")
    names: list[str] = []
    wire = functions.wire_worker

    def noting(settings: Settings) -> functions.WorkerServices:
        wired = wire(settings)
        names.append(wired.execution.worker)
        return wired

    monkeypatch.setattr(functions, "wire_worker", noting)
    snapshot = load_entry_point("worker")
    assert len(names) == 1
    snapshot({"Records": []}, Context())
    snapshot({"Records": []}, Context())
    assert len(names) == 2, "the copy wired for itself, once"
