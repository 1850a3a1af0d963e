"""moto's tables in order: the same answers as moto's own, from fewer looks."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

import pytest
from moto import mock_aws
from moto.dynamodb.exceptions import ItemSizeTooLarge
from moto.dynamodb.models import DynamoDBBackend, dynamodb_backends
from moto.dynamodb.models.dynamo_type import DynamoType, Item
from moto.dynamodb.models.table import SecondaryIndex, Table

from hourhand.local import moto_tables
from hourhand.local.moto_places import Places
from hourhand.local.moto_tables import keep_tables_in_order, places_of

PARTITIONS = ["one", "two"]
COMPARISONS = [None, "=", "<", "<=", ">", ">=", "BETWEEN", "BEGINS_WITH"]
SCHEMA = [{"AttributeName": "p", "KeyType": "HASH"}, {"AttributeName": "s", "KeyType": "RANGE"}]
KEYS_ONLY = {"ProjectionType": "KEYS_ONLY"}


def index(name: str, partition: str, sort: str, projection: dict[str, Any]) -> dict[str, Any]:
    return {
        "IndexName": name,
        "KeySchema": [
            {"AttributeName": partition, "KeyType": "HASH"},
            {"AttributeName": sort, "KeyType": "RANGE"},
        ],
        "Projection": projection,
    }


@pytest.fixture
def backend() -> Iterator[DynamoDBBackend]:
    assert keep_tables_in_order()
    with mock_aws():
        backend = dynamodb_backends["123456789012"]["eu-central-1"]
        backend.create_table(
            "t",
            schema=SCHEMA,
            attr=[
                {"AttributeName": name, "AttributeType": kind}
                for name, kind in {"p": "S", "s": "S", "b": "S", "k": "N", "c": "S"}.items()
            ],
            global_indexes=[
                index("numbers", "b", "k", KEYS_ONLY),
                index("texts", "b", "c", {"ProjectionType": "ALL"}),
            ],
            indexes=None,
            throughput=None,
            streams=None,
            billing_mode="PAY_PER_REQUEST",
            sse_specification=None,
            tags=[],
            deletion_protection_enabled=False,
            warm_throughput=None,
        )
        yield backend


def change(backend: DynamoDBBackend, chance: random.Random) -> None:
    """Put, change or delete an item, at random."""
    key = {"p": {"S": chance.choice("abc")}, "s": {"S": str(chance.randrange(12))}}
    keys: dict[str, Any] = {
        "b": {"S": chance.choice(PARTITIONS)},
        "k": {"N": str(chance.randrange(5))},
        "c": {"S": chance.choice(["", "x"]) + str(chance.randrange(12))},
    }
    match chance.randrange(5):
        case 0:
            backend.delete_item("t", key)
        case 1:
            # Into an index, out of it, or to another place.
            name = chance.choice("bkc")
            expression = chance.choice([f"SET {name} = :v", f"REMOVE {name}"])
            values = {":v": keys[name]} if expression.startswith("SET") else {}
            backend.update_item("t", key, expression, {}, values)
        case _:
            kept = {name: value for name, value in keys.items() if chance.random() < 0.8}
            backend.put_item("t", {**key, **kept, "z": {"S": "beside"}}, overwrite=True)


def query_of(chance: random.Random) -> dict[str, Any]:
    """Return what a random query asks, as moto's tables are asked."""
    name = chance.choice([None, "numbers", "texts"])
    sort, kind = {None: ("s", "S"), "numbers": ("k", "N"), "texts": ("c", "S")}[name]
    comparison = chance.choice(COMPARISONS)
    if comparison == "BEGINS_WITH" and kind == "N":
        comparison = None
    count = {None: 0, "BETWEEN": 2}.get(comparison, 1)
    values = [DynamoType({kind: str(chance.randrange(5))}) for _ in range(count)]
    partition = DynamoType({"S": chance.choice("abc" if name is None else PARTITIONS)})
    return {
        "hash_key": partition,
        "range_comparison": comparison,
        "range_objs": values,
        "limit": chance.choice([None, 1, 2, 3, 50]),
        "exclusive_start_key": None,
        "scan_index_forward": chance.choice([True, False]),
        "projection_expressions": None,
        "index_name": name,
        "hash_key_conditions": [("p" if name is None else "b", partition)],
        "range_key_conditions": [(sort, comparison, values)] if comparison else [],
    }


def shown(answer: Any) -> Any:
    """Return an answer of a table as values that can be compared."""
    items, scanned, last = answer
    last = last and {name: value.to_json() for name, value in last.items()}
    return [item.to_json() for item in items], scanned, last


def motos_own(table: Any, monkeypatch: pytest.MonkeyPatch, asked: dict[str, Any]) -> Any:
    """Return what moto answers by itself."""
    with monkeypatch.context() as patch:
        patch.setattr(Table, "all_items", moto_tables._all_items)
        patch.setattr(Table, "sorted_items", moto_tables._sorted_items)
        patch.setattr(SecondaryIndex, "project", moto_tables._project)
        return shown(moto_tables._query(table, **asked))


