"""A server that answers the calls of a sweep, and a sweep that sends all that it reads."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

import pytest

from hourhand.aws import pipeline as pipeline_module
from hourhand.aws.batches import Bulk
from hourhand.aws.job_store import DynamoJobStore
from hourhand.aws.layout.jobs import job_to_item
from hourhand.aws.lean import _client
from hourhand.aws.pipeline import LeanPipeline, lean_pipeline
from hourhand.aws.queues import SqsQueues
from hourhand.domain.jobs.actions import Dispatch
from hourhand.domain.jobs.job import Job, Priority
from hourhand.domain.ticks.timings import Timings
from hourhand.memory import MemoryClock, MemoryControlStore, RecordingTelemetry
from hourhand.services.jobs.known_pauses import KnownPauses
from hourhand.services.ticks.dispatch import Dispatcher, ToDispatch
from tests.unit.aws.lean.conftest import boto, closed, lean
from tests.unit.aws.lean.raw_server import Behaviour, RawServer, raw_server, refusing, whole
from tests.world.factories import make_job

__all__ = ["closed"]
PATIENCE_SECONDS = 30.0
TABLE = "jobs"
URLS = {priority: f"http://sqs/1/{priority}" for priority in Priority}
THROTTLED = refusing("ThrottlingException")
LONG_SECONDS = 1000.0
"""Longer than any test."""

Refusal = Callable[[str, Any, int], Behaviour | None]


@dataclass
class Aws:
    """Answers as DynamoDB and SQS do.

    ``refuse``: by the kind of call, its body and its turn. ``errors_of``: the parts of a batch that
    are not done, each with its error, by the kind of call and its jobs.
    """

    server: RawServer
    jobs: dict[str, Job]
    refuse: Refusal = lambda _kind, _asked, _turn: None
    errors_of: Callable[[str, Sequence[str]], Mapping[str, Any]] = lambda _kind, _names: {}
    log: list[tuple[str, tuple[str, ...]]] = field(default_factory=list)
    undone: dict[int, Mapping[str, Any]] = field(default_factory=dict)
    turns: Counter[str] = field(default_factory=Counter)

    def answer(self, body: bytes) -> Behaviour:
        asked = json.loads(body)
        kind, names = read_call(asked)
        self.turns[body.decode()] += 1
        refusal = self.refuse(kind, asked, self.turns[body.decode()])
        if refusal is not None:
            self.log.append((f"{kind} refused", names))
            return refusal
        errors = self.undone[len(self.log)] = self.errors_of(kind, names)
        self.log.append((kind, names))
        if kind == "read":
            items = [job_to_item(self.jobs[name]) for name in names if name in self.jobs]
            return whole(200, {"Responses": {TABLE: items}})
        if kind == "send":
            return _sent(names, asked["Entries"], errors)
        if kind == "mark":
            told = [{"Error": errors[name]} if name in errors else {} for name in names]
            return whole(200, {"Responses": told})
        if kind == "mark alone":
            return whole(200, {"Attributes": job_to_item(self.jobs[names[0]])})
        return whole(200, {"MessageId": "m"})

    def places(self, kind: str) -> dict[str, int]:
        """Return when each job was first done so."""
        found: dict[str, int] = {}
        for place, (done, names) in enumerate(self.log):
            if done == kind:
                for name in names:
                    if name not in self.undone[place]:
                        found.setdefault(name, place)
        return found

    def calls(self, kind: str, name: str) -> int:
        """Return how often a job was part of a call."""
        return sum(done == kind and name in names for done, names in self.log)


def _sent(names: Sequence[str], entries: Sequence[Any], errors: Mapping[str, Any]) -> Behaviour:
    told: dict[str, list[Any]] = {"Successful": [], "Failed": []}
    for name, entry in zip(names, entries, strict=True):
        error = errors.get(name)
        told["Failed" if error else "Successful"].append(
            {"Id": entry["Id"], **(error or {"MessageId": "m"})}
        )
    return whole(200, {each: parts for each, parts in told.items() if parts})


def read_call(asked: Any) -> tuple[str, tuple[str, ...]]:
    if "RequestItems" in asked:
        return "read", tuple(key["p"]["S"] for key in asked["RequestItems"][TABLE]["Keys"])
    if "Entries" in asked:
        bodies = [json.loads(entry["MessageBody"]) for entry in asked["Entries"]]
        return "send", tuple(body["job"] for body in bodies)
    if "MessageBody" in asked:
        return "send alone", (json.loads(asked["MessageBody"])["job"],)
    if "Key" in asked:
        return "mark alone", (asked["Key"]["p"]["S"],)
    known = [[value["S"] for value in s["Parameters"] if "S" in value] for s in asked["Statements"]]
    return "mark", tuple(next(v for v in values if v.startswith("job-")) for values in known)


@pytest.fixture
def aws() -> Iterator[Aws]:
    with raw_server() as server:
        aws = Aws(server, {f"job-{n:04}": make_job(id=f"job-{n:04}") for n in range(450)})
        server.answer_to = aws.answer
        yield aws


@dataclass
class PutOff:
    """Puts off the parts of some jobs in calls of a ``kind``, the first ``times`` of each."""

    kind: str
    errors: Mapping[str, Any]
    times: int = 1
    asked: Counter[str] = field(default_factory=Counter)

    def __call__(self, kind: str, names: Sequence[str]) -> dict[str, Any]:
        if kind != self.kind:
            return {}
        self.asked.update(names)
        concerned = self.errors.keys() & {*names}
        return {name: self.errors[name] for name in concerned if self.asked[name] <= self.times}


@dataclass
class Swept:
    """What a sweep does with what it reads: it sends all of it."""

    pipeline: LeanPipeline
    dispatcher: Dispatcher
    telemetry: RecordingTelemetry
    sent: int = 0
    unsent: int = 0
    read: list[str] = field(default_factory=list)
    errors: list[Exception] = field(default_factory=list)

    def page(self, ids: Sequence[str], most_left: int = 5000) -> None:
        self.pipeline.read(ids, self.act)
        self.go_on(most_left)

    def go_on(self, most_left: int = 0) -> None:
        try:
            self.pipeline.go_on(most_left)
        except Exception as error:  # noqa: BLE001 - looked at
            self.errors.append(error)

    def let_time_pass(self) -> None:
        """Let all that waits now be due."""
        flight = self.pipeline._flight
        assert flight is not None
        flight._time._away -= LONG_SECONDS * 100

    def counted(self, metric: str) -> float:
        return sum(each.value for each in self.telemetry.metrics if each.metric == metric)

    def act(self, ids: Sequence[str], found: Mapping[str, Job] | Exception) -> None:
        if isinstance(found, Exception):
            raise found
        self.read += ids
        batch = [ToDispatch(found[name], Dispatch()) for name in ids if name in found]
        self.dispatcher.dispatch(batch, self.note)

    def note(self, sent: int, unsent: int) -> None:
        self.sent += sent
        self.unsent += unsent


@pytest.fixture
def swept(aws: Aws, monkeypatch: pytest.MonkeyPatch) -> Swept:
    # What is put off is tried again once nothing else is to be done.
    monkeypatch.setattr(_client, "backoff_seconds", lambda tries, _: LONG_SECONDS * tries)
    monkeypatch.setattr(pipeline_module, "wait_seconds", lambda tries: LONG_SECONDS * tries)
    # No answer here is late on purpose: on a busy machine none may be taken for lost.
    clients = {
        name: boto(name, aws.server.url, attempts=4, timeout_seconds=PATIENCE_SECONDS)
        for name in ("dynamodb", "sqs")
    }
    jobs = DynamoJobStore(
        clients["dynamodb"], TABLE, batch_marks=True, bulk=Bulk(lean(clients["dynamodb"]))
    )
    telemetry = RecordingTelemetry()
    queues = SqsQueues(
        clients["sqs"],
        URLS,
        dead_letter_url="",
        clock_url="",
        telemetry=telemetry,
        bulk=Bulk(lean(clients["sqs"])),
    )
    pipeline = lean_pipeline(jobs, queues)
    assert pipeline is not None
    clock = MemoryClock()
    pauses = KnownPauses(MemoryControlStore(), clock, Timings())
    return Swept(pipeline, Dispatcher(pipeline, clock, telemetry, timedelta(0), pauses), telemetry)
