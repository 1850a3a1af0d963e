"""Worker slots: shared 60/30/10 while all queues have work, and never idle while any has."""

from __future__ import annotations

import heapq
import itertools
from collections import Counter
from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hourhand.domain.jobs.job import Priority
from hourhand.local.slot_sharing import SHARES, SharedAccounts, SlotAccounts

HIGH, MEDIUM, LOW = Priority.HIGH, Priority.MEDIUM, Priority.LOW


def simulate(
    slots: int, seconds_each: Mapping[Priority, float], turns: int
) -> tuple[Counter[Priority], dict[Priority, float]]:
    """Let ``slots`` workers serve queues that always have work; ``seconds_each`` has the full ones.

    Returns how many messages of each were served, and the slot time that they took.
    """
    accounts = SharedAccounts()
    clock, numbers = 0.0, itertools.count()
    busy: list[tuple[float, int, str]] = []
    idle = [f"worker-{n}" for n in range(slots)]
    served: Counter[Priority] = Counter()
    used = dict.fromkeys(seconds_each, 0.0)
    for _ in range(turns):
        if not idle:
            clock, _, worker = heapq.heappop(busy)
            accounts.end(worker, clock)
            idle.append(worker)
        order = accounts.order(clock)
        queue = next(q for q in order if q in seconds_each)
        worker = idle.pop()
        accounts.begin(worker, queue, order[: order.index(queue)], clock)
        heapq.heappush(busy, (clock + seconds_each[queue], next(numbers), worker))
        served[queue] += 1
        used[queue] += seconds_each[queue]
    return served, used


@pytest.mark.parametrize("slots", [1, 2, 4, 10])
def test_full_queues_share_the_slots_as_the_shares_say(slots: int) -> None:
    served, _ = simulate(slots, {HIGH: 1.0, MEDIUM: 1.0, LOW: 1.0}, turns=2000)
    for queue, share in SHARES.items():
        assert served[queue] / 2000 == pytest.approx(share / 100, abs=0.03)


def test_it_is_slot_time_that_is_shared_not_messages() -> None:
    served, used = simulate(4, {HIGH: 0.1, MEDIUM: 0.5, LOW: 10.0}, turns=8000)
    total = sum(used.values())
    for queue, share in SHARES.items():
        assert used[queue] / total == pytest.approx(share / 100, abs=0.05)
    assert served[HIGH] > 100 * served[LOW]


def test_what_an_empty_queue_leaves_goes_to_the_others_by_their_shares() -> None:
    served, _ = simulate(2, {MEDIUM: 1.0, LOW: 1.0}, turns=2000)
    assert served[MEDIUM] / 2000 == pytest.approx(0.75, abs=0.03)


def test_one_queue_alone_has_every_slot() -> None:
    served, _ = simulate(3, {LOW: 1.0}, turns=100)
    assert served == {LOW: 100}


def test_a_queue_that_was_empty_has_saved_nothing_up() -> None:
    accounts = SharedAccounts()
    clock = 0.0
    for _ in range(1000):
        accounts.begin("worker", LOW, [HIGH, MEDIUM], clock)
        clock += 1.0
        accounts.end("worker", clock)
    first_turns = []
    for _ in range(20):
        queue = accounts.order(clock)[0]
        first_turns.append(queue)
        accounts.begin("worker", queue, [], clock)
        clock += 1.0
        accounts.end("worker", clock)
    # Were its thousand idle seconds saved up, the low queue would wait for a thousand more.
    assert LOW in first_turns
    assert first_turns.count(HIGH) == pytest.approx(12, abs=2)


def test_nobody_is_asked_twice_and_everybody_is_asked() -> None:
    assert sorted(SlotAccounts().order()) == sorted(Priority)
    assert SlotAccounts().order()[0] is HIGH


@given(st.lists(st.tuples(st.sampled_from(list(Priority)), st.floats(0, 1000)), max_size=50))
def test_the_order_is_by_what_was_used_for_its_share(
    charges: list[tuple[Priority, float]],
) -> None:
    accounts = SlotAccounts()
    for queue, seconds in charges:
        accounts = accounts.charged(queue, seconds)
    order = accounts.order()
    assert [accounts.used[q] for q in order] == sorted(accounts.used.values())


def test_a_running_message_is_charged_while_it_runs() -> None:
    accounts = SharedAccounts()
    accounts.begin("worker-1", HIGH, [], now=0.0)
    assert accounts.order(0.0)[0] is not HIGH
    accounts.begin("worker-2", MEDIUM, [], now=0.0)
    accounts.begin("worker-3", LOW, [], now=0.0)
    # Each ran for an hour, and 10 % of a slot are soonest used up.
    assert accounts.order(3600.0) == (HIGH, MEDIUM, LOW)


def test_messages_that_take_no_time_leave_the_others_their_turn() -> None:
    served, _ = simulate(1, {HIGH: 0.0, LOW: 0.01}, turns=1000)
    assert served[LOW] > 0
