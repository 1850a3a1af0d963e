"""Reads, sends and marks of a sweep, several pages at a time."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Protocol

from hourhand.domain.jobs.job import Job
from hourhand.domain.jobs.transitions import Transition
from hourhand.ports.queues import Outgoing


class Pipeline(Protocol):
    """Reads, sends and marks of a sweep, those of several pages under way at once.

    Each is begun by its method and ends, whole or in parts, by calls of ``ended``, in any order:
    what waits to be tried again holds up nothing else. ``ended`` may begin others. A method may
    end at once what it begins; the rest ends during `go_on`, which raises what an ``ended`` raises.
    """

    def read(
        self,
        job_ids: Sequence[str],
        ended: Callable[[Sequence[str], Mapping[str, Job] | Exception], None],
    ) -> None:
        """Read hot items as `JobStore.get_many`; ``ended`` gets ids and what is found of them."""

    def send(
        self, outgoing: Sequence[Outgoing], ended: Callable[[Mapping[int, str | None]], None]
    ) -> None:
        """Send as `Queues.send`; ``ended`` gets by place ``None`` or why it was not accepted."""

    def mark(
        self,
        moves: Sequence[Transition],
        ended: Callable[[Sequence[bool] | Exception], None],
    ) -> None:
        """Make moves as `JobStore.transition_many`; ``ended`` gets what became of some of them."""

    def go_on(self, most_left: int) -> None:
        """Go on until only retries, or what fills no batch, is left, of at most so many jobs.

        With 0, all has ended.
        """