@pytest.mark.parametrize("seed", range(12))
def test_every_page_of_every_query_is_the_one_that_moto_gives(
    backend: DynamoDBBackend, monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    chance = random.Random(seed)
    table: Any = backend.get_table("t")
    pages = items = 0
    for _ in range(40):
        for _ in range(5):
            change(backend, chance)
        asked = query_of(chance)
        for _ in range(100):
            ours = shown(table.query(**asked))
            assert ours == motos_own(table, monkeypatch, asked)
            pages, items = pages + 1, items + len(ours[0])
            asked["exclusive_start_key"] = ours[2]
            if ours[2] is None:
                break
        else:
            pytest.fail("the pages have no end")
    assert pages > 40
    assert items > 40


def test_a_query_looks_only_at_what_it_can_answer_with(
    backend: DynamoDBBackend, monkeypatch: pytest.MonkeyPatch
) -> None:
    table: Any = backend.get_table("t")
    for number in range(500):
        item = {"p": {"S": f"job-{number:03}"}, "s": {"S": "J"}, "b": {"S": "one"}}
        backend.put_item("t", {**item, "k": {"N": str(number)}}, overwrite=True)
    looks = []
    of_item = Item.size

    def noted(item: Item) -> int:
        looks.append(item)
        return of_item(item)

    monkeypatch.setattr(Item, "size", noted)
    one = DynamoType({"S": "one"})
    answer, _, last = table.query(
        one, None, [], 10, None, False, None, "numbers", hash_key_conditions=[("b", one)]
    )
    assert [item.attrs["k"].value for item in answer] == [str(n) for n in range(499, 489, -1)]
    assert last["k"].value == "490"
    # Twice each, the next one once, and once more for a copy that holds the keys alone.
    assert len(looks) <= 31


def test_a_table_that_was_rolled_back_is_ordered_anew(backend: DynamoDBBackend) -> None:
    table: Any = backend.get_table("t")
    backend.put_item("t", {"p": {"S": "a"}, "s": {"S": "1"}}, overwrite=True)
    table.items = type(table.items)(dict)
    backend.put_item("t", {"p": {"S": "a"}, "s": {"S": "2"}}, overwrite=True)
    a = DynamoType({"S": "a"})
    items, _, _ = table.query(a, None, [], None, None, True, None)
    assert [item.range_key.value for item in items] == ["2"]


def test_a_key_of_a_type_that_was_not_declared_is_left_to_moto(
    backend: DynamoDBBackend, monkeypatch: pytest.MonkeyPatch
) -> None:
    table: Any = backend.get_table("t")
    odd = {"p": {"S": "a"}, "s": {"S": "1"}, "b": {"S": "one"}, "k": {"S": "no number"}}
    backend.put_item("t", odd, overwrite=True)
    one = DynamoType({"S": "one"})
    asked = query_of(random.Random(1)) | {
        "hash_key": one,
        "hash_key_conditions": [("b", one)],
        "range_comparison": None,
        "range_objs": [],
        "range_key_conditions": [],
        "index_name": "numbers",
    }
    assert shown(table.query(**asked)) == motos_own(table, monkeypatch, asked)
    assert len(shown(table.query(**asked))[0]) == 1


def test_an_item_is_as_large_as_moto_takes_it_and_no_larger(backend: DynamoDBBackend) -> None:
    key = {"p": {"S": "a"}, "s": {"S": "1"}}
    room = moto_tables.MAX_ITEM_BYTES - len("pas1z")
    backend.put_item("t", {**key, "z": {"S": "x" * room}}, overwrite=True)
    with pytest.raises(ItemSizeTooLarge):
        backend.put_item("t", {**key, "z": {"S": "x" * (room + 1)}}, overwrite=True)


def test_a_failed_change_leaves_the_table_in_order(backend: DynamoDBBackend) -> None:
    key = {"p": {"S": "a"}, "s": {"S": "1"}}
    backend.put_item("t", {**key, "z": {"S": "x"}}, overwrite=True)
    with pytest.raises(Exception, match="size"):
        backend.update_item(
            "t", key, "SET b = :b, y = :y", {}, {":b": {"S": "one"}, ":y": {"S": "y" * 405_000}}
        )
    table: Any = backend.get_table("t")
    assert places_of(table)._stands == Places(table)._stands


@pytest.mark.parametrize("kind", ["S", "N"])
@pytest.mark.parametrize("ranges", [True, False])
def test_a_table_is_sorted_as_moto_sorts_it(kind: str, ranges: bool) -> None:
    assert keep_tables_in_order()
    schema = SCHEMA[: 2 if ranges else 1]
    # It calls two methods abstract that no table of moto has.
    table: Any = Table
    table = table(
        "sorted",
        account_id="123456789012",
        region="eu-central-1",
        schema=schema,
        attr=[{"AttributeName": key["AttributeName"], "AttributeType": kind} for key in schema],
    )
    values = {"S": ["b", "a", "ä", "B", "10", "9", "a.b"], "N": ["10", "9", "100", "-1", "1.5"]}
    for p in values[kind]:
        for s in values[kind]:
            table.put_item({"p": {kind: p}, "s": {kind: s}})
    found = table.all_items()
    assert [id(item) for item in found] == [id(item) for item in moto_tables._all_items(table)]
    assert len(found) == len(values[kind]) ** (2 if ranges else 1)
