"""The decision record of a graph: which nodes run and which are skipped."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from hourhand.domain.conditions import Compares, NoItem
from hourhand.domain.runs.records import Journal, Record
from hourhand.domain.runs.writes import Alternative, Scope

RUNS = "R"
"""The decision that a node runs; any other is a skip."""

_LETTERS = (RUNS, "K", "U")


def decision_codes(
    standing: Mapping[str, int], names: Sequence[str], letters: Mapping[str, str], round_: int
) -> dict[str, int]:
    """Return the entries of the record with new decisions: by the number of the node, a code."""
    numbers = {name: str(number) for number, name in enumerate(names)}
    new = {
        numbers[name]: len(_LETTERS) * round_ + _LETTERS.index(letter)
        for name, letter in letters.items()
    }
    return {**standing, **new}


def decisions_in_force(record: Record, names: Sequence[str], journal: Journal) -> dict[str, str]:
    """Return the letter of each decision that counts, in the order of ``names``.

    A skip counts in its round alone: after a redrive, the nodes before may end otherwise. A node
    that ran stays so, unless it was reset since.
    """
    found = {}
    for number, name in enumerate(names):
        code = record.decisions.get(str(number))
        if code is None:
            continue
        round_, place = divmod(code, len(_LETTERS))
        letter = _LETTERS[place]
        counts_from = journal.reset_round(name) if letter == RUNS else journal.round
        if round_ >= counts_from:
            found[name] = letter
    return found


def decisions_allowed(scope: Scope, seen: Record | None) -> tuple[Alternative, ...]:
    """What may stand where decisions are recorded: the very record that was read."""
    if seen is None:
        return (NoItem(), Compares("created_ms", "<", scope.created_ms))
    return ((scope.is_own, Compares("count", "=", seen.count)),)
