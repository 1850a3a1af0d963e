"""Side items in DynamoDB: what the contract cannot see."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from hourhand.aws.side_item_store import DynamoSideItemStore, write_arguments
from hourhand.aws.table_schema import EXPIRY, JOBS
from hourhand.domain.side_items import NOT_VALUES, Clause, SideItem, SideItemUpdate, SideKey
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
        store.write_item(SideItemUpdate(key=KEY, sets={"h": {}}, keep_until=until))
        assert end() == until.timestamp()
    assert store.write_item(SideItemUpdate(key=KEY, removes=("n",))).is_applied
    assert end() == (START + 2 * HOUR).timestamp()


def test_attributes_that_only_a_later_release_can_read_are_passed_over(
    installation: Installation,
) -> None:
    client, table = installation.dynamodb, installation.settings.jobs_table
    added: dict[str, Any] = {"b": {"BOOL": True}, "set": {"NS": ["1"]}}
    client.put_item(TableName=table, Item={**STORED_KEY, "vt": {"N": "5"}, **added})
    store = DynamoSideItemStore(client, table)
    assert store.read_item(KEY) == SideItem(KEY, {"vt": 5})


def test_a_clause_of_another_kind_is_a_mistake() -> None:
    class Strange(Clause):
        def holds(self, item: SideItem | None) -> bool:
            return item is None

    update = SideItemUpdate(key=KEY, expect=(Strange(),), deletes=True)
    with pytest.raises(ValueError, match="no condition for the clause"):
        write_arguments(update, 1)


def test_no_value_has_the_name_of_a_key_of_the_table_or_of_an_index() -> None:
    assert {*(key.attribute for key in JOBS.keys), EXPIRY, "v"} == NOT_VALUES
