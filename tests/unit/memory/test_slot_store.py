from __future__ import annotations

from datetime import timedelta

import pytest

from hourhand.domain.groups.overlap import Slots
from hourhand.memory import START, MemorySlotStore
from hourhand.ports.slot_store import SlotStore
from hourhand.testing import Faults, When

HOUR = timedelta(hours=1)


def enter(store: SlotStore, job_id: str) -> int:
    """Add a holder, as often as it takes; return how many writes it took."""
    for tries in range(1, 9):
        found = store.read_slots("nightly")
        slots = Slots(
            group="nightly",
            sequence=found.sequence + 1,
            write_id=f"{job_id}-{tries}",
            holders=(*found.holders, job_id),
        )
        if store.write_slots(slots, keep_until=START + HOUR):
            return tries
    raise AssertionError("the write was never applied")


@pytest.mark.parametrize("when", When)
@pytest.mark.parametrize("method", ["read_slots", "write_slots"])
def test_another_holder_at_any_step_pushes_nobody_out(method: str, when: When) -> None:
    store, faults = MemorySlotStore(), Faults()
    faults.interrupt(method, lambda: enter(store, "theirs"), when=when)
    tries = enter(faults.wrap(store), "mine")
    assert sorted(store.read_slots("nightly").holders) == ["mine", "theirs"]
    is_between = (method, when) in {("read_slots", When.AFTER), ("write_slots", When.BEFORE)}
    assert tries == (2 if is_between else 1)


def test_a_group_expires_when_nobody_wrote_it_for_long() -> None:
    store = MemorySlotStore()
    enter(store, "mine")
    assert store.kept_until("nightly") == START + HOUR
    assert store.delete_expired(START + HOUR) == 0
    assert store.delete_expired(START + 2 * HOUR) == 1
    assert store.read_slots("nightly") == Slots(group="nightly")
    assert store.kept_until("nightly") is None
    assert enter(store, "again") == 1


def test_an_end_that_no_real_store_could_give_back_is_refused() -> None:
    slots = Slots(group="nightly", sequence=1)
    with pytest.raises(ValueError, match="keep_until"):
        MemorySlotStore().write_slots(slots, keep_until=START + timedelta(microseconds=1))
