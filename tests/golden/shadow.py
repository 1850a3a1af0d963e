"""What the stories of the catalogues ask of AWS: each call of a port is made on moto, too.

The stores in memory answer, and the adapters of AWS make the same calls beside them, so that what
goes over the wire is seen of any story without a second world.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import pytest

from hourhand.aws.control_store import DynamoControlStore
from hourhand.aws.idempotency_store import DynamoIdempotencyStore
from hourhand.aws.job_store import DynamoJobStore
from hourhand.aws.object_store import S3ObjectStore
from hourhand.aws.schedule_store import DynamoCalendarStore, DynamoScheduleStore
from hourhand.aws.side_item_store import DynamoSideItemStore
from hourhand.memory.adapters import wrapped
from hourhand.ports.queues import Outgoing
from tests.contract.aws_services import AwsServices, empty_moto
from tests.scenarios.work import Work
from tests.world.world import World


@dataclass(slots=True)
class Recorder:
    """The requests since it was last emptied, a line each."""

    keys: Mapping[str, Sequence[str]]
    lines: list[str] = field(default_factory=list)

    def note(self, params: dict[str, Any], model: Any, **_: Any) -> None:
        """Note a request of botocore, before it is serialised."""
        if model.name == "DescribeTable":
            return
        parts = params.get("TransactItems")
        if parts is None:
            self.lines.append(f"{model.name} {self._told(params)}")
            return
        self.lines.append(f"{model.name} of {len(parts)}")
        for part in parts:
            ((operation, inner),) = part.items()
            self.lines.append(f"  {operation} {self._told(inner)}")

    def _told(self, params: Mapping[str, Any]) -> str:
        if "Bucket" in params:
            return f"{params.get('Key', '')}"
        if "Statement" in params:
            return f"{params['Statement'].split(' SET ')[0]} {_plain(params['Parameters'][-2:])}"
        if "Statements" in params:
            return "; ".join(map(self._told, params["Statements"]))
        if "RequestItems" in params:
            found = {table: one["Keys"] for table, one in params["RequestItems"].items()}
            return _plain(found)
        table = params["TableName"]
        if "KeyConditionExpression" in params:
            return f"{table}/{params.get('IndexName', '')} {_condition(params)}"
        item = params.get("Key") or params.get("Item") or {}
        return " ".join([table, *(_plain(item[name]) for name in self.keys[table] if name in item)])


def _condition(params: Mapping[str, Any]) -> str:
    text = str(params["KeyConditionExpression"])
    named = {**params.get("ExpressionAttributeNames", {}), **params["ExpressionAttributeValues"]}
    for name in sorted(named, key=len, reverse=True):
        text = text.replace(name, _plain(named[name]))
    return text


def _plain(value: Any) -> str:
    """Return a value of DynamoDB, or what holds such, without its types."""
    match value:
        case {"S": text} | {"N": text}:
            return str(text)
        case dict():
            return ", ".join(f"{name} {_plain(one)}" for name, one in value.items())
        case list():
            return "; ".join(map(_plain, value))
    return str(value)


@dataclass(frozen=True, slots=True)
class Shadowed:
    """A port in memory whose calls are made on its adapter of AWS, too."""

    memory: Any
    aws: Any

    def __getattr__(self, name: str) -> Any:
        """Return the attribute in memory; a method is called on both."""
        found = getattr(self.memory, name)
        if not callable(found):
            return found

        def call(*args: Any, **kwargs: Any) -> Any:
            answer = getattr(self.aws, name)(*args, **kwargs)
            if isinstance(answer, Iterator):
                list(answer)
            return found(*args, **kwargs)

        return call


@dataclass(frozen=True, slots=True)
class Messages:
    """Notes what is sent in the place of SQS."""

    recorder: Recorder

    def send(self, outgoing: Sequence[Outgoing]) -> None:
        """Note a message of jobs each."""
        for one in outgoing:
            told = f"{one.queue} {one.message.job_id} {one.message.generation}"
            self.recorder.lines.append(f"SendMessage {told} in {one.delay_seconds} s")

    def __getattr__(self, name: str) -> Any:
        """Note any other call by its name."""
        return lambda *_, **__: self.recorder.lines.append(f"queues.{name}")


@dataclass(frozen=True, slots=True)
class Stage:
    """An installation on moto whose requests are recorded."""

    aws: AwsServices
    recorder: Recorder

    @contextmanager
    def shadowing(self, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
        """Let the processes of each new world make their calls here, too."""
        aws, settings = self.aws, self.aws.settings
        stores: dict[str, Callable[[], Any]] = {
            "jobs": lambda: DynamoJobStore(aws.dynamodb, settings.jobs_table),
            "side_items": lambda: DynamoSideItemStore(aws.dynamodb, settings.jobs_table),
            "schedules": lambda: DynamoScheduleStore(aws.dynamodb, settings.schedules_table),
            "calendars": lambda: DynamoCalendarStore(aws.dynamodb, settings.schedules_table),
            "control": lambda: DynamoControlStore(aws.dynamodb, settings.control_table),
            "idempotency": lambda: DynamoIdempotencyStore(aws.dynamodb, settings.idempotency_table),
            "objects": lambda: S3ObjectStore(aws.s3, settings.bucket),
            "queues": lambda: Messages(self.recorder),
        }
        plain = World.adapters
        with monkeypatch.context() as patch:
            patch.setattr(
                World,
                "adapters",
                lambda world, clock: wrapped(
                    plain(world, clock),
                    tuple(stores),
                    lambda port, name: Shadowed(port, stores[name]()),
                ),
            )
            yield

    def requests(self, work: Work, monkeypatch: pytest.MonkeyPatch) -> list[str]:
        """Return what one story asks of AWS, after what led to it."""
        empty_moto()
        with self.shadowing(monkeypatch):
            world, process, _ = work.prepare()
            self.recorder.lines.clear()
            work.act(world, process)
        return list(self.recorder.lines)

    def items(self) -> Iterator[dict[str, Any]]:
        """Return what the story left in the table of jobs, as it is stored."""
        table = self.aws.settings.jobs_table
        for page in self.aws.dynamodb.get_paginator("scan").paginate(TableName=table):
            yield from page["Items"]
