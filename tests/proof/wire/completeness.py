"""What a whole run must have shown: each call that is listed, and no other, under every fault."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from tests.proof.wire.calls import Call
from tests.proof.wire.cells import NOT_MET
from tests.proof.wire.listed import CALLS, RARE
from tests.proof.wire.matrix import befalling
from tests.proof.wire.running import Result


def gaps(
    made: Collection[Call],
    results: Collection[Result],
    listed: Collection[Call] = CALLS,
) -> Iterator[str]:
    """Yield in words what is missing. ``made``: the calls of all plays."""
    for call in sorted(set(made) - set(listed) - set(RARE)):
        yield f"{call} is called, and is not in the list of calls"
    met = {
        (result.cell.call, result.cell.fault.name, result.cell.span)
        for result in results
        if result.word != NOT_MET
    }
    for call in sorted(listed):
        if call not in made:
            yield f"{call} is in the list, and no scene makes it"
            continue
        for fault, span in befalling(call):
            if (call, fault.name, span) not in met:
                yield f"{call} never met: {fault.told}, {span}"
