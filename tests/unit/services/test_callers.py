"""The identity of a caller is on record before an event names it, and is found again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pytest

from hourhand.domain.callers import LOCAL, MAX_IDENTITY_CHARACTERS, caller_key
from hourhand.domain.errors import Unavailable
from hourhand.memory import RecordingTelemetry
from hourhand.memory.control_store import MemoryControlStore
from hourhand.services.callers import MAX_KEYS, MAX_REMEMBERED, Callers

ALICE = "arn:aws:iam::123456789012:user/alice"


class WatchedStore(MemoryControlStore):
    """Counts the calls, and fails where it is told to."""

    def __init__(self) -> None:
        super().__init__()
        self.kept: list[str] = []
        self.read: list[str] = []
        self.is_down = False

    def keep_caller(self, key: str, identity: str) -> str:
        self.kept.append(key)
        if self.is_down:
            raise Unavailable
        return super().keep_caller(key, identity)

    def read_callers(self, keys: Sequence[str]) -> Mapping[str, str]:
        self.read += keys
        if self.is_down:
            raise Unavailable
        return super().read_callers(keys)


@pytest.fixture
def store() -> WatchedStore:
    return WatchedStore()


def callers_of(store: WatchedStore) -> Callers:
    """Return what a new process has."""
    return Callers(store, RecordingTelemetry())


def test_a_caller_is_recorded_once_in_a_process(store: WatchedStore) -> None:
    callers = callers_of(store)

    keys = {callers.key_of(ALICE), callers.key_of(ALICE), callers_of(store).key_of(ALICE)}

    assert keys == {caller_key(ALICE)}
    assert len(store.kept) == 2
    assert callers_of(store).identities([*keys, "tick", "w-1"]) == {caller_key(ALICE): ALICE}


def test_a_caller_on_this_machine_is_its_own_key(store: WatchedStore) -> None:
    callers = callers_of(store)

    assert callers.key_of(LOCAL) == LOCAL
    assert callers.identities([LOCAL]) == {}
    assert (store.kept, store.read) == ([], [])


def test_two_callers_with_one_digest_have_two_keys(store: WatchedStore) -> None:
    store.keep_caller(caller_key(ALICE), "somebody else")
    callers = callers_of(store)

    key = callers.key_of(ALICE)

    assert key == caller_key(ALICE, 1)
    found = callers_of(store).identities([key, caller_key(ALICE)])
    assert found == {key: ALICE, caller_key(ALICE): "somebody else"}


def test_no_event_names_a_caller_that_cannot_be_recorded(store: WatchedStore) -> None:
    for number in range(MAX_KEYS):
        store.keep_caller(caller_key(ALICE, number), "somebody else")

    with pytest.raises(Unavailable):
        callers_of(store).key_of(ALICE)
    store.is_down = True
    with pytest.raises(Unavailable):
        callers_of(store).key_of("bob")


def test_a_read_that_fails_leaves_the_identity_out(store: WatchedStore) -> None:
    key = callers_of(store).key_of(ALICE)
    callers = callers_of(store)
    store.is_down = True

    assert callers.identities([key]) == {}
    store.is_down = False
    assert callers.identities([key, "@missing1"]) == {key: ALICE}


def test_identities_are_read_in_batches_and_once(store: WatchedStore) -> None:
    writer, callers = callers_of(store), callers_of(store)
    keys = [writer.key_of(f"caller {number}") for number in range(250)]

    assert len(callers.identities(keys)) == len(callers.identities(keys)) == 250
    assert len(store.read) == 250


def test_a_process_remembers_a_bounded_number_of_callers(store: WatchedStore) -> None:
    callers = callers_of(store)
    first = callers.key_of("caller 0")

    for number in range(1, MAX_REMEMBERED + 1):
        callers.key_of(f"caller {number}")
    before = len(store.kept)
    callers.key_of(f"caller {MAX_REMEMBERED}")

    assert len(store.kept) == before
    assert callers.key_of("caller 0") == first
    assert len(store.kept) == before + 1


def test_a_very_long_identity_is_cut(store: WatchedStore) -> None:
    key = callers_of(store).key_of("x" * 10_000)

    assert callers_of(store).identities([key]) == {key: "x" * MAX_IDENTITY_CHARACTERS}
