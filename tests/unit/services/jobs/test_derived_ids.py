"""Ids that follow from a key or a schedule: the same for all of an installation, and no other."""

from __future__ import annotations

import pytest

from hourhand.domain.errors import Unavailable
from hourhand.memory import FAKE_SECRET, START, MemoryControlStore, MemoryRandomness
from hourhand.services.jobs.new_job import DerivedIds
from tests.world.faults import Faults


class OtherChance(MemoryRandomness):
    """One that draws another secret."""

    def secret(self) -> bytes:
        return bytes(32)


def test_all_processes_of_an_installation_derive_the_same_ids() -> None:
    control = MemoryControlStore()
    first, second = DerivedIds(control, MemoryRandomness()), DerivedIds(control, OtherChance())
    assert first.of_key("t", "k") == second.of_key("t", "k")
    assert first.of_occurrence("s", START, "x") == second.of_occurrence("s", START, "x")
    assert control.read_secret() == FAKE_SECRET


def test_two_installations_derive_different_ids() -> None:
    one = DerivedIds(MemoryControlStore(), MemoryRandomness())
    other = DerivedIds(MemoryControlStore(), OtherChance())
    assert one.of_key(None, "k") != other.of_key(None, "k")
    assert one.of_occurrence("s", START) != other.of_occurrence("s", START)


def test_of_two_that_create_the_secret_at_once_both_use_the_first() -> None:
    control = MemoryControlStore()
    faults = Faults()
    faults.interrupt("control.create_secret", lambda: control.create_secret(bytes(32)))
    ids = DerivedIds(faults.wrap(control, "control"), MemoryRandomness())
    assert ids.secret() == bytes(32)


def test_the_secret_is_read_once_in_a_process_and_shown_nowhere() -> None:
    control = MemoryControlStore()
    control.create_secret(FAKE_SECRET)
    faults = Faults()
    ids = DerivedIds(faults.wrap(control, "control"), MemoryRandomness())
    assert not faults.calls, "nothing is read before an id is derived"
    for number in range(5):
        ids.of_key(None, str(number))
    assert [call.method for call in faults.calls] == ["read_secret"]
    assert str(FAKE_SECRET) not in repr(ids)


def test_no_id_is_derived_without_the_secret() -> None:
    faults = Faults()
    faults.throttle("control.read_secret", times=1)
    ids = DerivedIds(faults.wrap(MemoryControlStore(), "control"), MemoryRandomness())
    with pytest.raises(Unavailable):
        ids.of_key(None, "k")
    assert ids.of_key(None, "k")
