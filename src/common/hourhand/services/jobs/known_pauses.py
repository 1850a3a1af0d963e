"""Records of the control table as one process knows them: the pauses of handlers, for one."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from datetime import datetime
from typing import Generic, Protocol, TypeVar

from hourhand.domain.errors import Unavailable
from hourhand.domain.jobs.pauses import HandlerPauses
from hourhand.domain.ticks.timings import Timings
from hourhand.ports.clock import Clock
from hourhand.ports.control_store import ControlStore


class _HasRevision(Protocol):
    @property
    def revision(self) -> int:
        """Increased by each write."""


R = TypeVar("R", bound=_HasRevision)


@dataclass(slots=True)
class KnownRecord(ABC, Generic[R]):
    """A record as this process last read it, at most `Timings.control_cache` ago.

    Where the control table does not answer, what was read before counts on.
    """

    control: ControlStore
    clock: Clock
    timings: Timings
    _known: R | None = field(default=None, init=False)
    _read_at: float = field(default=0.0, init=False)

    @abstractmethod
    def _read(self) -> R:
        """Read the record, strongly consistent. Raises `Unavailable`."""

    @property
    def revision(self) -> int:
        """The revision that this process knows; 0 if it has read none."""
        return self._known.revision if self._known is not None else 0

    def current(self, at_least: int = 0) -> R:
        """Return the record of this revision or a later one, as far as the table answers.

        Raises `Unavailable` if it was never read.
        """
        known = self._known
        if known is not None and known.revision >= at_least and self._is_young():
            return known
        try:
            return self.fresh()
        except Unavailable:
            if known is None:
                raise
            self._read_at = self.clock.monotonic()
            return known

    def fresh(self) -> R:
        """Read the record, strongly consistent. Raises `Unavailable`."""
        read_at = self.clock.monotonic()
        record = self._read()
        self._known, self._read_at = record, read_at
        return record

    def learn(self, record: R) -> None:
        """Note the record as this process has just written it."""
        self._known, self._read_at = record, self.clock.monotonic()

    def _is_young(self) -> bool:
        age = self.clock.monotonic() - self._read_at
        return age < self.timings.control_cache.total_seconds()


@dataclass(slots=True)
class KnownPauses(KnownRecord[HandlerPauses]):
    """The pauses of handlers."""

    def _read(self) -> HandlerPauses:
        return self.control.read_pauses()

    def is_paused(self, handler: str, at: datetime) -> bool:
        """Whether a handler is paused at a time, as far as is known. May raise `Unavailable`."""
        return self.current().of(handler, at) is not None
