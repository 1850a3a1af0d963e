"""What a whole run must have shown: each listed call, in every shape, under every fault."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from itertools import product

from proof.wire.calls import Call
from proof.wire.listed import CALLS, RARE
from proof.wire.matrix import befalling
from proof.wire.running import Result


def gaps(
    made: Collection[Call],
    shapes: Collection[tuple[Call, str]],
    results: Collection[Result],
    listed: Collection[Call] = CALLS,
) -> Iterator[str]:
    """Yield in words what is missing.

    ``made``: the calls of all plays; ``shapes``: the kinds of requests that a scene makes without a
    fault, each of which must have been seen to meet every fault.
    """
    for call in sorted(set(made) - set(listed) - set(RARE)):
        yield f"{call} is called, and is not in the list of calls"
    met = {
        (result.cell.call, shape, result.cell.fault.name, result.cell.span)
        for result in results
        for shape in result.met
    }
    for call in sorted(listed):
        if call not in made:
            yield f"{call} is in the list, and no scene makes it"
            continue
        of_call = sorted(shape for one, shape in shapes if one == call)
        if not of_call:
            yield f"{call} is only made under faults, and never met one"
        for shape, (fault, span) in product(of_call, list(befalling(call))):
            if (call, shape, fault.name, span) not in met:
                yield f"{call} ({shape or 'one kind'}) never met: {fault.told}, {span}"
