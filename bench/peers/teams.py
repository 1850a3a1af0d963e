"""The contestants, each with its own tables and queues: what submits, what works, what is kept."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any

from bench.peers import runs
from bench.peers.children import Child
from bench.peers.hourhand_handlers import NAME
from bench.peers.world import PEERS_PYTHON, World
from hourhand.aws.handler_manifest import write_manifest
from hourhand.aws.provision import provision
from hourhand.domain.jobs.job import JobStatus
from hourhand.domain.ticks.timings import Timings
from hourhand.ports.handler_directory import HandlerInfo
from hourhand.settings import settings_environment

HOURHAND, CELERY, DRAMATIQ = "Hourhand", "Celery", "dramatiq"
EVENT_BRIDGE = "EventBridge Scheduler"
PROCESSES = 2
"""Processes that work in the steady scene: as many as there are cores on the machine we know."""

SETTLED_LOOK_BACK = timedelta(minutes=3)
"""A new installation first reads a day back; one that has run for a while has this much open."""

SQS_VISIBILITY_SECONDS, KOMBU_VISIBILITY_SECONDS = 30, 1800
"""What a queue is made with by default: by SQS, and by kombu (its SQS transport)."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Kind:
    """What of a contestant differs between scenes.

    ``visibility_seconds``: ``None`` is its own default. With a short one it polls for a second
    at a time: the emulator goes on with the long poll of a client that was killed, and the
    message that this hands to nobody would be late by another timeout. ``prefetch``: Celery's
    multiplier, where its default does not suit the work.
    """

    label: str
    processes: int
    visibility_seconds: int | None = None
    prefetch: int | None = None

    def environment(self) -> dict[str, str]:
        """Return what the contestants' own modules read."""
        told: dict[str, str] = {}
        if self.visibility_seconds is not None:
            told["PEERS_VISIBILITY_SECONDS"] = str(self.visibility_seconds)
            told["PEERS_WAIT_SECONDS"] = "1"
        if self.prefetch is not None:
            told["PEERS_PREFETCH"] = str(self.prefetch)
        return told


@dataclass(frozen=True, kw_only=True, slots=True)
class Team:
    """A contestant, ready to be started. ``workers``: how often ``work`` is started.

    ``recorded`` counts the jobs whose success is on record, by a look of our own.
    """

    name: str
    kind: Kind
    world: World
    submit: Sequence[str]
    work: Sequence[str]
    workers: int
    environment: Mapping[str, str]
    recorded: Callable[[], int]

    def role(self, does: str) -> str:
        """Return what its calls are counted under."""
        return f"{self.name}/{self.kind.label}/{does}"

    def record(self) -> runs.Record:
        """Return what its workers wrote."""
        return runs.read(self._file())

    def ended(self) -> int:
        """Return how many jobs have ended at least once."""
        return len(self.record().ended)

    def start(self, does: str, command: Sequence[str], *, talks: bool = False) -> Child:
        """Start a process of the team, counted under ``does``."""
        endpoint = self.world.open(self.role(does))
        environment = {
            **self.world.environment(endpoint),
            **self.environment,
            **self.kind.environment(),
            runs.FILE: str(self._file()),
        }
        log = self.role(does).replace("/", "-").replace(" ", "-")
        return self.world.children.start(log, command, environment, talks=talks)

    def start_submitter(self) -> Child:
        """Start what submits."""
        return self.start("submit", self.submit, talks=True)

    def start_workers(self) -> list[Child]:
        """Start what works."""
        return [self.start("work", self.work) for _ in range(self.workers)]

    def _file(self) -> Any:
        return self.world.folder / f"{self.name.split()[0]}-{self.kind.label}.runs"


def hourhand(
    world: World,
    kind: Kind,
    handler: HandlerInfo = HandlerInfo(name=NAME),  # noqa: B008 - frozen
    module: str = "bench.peers.hourhand_handlers",
    others: Sequence[HandlerInfo] = (),
) -> Team:
    """Return ours, with all its durations scaled where the visibility timeout is shortened.

    ``module`` registers its ``handler``, whose jobs are submitted, and the ``others``.
    """
    prefix = f"peers-{kind.label}"
    dynamodb = world.client("dynamodb")
    manifest = world.folder / f"{prefix}.json"
    write_manifest(manifest, [handler, *others])
    timings = replace(Timings(), first_look_back=SETTLED_LOOK_BACK)
    if kind.visibility_seconds is not None:
        factor = kind.visibility_seconds / timings.visibility.total_seconds()
        timings = timings.scaled(factor)
    settings = replace(
        provision(dynamodb, world.client("sqs"), world.client("s3"), prefix=prefix),
        handlers=module,
        manifest=str(manifest),
        timings=timings,
    )
    side = (sys.executable, "-m", "bench.peers.hourhand_side")

    def recorded() -> int:
        succeeded = {"S": JobStatus.SUCCEEDED.value}
        return sum(item.get("t") == succeeded for item in _items(dynamodb, settings.jobs_table))

    return Team(
        name=HOURHAND,
        kind=kind,
        world=world,
        submit=(*side, "submit"),
        work=(*side, "work"),
        workers=kind.processes,
        environment={**settings_environment(settings), "PEERS_HANDLER": handler.name},
        recorded=recorded,
    )


