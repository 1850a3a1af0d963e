"""A world whose handler has limits, and what its tests look at."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from hourhand.domain.jobs.job import Job, JobStatus
from hourhand.domain.limits.declarations import Limit
from hourhand.domain.limits.slots import generation_of
from hourhand.domain.side_items import SideItemKind
from hourhand.ports.handler_directory import HandlerInfo
from hourhand.ports.handler_runner import Finished, Pulse
from hourhand.ports.queues import Delivery
from tests.world.runs import Behaviour, succeed
from tests.world.world import World


def limited(*limits: Limit, **how: Any) -> World:
    """Return a world whose handler ``greet`` has these limits."""
    return World(handlers=(HandlerInfo(name="greet", limits=limits),), **how)


def holders(world: World) -> dict[str, int]:
    """Return the generation of each holder of any slot, by the job's id."""
    found: dict[str, int] = {}
    for item in world.side_items.items().values():
        if item.key.kind is SideItemKind.SLOTS:
            found |= {key: generation_of(n) for key, n in item.numbers("holders").items()}
    return found


def waiters(world: World) -> list[str]:
    """Return the sort keys of all waiter records, in order."""
    items = world.side_items.items()
    return [key.sort for key in sorted(items) if key.kind is SideItemKind.WAITER]


def live_holders(world: World) -> set[str]:
    """Return the holders whose jobs have not ended."""
    jobs = world.store.jobs()
    held = {job_id for job_id in holders(world) if job_id in jobs}
    return {job_id for job_id in held if not jobs[job_id].status.is_final}


def running(world: World) -> list[str]:
    """Return the ids of the jobs that run."""
    jobs = world.store.jobs().values()
    return [job.id for job in jobs if job.status is JobStatus.RUNNING]


def while_one_runs(world: World, look: Callable[[], object], ends: Behaviour = succeed) -> None:
    """Let the first job run, work off the messages of the others, and call ``look``."""
    first, *others = world.receive()

    def behave(job: Job, pulse: Pulse) -> Finished:
        for delivery in others:
            world.handle(delivery, succeed)
        look()
        return ends(job, pulse)

    world.handle(first, behave)


class Crowd:
    """Works off messages while a handler runs, so that its job holds its slots meanwhile.

    ``most_running`` is how many jobs ran at once.
    """

    def __init__(self, world: World, ends: Behaviour = succeed) -> None:
        self.world, self.ends, self.most_running = world, ends, 0
        self._left: list[Delivery] = []

    def work_off(self, deliveries: Sequence[Delivery]) -> None:
        """Work off messages, each while the handlers of those before it still run."""
        self._left = list(deliveries)
        self._go_on()

    def settle(self, rounds: int = 20) -> None:
        """Work off what is visible until nothing is."""
        for _ in range(rounds):
            deliveries = self.world.receive()
            if not deliveries:
                return
            self.work_off(deliveries)

    def _go_on(self) -> None:
        while self._left:
            self.world.handle(self._left.pop(0), self._behave)

    def _behave(self, job: Job, pulse: Pulse) -> Finished:
        self.most_running = max(self.most_running, len(running(self.world)))
        self._go_on()
        return self.ends(job, pulse)
