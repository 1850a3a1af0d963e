"""The messages of one event are worked off side by side, and none pays for another."""

from __future__ import annotations

import threading
from typing import Any

import pytest

from hourhand import JobContext
from hourhand.domain.errors import InvalidInput, Unavailable, WrittenByNewer
from hourhand.ports.queues import Delivery
from hourhand.services.jobs.execution import Disposition
from hourhand.worker import MAX_RECORDS, RunLimits
from tests.unit.worker.fakes import PATIENCE, Context, FakePulse, Worker, eventually


@pytest.fixture
def worker() -> Worker:
    return Worker()


def test_messages_run_side_by_side(worker: Worker) -> None:
    # Nobody passes the barrier before all of them are there.
    together = threading.Barrier(MAX_RECORDS)
    names = [f"job-{number}" for number in range(MAX_RECORDS)]
    for name in names:
        worker.add(name, lambda ctx: together.wait(PATIENCE) >= 0)

    assert worker.process(*names) == []
    assert sorted(worker.acts) == sorted(f"{name} SUCCEEDED" for name in names)


def test_an_event_without_messages_is_done_at_once(worker: Worker) -> None:
    assert worker.process() == []


def test_only_messages_to_be_kept_are_reported(worker: Worker) -> None:
    worker.add("done", lambda ctx: None)
    worker.add("early", lambda ctx: None)
    worker.execution.answers["early"] = Disposition.KEEP

    assert worker.process("done", "early") == ["early"]


def test_a_failing_handler_is_an_outcome_and_its_message_is_done_with(worker: Worker) -> None:
    def fail(ctx: JobContext) -> None:
        raise ValueError("no")

    worker.add("fails", fail)

    assert worker.process("fails") == []
    assert worker.acts == ["fails FAILED"]


def test_a_foreign_message_is_told_and_left_for_the_backstop(worker: Worker) -> None:
    worker.add("ours", lambda ctx: None)

    assert worker.process("foreign", "ours") == ["foreign"]

    (line,) = worker.telemetry.warnings
    assert line.sentence == (
        "A message is not one of Hourhand's. It stays in its queue, and "
        "SQS moves it to the backstop."
    )
    assert line.fields["message_id"] == "foreign"
    assert worker.telemetry.total("messages_foreign") == 1
    assert worker.acts == ["ours SUCCEEDED"]


def test_a_message_of_a_newer_version_is_kept_for_a_worker_that_knows_it(
    worker: Worker, monkeypatch: pytest.MonkeyPatch
) -> None:
    def read(_: object) -> Delivery:
        raise WrittenByNewer("This message is of version 2.")

    monkeypatch.setattr(worker.runtime, "read_delivery", read)

    assert worker.process("newer") == ["newer"]

    assert worker.telemetry.total("items_newer") == 1
    assert worker.telemetry.total("messages_foreign") == 0


@pytest.mark.parametrize("error", [Unavailable("DynamoDB did not answer"), LookupError("bug")])
def test_an_error_that_escapes_a_message_keeps_that_message_alone(
    worker: Worker, error: Exception
) -> None:
    worker.add("ours", lambda ctx: None)
    worker.add("hapless", lambda ctx: None)
    worker.execution.answers["hapless"] = error

    assert worker.process("hapless", "ours") == ["hapless"]

    (line,) = worker.telemetry.warnings
    assert line.fields["job_id"] == "hapless"
    assert line.fields["reason"] == f"{type(error).__name__}: {error}"
    assert worker.telemetry.total("messages_failed") == 1


def test_the_service_is_told_what_is_left_of_the_functions_time(worker: Worker) -> None:
    worker.add("ours", lambda ctx: None)

    worker.process("ours", context=Context(seconds=12.5))

    assert worker.execution.remaining == [12.5]


@pytest.mark.parametrize(
    "event", [{}, {"Records": None}, {"Records": [{}]}, {"Records": ["x"]}, [], None], ids=repr
)
def test_an_event_that_is_not_from_sqs_is_refused(worker: Worker, event: Any) -> None:
    with pytest.raises(InvalidInput, match="not from SQS"):
        worker.runtime.process_batch(event, Context())


def test_messages_beyond_the_bound_are_kept_and_told(worker: Worker) -> None:
    names = [f"job-{number}" for number in range(MAX_RECORDS + 2)]
    for name in names:
        worker.add(name, lambda ctx: None)

    assert worker.process(*names) == names[MAX_RECORDS:]
    assert len(worker.acts) == MAX_RECORDS
    assert worker.telemetry.warnings[0].fields["records"] == MAX_RECORDS + 2


def test_telemetry_is_flushed_at_the_end_of_every_event(worker: Worker) -> None:
    worker.add("ours", lambda ctx: None)

    worker.process("ours")
    worker.process("ours")

    assert worker.telemetry.flushes == 2


def test_a_process_without_threads_to_spare_keeps_the_messages_and_ends(
    worker: Worker, monkeypatch: pytest.MonkeyPatch
) -> None:
    worker.add("ours", lambda ctx: None)
    start = threading.Thread.start

    def refuse(thread: threading.Thread) -> None:
        if thread.name.startswith("record"):
            raise RuntimeError("can't start new thread")
        start(thread)

    monkeypatch.setattr(threading.Thread, "start", refuse)

    assert worker.process("ours") == ["ours"]
    assert worker.acts == ["exit 70"]


