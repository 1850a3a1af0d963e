"""What the queues may do: deliver a message, deliver it again, lose it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from hourhand.memory import MemoryClock
from hourhand.ports.queues import Delivery
from proof.explorer.beginnings import Beginnings
from proof.explorer.effects import QUEUES, true_time
from proof.explorer.histories import Root
from proof.explorer.sight import Sight
from proof.explorer.states import (
    FIRST_DELIVERY,
    FIRST_SWEEP,
    Ground,
    State,
    Step,
    with_part,
)
from proof.explorer.world_parts import fill, read_part


class Deliveries:
    """Yields what may become of each message."""

    def __init__(self, ground: Ground, sight: Sight, beginnings: Beginnings) -> None:
        """Nothing was delivered yet."""
        self._ground, self._sight, self._beginnings = ground, sight, beginnings
        self._taken: dict[tuple[int, str, int], tuple[int, Delivery, int]] = {}

    def steps(self, state: State) -> Iterator[Step]:
        """Yield the deliveries and the losses of messages."""
        counts, budget = state.counts, state.budget
        messages = self._ground.value(state, QUEUES)[0]
        if not messages:
            return
        roots = [self._ground.histories[number].root.number for number in state.actors]
        working = sum(FIRST_DELIVERY <= number < FIRST_SWEEP for number in roots)
        is_free = (
            counts.deliveries < self._ground.scenario.deliveries
            and working < self._ground.scenario.workers
        )
        now = true_time(state.now_ms)
        for message in messages:
            message_id, visible_at, receives = message[0], message[5], message[6]
            if is_free and visible_at <= now:
                yield self._deliver(state, message_id, "deliver")
            elif is_free and budget.duplicates and receives:
                less = budget._replace(duplicates=budget.duplicates - 1)
                yield self._deliver(state._replace(budget=less), message_id, "deliver again")
            if budget.losses:
                less = budget._replace(losses=budget.losses - 1)
                lost = self._without(state._replace(budget=less), message_id)
                yield Step(f"purge {message_id}", lost, tuple(self._sight.look(lost)))

    def _deliver(self, state: State, message_id: str, verb: str) -> Step:
        key = (state.parts[QUEUES], message_id, state.now_ms)
        found = self._taken.get(key)
        if found is None:
            found = self._taken[key] = self._take(*key)
        part, delivery, subject = found
        ordinal = state.counts.deliveries + 1
        counts = state.counts._replace(deliveries=ordinal)
        taken = with_part(state, QUEUES, part)._replace(counts=counts)
        label = f"worker {ordinal}"
        root = Root(label, FIRST_DELIVERY + ordinal, _works_off(delivery), subject)
        return self._beginnings.begin(taken, root, f"{verb} {message_id}")

    def _take(self, part: int, message_id: str, now_ms: int) -> tuple[int, Delivery, int]:
        """Return the queues after a message was delivered, the delivery, and its number."""
        clock = MemoryClock(true_time(now_ms))
        messages, letters = self._ground.effects.value(QUEUES, part)
        (message,) = [each for each in messages if each[0] == message_id]
        visible = (*message[:5], clock.now(), *message[6:])
        queues = fill("queues", ((visible,), ()), clock)
        (delivery,) = queues.receive(message[2])
        (taken,) = read_part("queues", queues)[0]
        kept = tuple(taken if each[0] == message_id else each for each in messages)
        after = self._ground.effects.parts[QUEUES].number((kept, letters))
        return after, delivery, self._ground.histories.answers.number(delivery)

    def _without(self, state: State, message_id: str) -> State:
        messages, letters = self._ground.value(state, QUEUES)
        kept = tuple(each for each in messages if each[0] != message_id)
        part = self._ground.effects.parts[QUEUES].number((kept, letters))
        return with_part(state, QUEUES, part)


def _works_off(delivery: Delivery) -> Any:
    return lambda process: process.work(delivery)
