from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from hourhand.aws.control_store import MAX_ACQUIRE_TRIES, DynamoControlStore
from hourhand.domain.errors import Unavailable
from hourhand.domain.ticks.buckets import ShardMap, ShardMapVersion, bucket_of
from hourhand.domain.ticks.watermark import Watermark
from hourhand.domain.times import to_ms
from hourhand.memory import START
from hourhand.ports.control_store import Lease, LeaseHeld, TickRecord
from tests.unit.aws.conftest import Installation, Stubbed

Stub = Callable[[str], Stubbed]
MARGIN = timedelta(seconds=2)
UNTIL = START + timedelta(seconds=30)


@pytest.fixture
def store(installation: Installation) -> DynamoControlStore:
    return DynamoControlStore(installation.dynamodb, installation.settings.control_table)


def test_only_the_record_of_a_tick_is_put_as_the_basic_alarm_counts_it(
    store: DynamoControlStore, installation: Installation
) -> None:
    asked: list[str] = []

    def note(model: Any, **_: object) -> None:
        asked.append(model.name)

    # The client is that of other tests, too.
    events = installation.dynamodb.meta.events
    events.register("before-call.dynamodb", note)
    lease = store.acquire_lease("leader", "me", now=START, until=UNTIL, margin=MARGIN)
    assert isinstance(lease, Lease)
    renewed = store.renew_lease(lease, UNTIL + MARGIN)
    assert renewed is not None
    store.write_shard_map(
        ShardMap().with_version(bucket_of(START) + 1, 4, now=START), expected_version=1
    )
    store.write_watermark(Watermark(low=bucket_of(START)), previous=None)
    store.release_lease(renewed)
    store.keep_caller("@key", "alice")
    assert "PutItem" not in asked

    store.write_tick(TickRecord(at=START, holder="me", epoch=1))
    store.read_tick()
    events.unregister("before-call.dynamodb", note)
    assert asked[-2:] == ["PutItem", "GetItem"]


def lease_item(holder: str, epoch: int, until: Any = UNTIL) -> dict[str, Any]:
    return {
        "p": {"S": "lease.leader"},
        "holder": {"S": holder},
        "epoch": {"N": str(epoch)},
        "until_ms": {"N": str(to_ms(until))},
        "acquired_ms": {"N": str(to_ms(START))},
    }


def refuse(stub: Stubbed, item: dict[str, Any] | None = None) -> None:
    fields = {"Item": item} if item is not None else {}
    stub.script.add_client_error(
        "update_item", "ConditionalCheckFailedException", modeled_fields=fields
    )


def acquire(stub: Stubbed, holder: str = "me") -> Lease | LeaseHeld:
    store = DynamoControlStore(stub.client, "control")
    return store.acquire_lease("leader", holder, now=START, until=UNTIL, margin=MARGIN)


def test_a_lease_taken_by_a_write_whose_answer_was_lost_is_held(stubbed: Stub) -> None:
    stub = stubbed("dynamodb")
    stub.script.add_response("get_item", {})
    refuse(stub, lease_item("me", 1))
    stub.script.add_response("update_item", {})
    assert acquire(stub) == Lease(
        name="leader", holder="me", epoch=1, until=UNTIL, acquired_at=START
    )


def test_a_lease_that_another_took_in_between_is_theirs(stubbed: Stub) -> None:
    stub = stubbed("dynamodb")
    stub.script.add_response("get_item", {})
    refuse(stub, lease_item("other", 1))
    assert acquire(stub) == LeaseHeld("other", 1, UNTIL)


def test_a_lease_is_read_again_where_the_store_shows_no_item(stubbed: Stub) -> None:
    stub = stubbed("dynamodb")
    stub.script.add_response("get_item", {})
    refuse(stub)
    stub.script.add_response("get_item", {"Item": lease_item("other", 4)})
    assert acquire(stub) == LeaseHeld("other", 4, UNTIL)


def test_a_lease_that_changes_under_every_try_is_given_up(stubbed: Stub) -> None:
    stub = stubbed("dynamodb")
    over = START - timedelta(minutes=1)
    stub.script.add_response("get_item", {})
    for epoch in range(1, MAX_ACQUIRE_TRIES + 1):
        refuse(stub, lease_item("other", epoch, over))
    with pytest.raises(Unavailable, match="The lease leader changed during every try"):
        acquire(stub)


