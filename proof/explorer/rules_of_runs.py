"""The invariants of durable runs: 15, 20 and 21 of the design."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

from hourhand.domain.durable.records import Record, record_of
from hourhand.domain.side_items import SideItemKind, SideKey

Items = Mapping[SideKey, Any]

RECORDS = frozenset({SideItemKind.STEP, SideItemKind.WAIT, SideItemKind.CALLBACK})


def judge_runs(before: Items, after: Items) -> Iterator[str]:
    """Yield what a write on side items broke."""
    for key, item in after.items():
        if key.kind in RECORDS and key in before and before[key] != item:
            yield from _settled_stays(record_of(before[key]), record_of(item))
    waits = [record_of(item) for key, item in after.items() if key.kind is SideItemKind.WAIT]
    taken = Counter((wait.waits_for, wait.signal) for wait in waits if wait.signal is not None)
    for (_, signal), times in taken.items():
        if times > 1:
            yield f"the signal {signal} was returned by {times} waits"


def _settled_stays(old: Record, new: Record) -> Iterator[str]:
    if not old.is_settled or old.created_ms != new.created_ms or new.round > old.round:
        return
    if (old.outcome, old.text, old.signal) != (new.outcome, new.text, new.signal):
        yield f"the settled record of {old.path} changed within its round"
