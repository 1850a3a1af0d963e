"""What the demo does to the system on purpose: it purges the queues and kills the leader."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime

from hourhand.local.cloud import LocalCloud
from hourhand.ports import ControlStore, Lease
from hourhand.services.leadership import LEADER

LOOK_SECONDS = 0.02
"""How often the leader's lease is looked at: a tick takes some ten times as long."""

MAX_KILLS = 3
"""A kill that comes after the leader gave its lease up proves nothing, and is repeated."""

AFTER_VAIN_SECONDS = 1.0
HUNT_SECONDS = 60.0


@dataclass(frozen=True, kw_only=True, slots=True)
class LeaderKilled:
    """A scheduler was killed.

    ``held_lease_until``: the end of the lease that it died with; ``None`` if it had given it up.
    ``pids``: of all that were killed, the ones before it in vain.
    """

    name: str
    pid: int
    epoch: int
    at: datetime
    held_lease_until: datetime | None
    pids: tuple[int, ...]


def purge_queues(cloud: LocalCloud) -> tuple[datetime, datetime]:
    """Lose every message of the priority queues; return when that began and ended."""
    begin = datetime.now(UTC)
    for url in cloud.settings.queues.values():
        cloud.sqs.purge_queue(QueueUrl=url)
    return begin, datetime.now(UTC)


class LeaderHunt:
    """Waits in a thread for a scheduler to lead, and kills it in the middle of its tick."""

    def __init__(
        self, cloud: LocalCloud, control: ControlStore, on_kill: Callable[[LeaderKilled], None]
    ) -> None:
        """Take the cloud and its control table; `start` begins."""
        self.killed: LeaderKilled | None = None
        self._cloud = cloud
        self._control = control
        self._on_kill = on_kill
        self._thread = threading.Thread(target=self._run, name="leader-hunt", daemon=True)

    def start(self) -> None:
        """Begin to hunt."""
        self._thread.start()

    def join(self) -> None:
        """Wait until the hunt is over, well or badly."""
        self._thread.join()

    def _run(self) -> None:
        give_up_at = time.monotonic() + HUNT_SECONDS
        kills = 0
        while time.monotonic() < give_up_at and kills < MAX_KILLS:
            lease = self._held_lease()
            if lease is None:
                time.sleep(LOOK_SECONDS)
                continue
            kills += 1
            self.killed = self._kill(lease)
            self._on_kill(self.killed)
            if self.killed.held_lease_until is not None:
                return
            # A later look must not find the same leader again.
            time.sleep(AFTER_VAIN_SECONDS)

    def _held_lease(self) -> Lease | None:
        lease = self._control.read_lease(LEADER)
        if lease is None or lease.until <= datetime.now(UTC):
            return None
        return lease

    def _kill(self, lease: Lease) -> LeaderKilled:
        holders = {scheduler.child.name: scheduler.child for scheduler in self._cloud.schedulers}
        # A lease is held by an invocation, whose id begins with the name of its process.
        child = next(c for name, c in holders.items() if lease.holder.startswith(f"{name}-"))
        child.signal(signal.SIGKILL)
        at = datetime.now(UTC)
        # Dead processes give nothing up: if the lease still stands, it died holding it.
        after = self._held_lease()
        held = after is not None and after.epoch == lease.epoch and after.holder == lease.holder
        return LeaderKilled(
            name=child.name,
            pid=child.pid,
            epoch=lease.epoch,
            at=at,
            held_lease_until=after.until if held and after is not None else None,
            pids=(*(self.killed.pids if self.killed is not None else ()), child.pid),
        )
