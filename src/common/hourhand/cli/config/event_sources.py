"""The limits of the workers' event sources, as Lambda has them now."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from hourhand.aws.table_schema import PRIORITY_QUEUES
from hourhand.aws.worker_shares import CALLS_PER_POLLER, CONCURRENCY_SHARES, shared_out
from hourhand.cli.doctor.asking import Aws
from hourhand.cli.doctor.callers import function_of
from hourhand.cli.doctor.deployment import Deployment
from hourhand.cli.doctor.findings import NotSeen, Status
from hourhand.domain.jobs.job import Priority

OUTPUT = "WorkerConcurrency"
"""The output of the stack with the setting of the last deployment."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Concurrency:
    """How many workers the event source of each priority may call; ``None``: no limit.

    ``deployed``: the setting as the stack has it, ``none`` for no limit, or ``None`` if the stack
    is of an older release. ``sources``: the id of each event source, by priority.
    """

    present: Mapping[str, int | None]
    sources: Mapping[str, str]
    deployed: str | None
    has_pollers: bool = False

    @property
    def total(self) -> str | None:
        """The setting that results in the present limits; ``None``: there is none."""
        limits = list(self.present.values())
        if all(limit is None for limit in limits):
            return "none"
        known = [limit for limit in limits if limit is not None]
        is_shared = len(known) == len(limits) and shared_out(sum(known)) == dict(self.present)
        # Pollers are rounded down, so their sum is not the setting.
        return str(sum(known)) if is_shared else self.deployed if self.has_pollers else None


def read_concurrency(aws: Aws, deployment: Deployment) -> Concurrency:
    """Ask Lambda for the limits. Raises `NotSeen`."""
    worker = deployment.function("worker")
    present: dict[str, int | None] = {}
    sources: dict[str, str] = {}
    has_pollers = False
    for name in CONCURRENCY_SHARES:
        source = _source(aws, deployment, PRIORITY_QUEUES[Priority(name)].name, worker)
        pollers = source.get("ProvisionedPollerConfig") or {}
        has_pollers = has_pollers or bool(pollers)
        most = pollers.get("MaximumPollers")
        limit = source.get("ScalingConfig", {}).get("MaximumConcurrency")
        present[name] = limit if most is None else most * CALLS_PER_POLLER
        sources[name] = source["UUID"]
    return Concurrency(
        present=present,
        sources=sources,
        deployed=deployment.outputs.get(OUTPUT),
        has_pollers=has_pollers,
    )


def change(aws: Aws, before: Concurrency, wanted: int | None) -> Concurrency:
    """Set the limits of all event sources; return what is set then. Raises `NotSeen`.

    If a call fails, the event sources before it are changed; a second run changes the rest.
    """
    names = before.present.keys()
    limits: Mapping[str, int | None] = (
        dict.fromkeys(names) if wanted is None else shared_out(wanted)
    )
    for name in names:
        if before.present[name] == limits[name]:
            continue
        aws.ask(
            "lambda",
            "UpdateEventSourceMapping",
            f"event source {name}",
            UUID=before.sources[name],
            # Without a member it removes the limit (Lambda API, ScalingConfig).
            ScalingConfig={} if limits[name] is None else {"MaximumConcurrency": limits[name]},
        )
    return replace(before, present=limits)


def _source(aws: Aws, deployment: Deployment, queue: str, worker: str) -> Mapping[str, Any]:
    arn = deployment.queue_arn(queue)
    # By the queue: a worker that is called by an alias does not list it under its name.
    answer = aws.ask("lambda", "ListEventSourceMappings", "every event source", EventSourceArn=arn)
    for source in answer["EventSourceMappings"]:
        if function_of(source["FunctionArn"]) == worker:
            found: Mapping[str, Any] = source
            return found
    raise NotSeen(
        Status.FAILED,
        f"no event source delivers the messages of {queue} to {worker}",
        "Redeploy with CONTEXT=--revert-drift.",
    )
