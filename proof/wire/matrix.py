"""All cells: the calls that the scenes make, and every fault that can befall each of them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from proof.wire.calls import QUEUES, Call
from proof.wire.faults import (
    FAULTS,
    OPTIONAL,
    REFUSALS,
    Fault,
    Span,
    can_befall,
    can_outlast,
)
from proof.wire.partial import ALL_REFUSED, PARTIAL_FAULTS, PartialFault
from proof.wire.scenes import SCENES
from proof.wire.stage import Scene
from proof.wire.wire import Plan

SEND_ALONE = {"api": "a job", "worker": "failures", "scheduler": "later"}
"""Where a message is sent alone, since its entry in a batch was refused."""

MOST_SECONDS_AT_ONCE = 40.0
"""More, and what befalls the first calls is felt in the last: a job's lease is 45 s."""

Shapes = dict[Call, frozenset[str]]
"""The kinds of requests that a scene makes, by call."""


@dataclass(frozen=True, slots=True)
class Cell:
    """``call`` meets ``fault`` in ``scene``, each of its ``shapes`` for ``span``.

    ``companions`` befall as well: without them, the call would not be made. ``vain``: how often it
    was played, and these kinds of requests did not meet it.
    """

    scene: Scene
    call: Call
    shapes: frozenset[str]
    fault: Fault | PartialFault
    span: Span
    companions: tuple[Plan, ...] = ()
    vain: int = 0

    @property
    def plans(self) -> tuple[Plan, ...]:
        return (Plan(self.call, self.fault, self.span, self.shapes), *self.companions)

    @property
    def seconds(self) -> float:
        """What passes on every clock while it befalls each kind of request once."""
        return self.fault.seconds * len(self.shapes) if isinstance(self.fault, Fault) else 0.0

    @property
    def is_timeout(self) -> bool:
        return isinstance(self.fault, Fault) and self.fault.is_timeout

    def __str__(self) -> str:
        return f"{self.call} x {self.fault.name}, {self.span} ({self.scene.name})"


def companions_of(function: str) -> tuple[Plan, ...]:
    """Return what makes a function send messages alone."""
    batch = Call(function, "sqs", "SendMessageBatch", QUEUES)
    return (Plan(batch, ALL_REFUSED, Span.OUTLASTING),)


def send_alone(function: str) -> Call:
    """Return the call that it then makes."""
    return Call(function, "sqs", "SendMessage", QUEUES)


def new_shapes(seen: Iterable[tuple[Call, str]], known: set[tuple[Call, str]]) -> Shapes:
    """Return what a scene is the first to ask, and add it to ``known``."""
    found: dict[Call, set[str]] = defaultdict(set)
    for call, shape in seen:
        if (call, shape) not in known:
            known.add((call, shape))
            found[call].add(shape)
    return {call: frozenset(shapes) for call, shapes in found.items()}


def cells_of(scene: Scene, shapes: Shapes) -> Iterator[Cell]:
    """Yield the cells of a scene: those whose clients wait shortly come last."""
    cells = [
        Cell(scene, call, of_call, fault, span)
        for call, of_call in sorted(shapes.items())
        for fault, span in befalling(call)
    ]
    for function, name in SEND_ALONE.items():
        if name == scene.name:
            call = send_alone(function)
            cells += [
                Cell(scene, call, frozenset({""}), fault, span, companions_of(function))
                for fault, span in befalling(call)
            ]
    yield from sorted(cells, key=lambda cell: cell.is_timeout)


def befalling(call: Call) -> Iterator[tuple[Fault | PartialFault, Span]]:
    """Yield what can befall a call, and for how long."""
    for fault in FAULTS:
        if not can_befall(fault, call.service, call.operation):
            continue
        yield fault, Span.ONCE
        if can_outlast(fault, call.operation):
            yield fault, Span.OUTLASTING
    if (call.function, call.operation, call.resource) in OPTIONAL:
        for refusal in REFUSALS:
            yield refusal, Span.OUTLASTING
    for partial in PARTIAL_FAULTS:
        if call.operation in partial.operations:
            yield partial, Span.ONCE
            yield partial, Span.OUTLASTING


def together(cells: Iterable[Cell]) -> Iterator[tuple[Cell, ...]]:
    """Yield what is played at once: a fault of one send on as many of a scene's calls as may be.

    Each of them the client's next try makes good. What lasts, and what befalls members of batches,
    is played by itself.
    """
    groups: dict[str, list[Cell]] = defaultdict(list)
    for cell in cells:
        if not isinstance(cell.fault, Fault) or cell.span is not Span.ONCE or cell.companions:
            yield (cell,)
            continue
        group = groups[cell.fault.name]
        if sum(one.seconds for one in (*group, cell)) > MOST_SECONDS_AT_ONCE and group:
            yield tuple(group)
            group.clear()
        group.append(cell)
    yield from (tuple(group) for group in groups.values() if group)


def scenes(*, can_batch: bool, names: Sequence[str] = ()) -> list[Scene]:
    """Return the scenes that can be played, in their order."""
    return [
        scene
        for scene in SCENES
        if (can_batch or not scene.needs_batches) and (not names or scene.name in names)
    ]
