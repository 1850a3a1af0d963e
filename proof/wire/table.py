"""The table of calls and faults, as Markdown."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence

from proof.wire.calls import Call
from proof.wire.faults import FAULTS, REFUSALS, Fault, Span
from proof.wire.partial import PARTIAL_FAULTS, PartialFault
from proof.wire.running import Result

WORDS = {
    "**broken**": "a rule was broken",
    "503": "the caller got 503 and repeated the request",
    "tick": "the tick failed, and the next one did the work",
    "message": "the message was redelivered, and then the job ended",
    "sweep": "a later sweep repaired it",
    "retried": "the client's retry succeeded",
    "unaffected": "the function did not need the call, or repeated it within the same invocation",
    "-": "not reached",
}
"""How a cell may end, the most important outcome first."""

_ORDER = list(WORDS)


def worst(words: Iterable[str]) -> str:
    """Return the word that matters most."""
    return min(words, key=_ORDER.index)


def matrix(results: Sequence[Result]) -> list[str]:
    """Return the key and two tables: of whole calls, and of batches done in part."""
    key = "; ".join(f"*{word}*: {meaning}" for word, meaning in list(WORDS.items())[1:-1])
    return [
        "Each cell has the outcome if the fault hits the first send of each kind of request and, "
        "after the slash, if it lasts for all tries of the client (for *slow*: all the time). "
        f"{key}; an empty cell: the combination does not exist.",
        _table(results, (*FAULTS, *REFUSALS)),
        "The faults of members of batches; after the slash, in every call.",
        _table(results, PARTIAL_FAULTS),
    ]


def _table(results: Sequence[Result], faults: Sequence[Fault | PartialFault]) -> str:
    cells: dict[tuple[Call, str, Span], list[str]] = defaultdict(list)
    for result in results:
        if result.cell.fault in faults:
            cell = result.cell
            cells[cell.call, cell.fault.name, cell.span].append(result.word)
    calls = sorted({call for call, _, _ in cells})
    lines = [
        "| call | " + " | ".join(fault.told for fault in faults) + " |",
        "|---" * (len(faults) + 1) + "|",
    ]
    for call in calls:
        row = [_cell(cells, call, fault.name) for fault in faults]
        lines.append(f"| {call} | " + " | ".join(row) + " |")
    return "\n".join(lines)


def _cell(cells: dict[tuple[Call, str, Span], list[str]], call: Call, fault: str) -> str:
    told = [worst(cells[call, fault, span]) for span in Span if (call, fault, span) in cells]
    return told[0] if len(set(told)) == 1 else " / ".join(told)
