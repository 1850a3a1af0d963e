"""What the sweep does about pauses of handlers that are over, by a resume or by their time."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta

from hourhand.domain.jobs.pauses import HandlerPause, HandlerPauses
from hourhand.domain.ticks.timings import Timings
from hourhand.ports.clock import Clock
from hourhand.ports.control_store import ControlStore
from hourhand.ports.telemetry import Telemetry
from hourhand.services.jobs.waiter_records import WaiterRecords

RECORDS_A_TICK = 1_000
"""Waiter records of an ended pause that one tick deletes: some seconds of calls."""


@dataclass(frozen=True, slots=True)
class EndedPauses:
    """Ends pauses whose time is over, and cleans up after those that people ended."""

    control: ControlStore
    waiters: WaiterRecords
    clock: Clock
    timings: Timings
    telemetry: Telemetry

    @property
    def settling(self) -> timedelta:
        """How long after its end a worker may still park jobs, because it knows the pause."""
        return 2 * self.timings.control_cache + self.timings.settling

    def settle(
        self, pauses: HandlerPauses, *, sent_all: bool, may_go_on: Callable[[], bool]
    ) -> None:
        """Delete the waiter records of ended pauses, and at last the pauses themselves.

        ``pauses`` were read before the sweep. ``sent_all``: it read every open bucket and sent
        every job that waited for their end. A pause stays until then, so that the next sweep reads
        all open buckets again.
        """
        now = self.clock.now()
        done: dict[str, HandlerPause] = {}
        for handler, pause in pauses.ended(now).items():
            is_empty = self.waiters.delete_all(handler, RECORDS_A_TICK, may_go_on)
            ended_at = pause.ended_at or now
            if is_empty and sent_all and now - ended_at >= self.settling:
                done[handler] = pause
        if done and self.control.write_pauses(pauses.without(done), previous=pauses.revision):
            for handler in done:
                self.telemetry.info(
                    "All jobs that waited for the end of a pause were sent.", handler=handler
                )
