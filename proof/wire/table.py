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
    "told": "the caller was told 503 and repeated the request",
    "tick": "the tick failed, the next one did it",
    "message": "the message came again, and then all went well",
    "sweep": "a later sweep found and repaired it",
    "retried": "the client's own retry did it",
    "as ever": "done without, or made up for within the same call of the function",
    "-": "not met",
}
"""How a cell may end, what matters most first."""

_ORDER = list(WORDS)


def worst(words: Iterable[str]) -> str:
    """Return the word that matters most."""
    return min(words, key=_ORDER.index)


def matrix(results: Sequence[Result]) -> list[str]:
    """Return the key and two tables: of whole calls, and of batches done in part."""
    key = "; ".join(f"*{word}*: {meaning}" for word, meaning in list(WORDS.items())[1:-1])
    return [
        "Each cell tells how it ended where the fault befell the first send of each kind of "
        "request, and, behind the stroke, where it lasted for as long as the client tried "
        f"(for *slow*: all the time). {key}; an empty cell: it cannot be.",
        _table(results, (*FAULTS, *REFUSALS)),
        "Batches of which only members are refused; behind the stroke, in every call.",
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