# --- the import of the handlers ------------------------------------------------------------------


def test_handlers_are_imported_once_and_in_the_thread_of_the_function(worker: Worker) -> None:
    importers: list[threading.Thread] = []
    worker.imports = [lambda: importers.append(threading.current_thread())] * 2
    worker.add("ours", lambda ctx: None)

    worker.process("ours")
    worker.process("ours")

    assert importers == [threading.current_thread()]


def raise_error() -> None:
    raise LookupError("the settings are missing")


def test_a_failed_import_is_told_by_every_attempt_and_tried_again(worker: Worker) -> None:
    worker.imports = [raise_error]
    worker.add("a", lambda ctx: None)
    worker.add("b", lambda ctx: None)

    assert worker.process("a", "b") == []
    assert sorted(worker.acts) == ["a FAILED", "b FAILED"]

    worker.process("a")
    assert worker.acts[-1] == "a SUCCEEDED"


def test_an_early_import_is_made_in_the_thread_that_calls_and_once(worker: Worker) -> None:
    importers: list[threading.Thread] = []
    worker.imports = [lambda: importers.append(threading.current_thread())] * 2
    worker.add("ours", lambda ctx: None)

    worker.runtime.import_handlers_early()
    assert importers == [threading.current_thread()]

    worker.process("ours")
    assert len(importers) == 1
    assert worker.acts == ["ours SUCCEEDED"]


def test_an_early_import_that_failed_is_logged_and_tried_again_by_the_batch(
    worker: Worker,
) -> None:
    worker.imports = [raise_error]
    worker.add("a", lambda ctx: None)

    worker.runtime.import_handlers_early()
    (line,) = worker.telemetry.warnings
    assert line.fields["reason"] == "LookupError: the settings are missing"

    worker.process("a")
    assert worker.acts == ["a SUCCEEDED"]


def test_a_second_failed_import_tells_the_first_error_and_ends_the_process(worker: Worker) -> None:
    """What it raised may come of what the first left behind; a new process is free of that."""

    def raise_another() -> None:
        raise ValueError("Duplicated timeseries")

    worker.imports = [raise_error, raise_another]
    worker.add("a", lambda ctx: None)
    worker.add("b", lambda ctx: None)

    worker.runtime.import_handlers_early()
    worker.process("a", "b")

    assert sorted(worker.acts[:2]) == ["a FAILED", "b FAILED"]
    assert worker.acts[2:] == ["exit 70"], "once every attempt was told"
    told = worker.execution.finished["a"].error
    assert told is not None
    assert told.message == "the settings are missing"
    reasons = [line.fields.get("reason") for line in worker.telemetry.warnings]
    assert "ValueError: Duplicated timeseries" in reasons


def test_an_early_import_that_does_not_end_ends_the_process() -> None:
    worker = Worker(RunLimits(load=0.001))
    has_ended = threading.Event()
    worker.on_exit = has_ended.set
    worker.imports = [lambda: has_ended.wait(PATIENCE)]

    worker.runtime.import_handlers_early()

    assert worker.acts == ["exit 70"]
    assert worker.telemetry.warnings[0].fields["limit_seconds"] == 0.001


def test_what_is_told_of_a_failed_import_is_what_the_module_raised(worker: Worker) -> None:
    worker.imports = [raise_error]
    worker.add("a", lambda ctx: None)

    worker.process("a")

    told = worker.execution.finished["a"].error
    assert told is not None
    assert (told.type, told.message) == ("LookupError", "the settings are missing")
    assert "in raise_error" in (told.traceback or "")
    assert told.retryable


def test_ctrl_c_during_the_import_ends_the_call(worker: Worker) -> None:
    def interrupt() -> None:
        raise KeyboardInterrupt

    worker.imports = [interrupt]
    worker.add("a", lambda ctx: None)

    with pytest.raises(KeyboardInterrupt):
        worker.process("a")


def test_while_handlers_are_imported_the_lease_is_kept(worker: Worker) -> None:
    pulse = worker.execution.pulses["a"] = FakePulse()

    def slow_import() -> None:
        while not pulse.has_beaten.wait(0.001):
            worker.clock.advance(1)

    worker.imports = [slow_import]
    worker.add("a", lambda ctx: None)

    worker.process("a")

    assert worker.acts == ["a SUCCEEDED"]


def test_the_import_is_no_part_of_a_jobs_time(worker: Worker) -> None:
    worker.imports = [lambda: worker.clock.advance(15)]
    worker.add("a", lambda ctx: ctx.remaining_seconds, timeout_seconds=10)

    worker.process("a")

    assert worker.execution.finished["a"].result_text == "10.0"


def test_an_import_that_does_not_end_is_told_and_ends_the_process(worker: Worker) -> None:
    # The process does not really end here, so its import can go on once it should have ended.
    has_ended = threading.Event()
    worker.on_exit = has_ended.set
    worker.imports = [lambda: has_ended.wait(PATIENCE)]
    worker.add("a", lambda ctx: None)

    processing = worker.start("a")
    eventually(lambda: "a" in worker.execution.pulses)
    worker.clock.advance(PATIENCE)
    processing.kept()

    assert worker.acts == ["a FAILED", "exit 70"]
    told = worker.execution.finished["a"].error
    assert told is not None
    assert (told.type, told.retryable) == ("HandlersNotLoaded", True)
    assert told.message == "Importing the handlers took longer than 20 s."