def test_an_expired_lease_is_taken_only_as_it_was_seen(stubbed: Stub) -> None:
    stub = stubbed("dynamodb")
    over = START - timedelta(minutes=1)
    stub.script.add_response("get_item", {"Item": lease_item("other", 4, over)})
    stub.script.add_response(
        "update_item",
        {},
        {
            "TableName": "control",
            "Key": {"p": {"S": "lease.leader"}},
            "UpdateExpression": "SET v = :v, holder = :holder, epoch = :epoch, "
            "until_ms = :until, acquired_ms = :acquired, taken_from = :taken_from",
            "ConditionExpression": "holder = :seen_holder AND epoch = :seen_epoch"
            " AND until_ms = :seen_until AND (attribute_not_exists(v) OR v <= :known)",
            "ExpressionAttributeValues": {
                ":holder": {"S": "me"},
                ":epoch": {"N": "5"},
                ":until": {"N": str(to_ms(UNTIL))},
                ":acquired": {"N": str(to_ms(START))},
                ":taken_from": {"S": "other"},
                ":seen_holder": {"S": "other"},
                ":seen_epoch": {"N": "4"},
                ":seen_until": {"N": str(to_ms(over))},
                ":known": {"N": "1"},
                ":v": {"N": "1"},
            },
            "ReturnValuesOnConditionCheckFailure": "ALL_OLD",
        },
    )
    taken = acquire(stub)
    assert isinstance(taken, Lease)
    assert (taken.epoch, taken.taken_from) == (5, "other")


def test_map_and_watermark_share_an_item_and_do_not_overwrite_each_other(
    store: DynamoControlStore, installation: Installation
) -> None:
    state = Watermark(low=bucket_of(START))
    assert store.write_watermark(state, previous=None)
    wider = ShardMap((*ShardMap().versions, ShardMapVersion(bucket_of(START) + 60, 4)))
    assert store.write_shard_map(wider, expected_version=1)
    assert store.read_watermark() == state
    further = replace(state, low=state.low + 1, shard_map_version=2)
    assert store.write_watermark(further, previous=state)
    assert store.read_shard_map() == wider
    items = installation.dynamodb.scan(TableName=installation.settings.control_table)["Items"]
    assert [item["p"]["S"] for item in items] == ["sweep"]


# --- callers ---


def caller_item(identity: str, version: str = "1") -> dict[str, Any]:
    return {"p": {"S": "caller.@key"}, "v": {"N": version}, "caller": {"S": identity}}


def test_a_caller_that_another_process_has_just_recorded_stands(stubbed: Stub) -> None:
    """The read that comes first may lag."""
    stub = stubbed("dynamodb")
    stub.script.add_response("get_item", {})
    refuse(stub, caller_item("bob"))

    assert DynamoControlStore(stub.client, "control").keep_caller("@key", "alice") == "bob"


def test_a_refusal_without_its_item_is_read_again(stubbed: Stub) -> None:
    stub = stubbed("dynamodb")
    stub.script.add_response("get_item", {})
    refuse(stub)
    stub.script.add_response("get_item", {"Item": caller_item("bob")})

    assert DynamoControlStore(stub.client, "control").keep_caller("@key", "alice") == "bob"


def test_a_caller_whose_record_vanishes_is_not_recorded(stubbed: Stub) -> None:
    stub = stubbed("dynamodb")
    stub.script.add_response("get_item", {})
    refuse(stub)
    stub.script.add_response("get_item", {})

    with pytest.raises(Unavailable, match="is now missing"):
        DynamoControlStore(stub.client, "control").keep_caller("@key", "alice")


def test_a_caller_of_a_newer_form_is_left_out_of_what_is_shown(
    store: DynamoControlStore, installation: Installation
) -> None:
    store.keep_caller("@old", "alice")
    installation.dynamodb.put_item(
        TableName=installation.settings.control_table,
        Item={**caller_item("bob", "2"), "p": {"S": "caller.@new"}},
    )

    assert store.read_callers(["@old", "@new"]) == {"@old": "alice"}


def test_the_first_identity_of_a_key_is_written_under_its_condition(
    installation: Installation, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two processes that both read nothing: the second one's write is refused."""
    first, second = (
        DynamoControlStore(installation.dynamodb, installation.settings.control_table)
        for _ in range(2)
    )
    assert first.keep_caller("@key", "alice") == "alice"
    read = DynamoControlStore._read
    monkeypatch.setattr(
        DynamoControlStore,
        "_read",
        lambda store, key, kind, *, may_lag=False: (
            None if may_lag else read(store, key, kind, may_lag=may_lag)
        ),
    )

    assert second.keep_caller("@key", "bob") == "alice"
    assert second.read_callers(["@key"]) == {"@key": "alice"}
