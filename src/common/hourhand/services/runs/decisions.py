"""The decisions of one invocation of a graph."""

from __future__ import annotations

from hourhand.domain.runs.calls import Decide, DecisionsOn, IsRecorded
from hourhand.domain.runs.decisions import decision_codes, decisions_allowed, decisions_in_force
from hourhand.domain.runs.records import RecordKind
from hourhand.domain.side_items import Stored
from hourhand.services.runs.records import Answers, RunRecords

_PATH = ""
"""A run has one decision record, and no call has this path."""


def is_recorded(run: RunRecords, call: IsRecorded) -> bool:
    """Whether there is a record of this call."""
    return run.journal.find(call.path) is not None


def decisions(run: RunRecords, call: DecisionsOn) -> dict[str, str]:
    """Return the decisions in force on the nodes of a graph, as letters, in their order."""
    record = run.journal.stored(RecordKind.DECISIONS, _PATH)
    return {} if record is None else decisions_in_force(record, call.names, run.journal)


def decide(run: RunRecords, call: Decide) -> None:
    """Record new decisions on nodes.

    If another worker decided since, its record stands, and is read here.
    """
    seen = run.journal.stored(RecordKind.DECISIONS, _PATH)
    standing = seen.decisions if seen is not None else {}
    values: dict[str, Stored | None] = {
        "count": seen.count + 1 if seen is not None else 1,
        "decisions": decision_codes(standing, call.names, call.letters, run.scope.round),
    }
    allowed = decisions_allowed(run.scope, seen)
    run.put(RecordKind.DECISIONS, _PATH, values, allowed)


ANSWERS: Answers = {
    IsRecorded: is_recorded,
    DecisionsOn: decisions,
    Decide: decide,
}
"""What answers each call."""