def celery(world: World, kind: Kind) -> Team:
    """Return Celery, with as many pool processes as asked."""
    dynamodb = world.client("dynamodb")
    environment = queue_and_table(world, "celery", kind, KOMBU_VISIBILITY_SECONDS)
    module = "bench.peers.celery_side"
    flags = ("--concurrency", str(kind.processes), "--loglevel", "WARNING")
    quiet = ("--without-gossip", "--without-mingle", "--without-heartbeat")

    def recorded() -> int:
        items = _items(dynamodb, environment["PEERS_TABLE"])
        return sum(json.loads(item["result"]["B"])["status"] == "SUCCESS" for item in items)

    return Team(
        name=CELERY,
        kind=kind,
        world=world,
        submit=(str(PEERS_PYTHON), "-m", module),
        work=(str(PEERS_PYTHON), "-m", "celery", "-A", module, "worker", *flags, *quiet),
        workers=1,
        environment=environment,
        recorded=recorded,
    )


def dramatiq(world: World, kind: Kind) -> Team:
    """Return dramatiq, with as many processes as asked, each of its default eight threads."""
    dynamodb, environment = world.client("dynamodb"), queue_and_table(world, "dramatiq", kind)
    module = "bench.peers.dramatiq_side"
    return Team(
        name=DRAMATIQ,
        kind=kind,
        world=world,
        submit=(str(PEERS_PYTHON), "-m", module),
        work=(str(PEERS_PYTHON), "-m", "dramatiq", module, "--processes", str(kind.processes)),
        workers=1,
        environment=environment,
        recorded=lambda: len(_items(dynamodb, environment["PEERS_TABLE"])),
    )


def event_bridge(world: World, kind: Kind) -> Team:
    """Return EventBridge Scheduler with a queue and the least that can work behind it."""
    dynamodb, sqs = world.client("dynamodb"), world.client("sqs")
    environment = queue_and_table(world, "event-bridge", kind)
    url = sqs.get_queue_url(QueueName=environment["PEERS_QUEUE"])["QueueUrl"]
    asked = sqs.get_queue_attributes(QueueUrl=url, AttributeNames=["QueueArn"])
    module = (sys.executable, "-m", "bench.peers.event_bridge_side")
    return Team(
        name=EVENT_BRIDGE,
        kind=kind,
        world=world,
        submit=(*module, "submit"),
        work=(*module, "work"),
        workers=kind.processes,
        environment={
            **environment,
            "PEERS_QUEUE": url,
            "PEERS_QUEUE_ARN": asked["Attributes"]["QueueArn"],
        },
        recorded=lambda: len(_items(dynamodb, environment["PEERS_TABLE"])),
    )


def queue_and_table(
    world: World, name: str, kind: Kind, default_seconds: int = SQS_VISIBILITY_SECONDS
) -> dict[str, str]:
    """Make a queue and a table of results for a peer; return how it is told of them."""
    resource = f"{name}-{kind.label}"
    seconds = kind.visibility_seconds or default_seconds
    attributes = {"VisibilityTimeout": str(seconds)}
    world.client("sqs").create_queue(QueueName=resource, Attributes=attributes)
    world.client("dynamodb").create_table(
        TableName=resource,
        BillingMode="PAY_PER_REQUEST",
        AttributeDefinitions=[{"AttributeName": "id", "AttributeType": "S"}],
        KeySchema=[{"AttributeName": "id", "KeyType": "HASH"}],
    )
    return {"PEERS_QUEUE": resource, "PEERS_TABLE": resource}


def _items(dynamodb: Any, table: str) -> list[dict[str, Any]]:
    pages = dynamodb.get_paginator("scan").paginate(TableName=table, ConsistentRead=True)
    return [item for page in pages for item in page["Items"]]


MAKERS: Mapping[str, Callable[[World, Kind], Team]] = {
    HOURHAND: hourhand,
    CELERY: celery,
    DRAMATIQ: dramatiq,
    EVENT_BRIDGE: event_bridge,
}
