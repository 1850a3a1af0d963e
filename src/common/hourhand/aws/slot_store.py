"""The slots of groups in DynamoDB, in the jobs table: workers write it, and no other of ours.

| attribute | what |
|---|---|
| ``p``, ``s`` | ``g.<group>`` and ``G``: no job's id begins so |
| ``v`` | the version of this layout |
| ``q``, ``u`` | ``sequence`` and ``write_id`` |
| ``o`` | ids of the holders |
| ``w`` | ids and ranks of those that wait |
| ``x`` | until when the group is kept |

No attribute is a key of the table's indexes: no group is in any of them.
"""

from __future__ import annotations

import json
from datetime import datetime
from typing import TYPE_CHECKING

from hourhand.aws.layout.values import (
    Item,
    Value,
    expiry_seconds,
    number,
    read_int,
    read_text,
    text,
)
from hourhand.aws.layout.versions import Kind, require_known, version_value
from hourhand.aws.records import Records
from hourhand.domain.groups.overlap import Slots
from hourhand.domain.ids import canonical_json

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient


class DynamoSlotStore:
    """Implements the port `SlotStore` on the jobs table."""

    def __init__(self, client: DynamoDBClient, jobs_table: str) -> None:
        """Call nothing yet."""
        self._records = Records(client, jobs_table)

    def read_slots(self, group: str) -> Slots:
        """Read a group, strongly consistent; an empty one (sequence 0) where there is none."""
        item = self._records.read(slots_key(group))
        return slots_from_item(group, item) if item is not None else Slots(group=group)

    def write_slots(self, slots: Slots, *, keep_until: datetime) -> bool:
        """Store ``slots`` if the record has the sequence before its own; whether it stands so."""
        if slots.sequence < 1:
            raise ValueError(f"sequence must count this write, not {slots.sequence}")
        item = slots_to_item(slots, keep_until)
        refused = self._records.put_after(Kind.SLOTS, item, slots.sequence - 1 or None)
        if refused is None:
            return True
        return refused.item is not None and read_text(refused.item["u"]) == slots.write_id


def slots_key(group: str) -> dict[str, Value]:
    """Return the key of a group's slots."""
    return {"p": text(f"g.{group}"), "s": text("G")}


def slots_to_item(slots: Slots, keep_until: datetime) -> dict[str, Value]:
    """Return the slots of a group."""
    return {
        **slots_key(slots.group),
        "v": version_value(Kind.SLOTS),
        "q": number(slots.sequence),
        "u": text(slots.write_id),
        "o": text(canonical_json(slots.holders)),
        "w": text(canonical_json(slots.waiting)),
        "x": number(expiry_seconds(keep_until)),
    }


def slots_from_item(group: str, item: Item) -> Slots:
    """Read what `slots_to_item` made. Raises `WrittenByNewer`."""
    require_known(Kind.SLOTS, item, group)
    return Slots(
        group=group,
        sequence=read_int(item["q"]),
        write_id=read_text(item["u"]),
        holders=tuple(json.loads(read_text(item["o"]))),
        waiting=tuple((rank, job_id) for rank, job_id in json.loads(read_text(item["w"]))),
    )
