"""The fakes that only record or keep: telemetry, handlers, invocations, objects, records."""

from __future__ import annotations

from datetime import timedelta

from hourhand.domain.jobs.job import Priority
from hourhand.domain.jobs.policies import HandlerPolicies
from hourhand.memory import (
    START,
    LogLine,
    Measurement,
    MemoryHandlerDirectory,
    MemoryIdempotencyStore,
    MemoryObjectStore,
    MemorySweepInvoker,
    RecordingTelemetry,
    SweepInvocation,
)
from hourhand.ports.handler_directory import HandlerInfo
from tests.world.factories import make_record

DAY = timedelta(days=1)


def test_telemetry_is_on_record_in_order() -> None:
    telemetry = RecordingTelemetry()
    telemetry.info("A job was dispatched.", job="job-1")
    telemetry.warning("A lease was lost.")
    telemetry.count("dispatched")
    telemetry.count("dispatched", 4)
    telemetry.observe("lateness_ms", 12.5)
    assert telemetry.logs == [
        LogLine(level="info", sentence="A job was dispatched.", fields={"job": "job-1"}),
        LogLine(level="warning", sentence="A lease was lost."),
    ]
    assert telemetry.sentences == ["A job was dispatched.", "A lease was lost."]
    assert telemetry.warnings == telemetry.logs[1:]
    assert telemetry.total("dispatched") == 5
    assert telemetry.values("dispatched") == [1, 4]
    assert telemetry.total("never") == 0
    telemetry.flush()
    assert telemetry.flushes == 1
    assert telemetry.metrics[-1] == Measurement(
        metric="lateness_ms", value=12.5, unit="Milliseconds"
    )


def test_handlers_are_found_and_listed_by_name() -> None:
    polite = HandlerInfo(name="greet", policies=HandlerPolicies(priority=Priority.HIGH))
    directory = MemoryHandlerDirectory("send", polite)
    assert directory.find("greet") == polite
    assert directory.find("send") == HandlerInfo(name="send")
    assert directory.find("none") is None
    assert [info.name for info in directory.all()] == ["greet", "send"]


def test_invocations_are_noted_unless_they_are_refused() -> None:
    invoker = MemorySweepInvoker()
    assert invoker.invoke([1, 2], epoch=3, tick_at=START) is True
    invoker.accepts = False
    assert invoker.invoke([4], epoch=3, tick_at=START) is False
    assert invoker.invoked == [SweepInvocation(shards=(1, 2), epoch=3, tick_at=START)]


def test_only_objects_marked_finished_expire() -> None:
    objects = MemoryObjectStore()
    for key in ("live", "finished", "redriven", "kept"):
        objects.put(key, "1")
    objects.mark_finished("finished", START + DAY)
    objects.mark_finished("redriven", START + DAY)
    objects.mark_finished("kept", START + 3 * DAY)
    objects.mark_live("redriven")
    assert objects.finished() == {"finished": START + DAY, "kept": START + 3 * DAY}
    assert objects.delete_expired(START + 2 * DAY) == 1
    assert objects.keys() == {"live", "redriven", "kept"}
    assert objects.delete_expired(START + 365 * DAY) == 1
    assert objects.keys() == {"live", "redriven"}


def test_an_object_stored_again_is_live_again() -> None:
    objects = MemoryObjectStore()
    objects.put("key", "1")
    objects.mark_finished("key", START)
    objects.put("key", "2")
    assert objects.finished() == {}


def test_idempotency_records_expire() -> None:
    records = MemoryIdempotencyStore()
    records.begin(make_record(key="one", keep_until=START), now=START)
    records.begin(make_record(key="two", keep_until=START + 2 * DAY), now=START)
    assert records.delete_expired(START) == 0
    assert records.delete_expired(START + DAY) == 1
    assert list(records.records()) == ["two"]
