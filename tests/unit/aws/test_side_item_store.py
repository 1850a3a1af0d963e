"""Side items in DynamoDB: what the contract cannot see."""

from __future__ import annotations

from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest

from bench.item_size import BUDGET_BYTES, item_size_bytes
from hourhand.aws.layout.side_item_names import LETTERS, RESERVED
from hourhand.aws.side_item_store import DynamoSideItemStore, side_item_from, write_arguments
from hourhand.aws.table_schema import EXPIRY, JOBS
from hourhand.domain.conditions import Condition, Either, Fields, OneOf, equals
from hourhand.domain.limits.slot_shards import SLOTS_A_SHARD
from hourhand.domain.limits.slot_writes import (
    MAX_LABEL_BYTES,
    Holder,
    create,
    limit_partition,
    take,
)
from hourhand.domain.limits.slots import slot_number
from hourhand.domain.side_items import SideItem, SideItemKind, SideItemUpdate, SideKey
from hourhand.domain.times import to_ms
from hourhand.memory import START
from tests.unit.aws.conftest import Installation

HOUR = timedelta(hours=1)
KEY = SideKey("l.digest.0", "G")
STORED_KEY: dict[str, Any] = {"p": {"S": KEY.partition}, "s": {"S": KEY.sort}}


def test_ttl_is_told_the_end_of_the_last_write_that_states_one(installation: Installation) -> None:
    client, table = installation.dynamodb, installation.settings.jobs_table
    store = DynamoSideItemStore(client, table)

    def end() -> float:
        return float(client.get_item(TableName=table, Key=STORED_KEY)["Item"]["x"]["N"])

    for hours in (1, 2):
        until = START + hours * HOUR
        store.write_item(SideItemUpdate(key=KEY, sets={"holders": {}}, keep_until=until))
        assert end() == until.timestamp()
    assert store.write_item(SideItemUpdate(key=KEY, removes=("label",))).is_applied
    assert end() == (START + 2 * HOUR).timestamp()


def test_attributes_that_only_a_later_release_can_read_are_passed_over(
    installation: Installation,
) -> None:
    client, table = installation.dynamodb, installation.settings.jobs_table
    added: dict[str, Any] = {"b": {"BOOL": True}, "set": {"NS": ["1"]}}
    client.put_item(TableName=table, Item={**STORED_KEY, "vt": {"N": "5"}, **added})
    store = DynamoSideItemStore(client, table)
    assert store.read_item(KEY) == SideItem(KEY, {"virtual_time": 5})


def test_a_clause_of_another_kind_is_a_mistake() -> None:
    class Strange(Condition):
        def holds(self, stored: Fields | None) -> bool:
            return stored is None

    update = SideItemUpdate(key=KEY, expect=(Strange(),), deletes=True)
    with pytest.raises(ValueError, match="no condition for the clause"):
        write_arguments(update, 1)


@pytest.mark.parametrize("clause", [equals("label", None), OneOf("label", frozenset()), Either(())])
def test_a_clause_that_never_holds_is_a_mistake_beside_a_job(clause: Condition) -> None:
    update = SideItemUpdate(key=KEY, expect=(clause,), sets={"label": "x"}, keep_until=START)
    with pytest.raises(ValueError, match=r"never holds|no condition"):
        write_arguments(update, 1)


def test_no_value_has_the_name_of_a_key_of_the_table_or_of_an_index() -> None:
    assert {*(key.attribute for key in JOBS.keys), EXPIRY, "v"} == RESERVED
    for kind, letters in LETTERS.items():
        assert not RESERVED & set(letters.values()), kind
        assert len({*letters.values()}) == len(letters), kind
    assert LETTERS.keys() == set(SideItemKind)


def test_an_attribute_of_a_later_release_keeps_its_letters() -> None:
    item = {"p": {"S": KEY.partition}, "s": {"S": KEY.sort}, "zz": {"N": "1"}}
    assert side_item_from(item).values == {"zz": 1}


def test_a_record_of_twenty_holders_that_are_uuids_is_one_write_unit(
    installation: Installation,
) -> None:
    client, table = installation.dynamodb, installation.settings.jobs_table
    store = DynamoSideItemStore(client, table)
    partition = limit_partition("d" * 16, 49)
    label = "x" * (MAX_LABEL_BYTES + 1)
    for number in range(SLOTS_A_SHARD):
        holder = Holder(str(UUID(int=number)), 99, slot_number(99, START))
        write = take(partition, holder, SLOTS_A_SHARD, START)
        if number == 0:
            write = create(partition, holder, label, START)
        assert store.write_item(write).is_applied
    rank = SideItemUpdate(
        key=SideKey(partition, "G"), sets={"virtual_time": to_ms(START)}, keep_until=START
    )
    assert store.write_item(rank).is_applied
    key: dict[str, Any] = {"p": {"S": partition}, "s": {"S": "G"}}
    item = client.get_item(TableName=table, Key=key)["Item"]
    assert len(item["h"]["M"]) == SLOTS_A_SHARD
    assert item_size_bytes(item) < BUDGET_BYTES
