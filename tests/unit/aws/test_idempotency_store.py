from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta

import pytest

from hourhand.aws.idempotency_store import MAX_BEGIN_TRIES, DynamoIdempotencyStore
from hourhand.domain.errors import Unavailable
from hourhand.memory import START
from tests.unit.aws.conftest import Installation, Stubbed
from tests.world.factories import make_record

Stub = Callable[[str], Stubbed]


def test_a_record_that_was_deleted_meanwhile_is_claimed_again(stubbed: Stub) -> None:
    stub = stubbed("dynamodb")
    stub.script.add_client_error("put_item", "ConditionalCheckFailedException")
    stub.script.add_response("get_item", {})
    stub.script.add_response("put_item", {})
    assert DynamoIdempotencyStore(stub.client, "keys").begin(make_record(), now=START) is None


def test_records_that_come_and_go_end_in_an_error(stubbed: Stub) -> None:
    stub = stubbed("dynamodb")
    for _ in range(MAX_BEGIN_TRIES):
        stub.script.add_client_error("put_item", "ConditionalCheckFailedException")
        stub.script.add_response("get_item", {})
    with pytest.raises(Unavailable, match="changed during every try"):
        DynamoIdempotencyStore(stub.client, "keys").begin(make_record(), now=START)


def test_ttl_never_deletes_a_record_too_early(installation: Installation) -> None:
    client, table = installation.dynamodb, installation.settings.idempotency_table
    record = make_record(keep_until=START + timedelta(milliseconds=1))
    DynamoIdempotencyStore(client, table).begin(record, now=START)
    item = client.get_item(TableName=table, Key={"p": {"S": record.key}})["Item"]
    assert int(item["x"]["N"]) == START.timestamp() + 1
