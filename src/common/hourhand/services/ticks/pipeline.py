"""Reads, sends and marks one after the other: each has ended when its method returns."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from hourhand.domain.jobs.job import Job
from hourhand.domain.jobs.transitions import Transition
from hourhand.ports.job_store import JobStore
from hourhand.ports.queues import Outgoing, Queues


@dataclass(frozen=True, slots=True)
class InTurn:
    """Implements the port `Pipeline` by one call of another port after the other."""

    jobs: JobStore
    queues: Queues

    def read(
        self,
        job_ids: Sequence[str],
        ended: Callable[[Sequence[str], Mapping[str, Job] | Exception], None],
    ) -> None:
        """Read hot items; ``ended`` gets all of them, or the error."""
        found: Mapping[str, Job] | Exception
        try:
            found = self.jobs.get_many(job_ids)
        except Exception as error:  # noqa: BLE001 - what is to be done is the caller's to say
            found = error
        ended(job_ids, found)

    def send(
        self, outgoing: Sequence[Outgoing], ended: Callable[[Mapping[int, str | None]], None]
    ) -> None:
        """Send messages; raises what `Queues.send` raises."""
        ended(dict(enumerate(self.queues.send(outgoing))))

    def mark(
        self,
        moves: Sequence[Transition],
        ended: Callable[[Sequence[bool] | Exception], None],
    ) -> None:
        """Make moves; raises what `JobStore.transition_many` raises."""
        ended(self.jobs.transition_many(moves))

    def go_on(self, most_left: int) -> None:
        """Do nothing: nothing is under way."""
