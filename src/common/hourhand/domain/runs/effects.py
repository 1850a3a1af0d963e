"""What a step may have done outside, by the keys under which it ran, for its reversal."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace

from hourhand.domain.runs.records import Record, RecordOutcome

MAX_EFFECTS = 20
"""Keys under which one step may have had its effect: each result of up to 4 KB is in its record."""

Effects = dict[int, Record | None]
"""By the round that gave the key: a record with the result; ``None`` if it is not known."""


def earlier_effects(record: Record | None) -> Effects:
    """Return the effects that a step had before the try of its record."""
    if record is None or record.effects_text is None:
        return {}
    return {
        round_: result and replace(record, text=result[0], place=result[1], size=result[2])
        for round_, result in json.loads(record.effects_text)
    }


def effects_of(record: Record | None) -> Effects:
    """Return all effects that the step of a record may have had, if it has a compensation."""
    if record is None or not record.is_compensated:
        return {}
    effects = earlier_effects(record)
    if record.outcome is RecordOutcome.SUCCEEDED:
        effects[record.key_round] = record
    elif record.is_unknown or record.outcome is RecordOutcome.STARTED:
        effects.setdefault(record.key_round, None)
    return effects


def effects_text(effects: Mapping[int, Record | None], key_round: int) -> str | None:
    """Return effects as a record keeps them; ``is_unknown`` says that of its own key."""
    told = [
        (round_, result and (result.text, result.place, result.size))
        for round_, result in effects.items()
        if (round_, result) != (key_round, None)
    ]
    return json.dumps(told, ensure_ascii=False) if told else None
