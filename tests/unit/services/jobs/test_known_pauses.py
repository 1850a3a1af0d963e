"""What a process knows of pauses: it reads seldom, and never forgets what it knew."""

from __future__ import annotations

import pytest

from hourhand.domain.errors import Unavailable
from hourhand.domain.jobs.pauses import NO_PAUSES
from hourhand.domain.ticks.timings import Timings
from hourhand.memory import START, MemoryClock, MemoryControlStore
from hourhand.services.jobs.known_pauses import KnownPauses
from tests.world.faults import Faults

PAUSED = NO_PAUSES.paused("greet", START, until=None, note=None)


class Rig:
    """What a process knows, over a control table that may fail."""

    def __init__(self, faults: Faults | None = None) -> None:
        self.faults = faults or Faults()
        self.clock, self.control = MemoryClock(), MemoryControlStore()
        control = self.faults.wrap(self.control, "control")
        self.known = KnownPauses(control, self.clock, Timings())

    @property
    def reads(self) -> int:
        return len(self.faults.calls)


def test_the_pauses_are_read_once_in_half_a_minute() -> None:
    rig = Rig()
    assert rig.known.revision == 0
    assert rig.known.current() == NO_PAUSES
    assert rig.control.write_pauses(PAUSED, previous=0)
    rig.clock.advance(29.9)
    assert rig.known.current() == NO_PAUSES
    assert not rig.known.is_paused("greet", START)
    assert rig.reads == 1
    rig.clock.advance(0.1)
    assert rig.known.is_paused("greet", START)
    assert (rig.reads, rig.known.revision) == (2, 1)


def test_a_later_revision_than_is_known_is_read_at_once() -> None:
    rig = Rig()
    rig.known.current()
    rig.control.write_pauses(PAUSED, previous=0)
    assert rig.known.current(at_least=1) == PAUSED
    assert rig.known.current(at_least=1) == PAUSED
    assert rig.reads == 2


def test_what_was_known_counts_on_while_the_table_does_not_answer() -> None:
    rig = Rig(Faults().throttle("read_pauses", nth=2))
    rig.known.current()
    rig.control.write_pauses(PAUSED, previous=0)
    rig.clock.advance(31)
    assert rig.known.current() == NO_PAUSES
    assert rig.known.current() == NO_PAUSES
    assert rig.reads == 2, "it does not ask again for each job"
    rig.clock.advance(31)
    assert rig.known.current() == PAUSED


def test_nothing_is_known_before_the_table_answered() -> None:
    rig = Rig(Faults().throttle("read_pauses"))
    with pytest.raises(Unavailable):
        rig.known.current()
    assert rig.known.current() == NO_PAUSES


def test_what_a_process_wrote_it_knows() -> None:
    rig = Rig()
    rig.known.learn(PAUSED)
    assert rig.known.current() == PAUSED
    assert rig.reads == 0
