"""The decisions of one invocation of a graph."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from hourhand.domain.durable.decisions import decision_codes, decisions_allowed, decisions_in_force
from hourhand.domain.durable.records import RecordKind
from hourhand.domain.side_items import Stored
from hourhand.services.durable.run_children import RunChildren

_PATH = ""
"""A run has one decision record, and no call has this path."""


@dataclass(slots=True)
class RunDecisions(RunChildren):
    """Implements what the port `DurableRun` has of graphs."""

    def is_recorded(self, path: str) -> bool:
        """Whether there is a record of this call."""
        return self.journal.find(path) is not None

    def decisions(self, names: Sequence[str]) -> dict[str, str]:
        """Return the decisions in force on the nodes of a graph, as letters, in their order."""
        record = self.journal.stored(RecordKind.DECISIONS, _PATH)
        return {} if record is None else decisions_in_force(record, names, self.journal)

    def decide(self, names: Sequence[str], letters: Mapping[str, str]) -> None:
        """Record new decisions on nodes.

        If another worker decided since, its record stands, and is read here.
        """
        seen = self.journal.stored(RecordKind.DECISIONS, _PATH)
        standing = seen.decisions if seen is not None else {}
        values: dict[str, Stored | None] = {
            "count": seen.count + 1 if seen is not None else 1,
            "decisions": decision_codes(standing, names, letters, self.scope.round),
        }
        allowed = decisions_allowed(self.scope, seen)
        self._put(RecordKind.DECISIONS, _PATH, values, allowed)
