"""AWS in memory, served on loopback."""

from __future__ import annotations

import itertools
import socket
import threading
from collections.abc import Iterator
from typing import Any

import boto3
import pytest
from moto.dynamodb.models.table import Table

from hourhand.local import moto_tables
from hourhand.local.moto_server import MotoServer

MotoTable: Any = Table
"""It calls two methods abstract that no table of moto has."""


class Sends:
    def __init__(self) -> None:
        self.count = 0

    def __call__(self) -> None:
        self.count += 1


@pytest.fixture
def sends() -> Sends:
    return Sends()


@pytest.fixture
def server(sends: Sends) -> Iterator[MotoServer]:
    server = MotoServer(sends)
    server.start()
    yield server
    server.stop()


def client(service: Any, server: MotoServer) -> Any:
    return boto3.client(service, endpoint_url=server.endpoint, region_name="eu-central-1")


def test_every_send_is_told_and_nothing_else(server: MotoServer, sends: Sends) -> None:
    sqs = client("sqs", server)
    url = sqs.create_queue(QueueName="q")["QueueUrl"]
    assert sends.count == 0
    sqs.send_message(QueueUrl=url, MessageBody="one")
    sqs.send_message_batch(QueueUrl=url, Entries=[{"Id": "1", "MessageBody": "two"}])
    assert sends.count == 2
    assert len(sqs.receive_message(QueueUrl=url, MaxNumberOfMessages=10)["Messages"]) == 2
    assert sends.count == 2


def test_racing_writers_are_answered_one_after_the_other(server: MotoServer) -> None:
    dynamodb = client("dynamodb", server)
    dynamodb.create_table(
        TableName="t",
        AttributeDefinitions=[{"AttributeName": "p", "AttributeType": "S"}],
        KeySchema=[{"AttributeName": "p", "KeyType": "HASH"}],
        BillingMode="PAY_PER_REQUEST",
    )
    won: list[int] = []

    def race(number: int) -> None:
        for turn in range(5):
            try:
                dynamodb.put_item(
                    TableName="t",
                    Item={"p": {"S": str(turn)}},
                    ConditionExpression="attribute_not_exists(p)",
                )
                won.append(turn)
            except dynamodb.exceptions.ConditionalCheckFailedException:
                continue

    racers = [threading.Thread(target=race, args=(number,)) for number in range(6)]
    for racer in racers:
        racer.start()
    for racer in racers:
        racer.join()
    assert sorted(won) == [0, 1, 2, 3, 4]


def test_a_client_that_says_nothing_does_not_keep_the_others_waiting_for_ever(
    sends: Sends, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("hourhand.local.moto_server.STALLED_CLIENT_SECONDS", 0.2)
    server = MotoServer(sends)
    server.start()
    host, port = server.endpoint.removeprefix("http://").split(":")
    with socket.create_connection((host, int(port))):
        # Served after the silent one was given up, well within boto3's own patience.
        assert client("sqs", server).list_queues()["ResponseMetadata"]["HTTPStatusCode"] == 200
    server.stop()


# --- tables -------------------------------------------------------------------------------------


@pytest.mark.parametrize("ranges", [True, False])
def test_a_table_with_keys_that_are_strings_is_sorted_as_moto_sorts_it(ranges: bool) -> None:
    schema = [{"AttributeName": "p", "KeyType": "HASH"}]
    schema += [{"AttributeName": "s", "KeyType": "RANGE"}] * ranges
    table = MotoTable(
        "sorted",
        account_id="000000000000",
        region="eu-central-1",
        schema=schema,
        attr=[{"AttributeName": key["AttributeName"], "AttributeType": "S"} for key in schema],
    )
    for p, s in itertools.product(["b", "a", "ä", "B", "10", "9", "a.b"], ["J", "E#10", "E#9"]):
        table.put_item({"p": {"S": p}, "s": {"S": s}})
    ours = moto_tables._all_items_by_strings(table)
    assert [item.attrs for item in ours] == [item.attrs for item in moto_tables._all_items(table)]
    assert len(ours) == (21 if ranges else 7)


def test_a_table_with_numbers_for_keys_is_left_to_moto() -> None:
    table = MotoTable(
        "numbers",
        account_id="000000000000",
        region="eu-central-1",
        schema=[{"AttributeName": "p", "KeyType": "HASH"}],
        attr=[{"AttributeName": "p", "AttributeType": "N"}],
    )
    for number in ("10", "9", "100"):
        table.put_item({"p": {"N": number}})
    found = [item.hash_key.value for item in moto_tables._all_items_by_strings(table)]
    assert found == ["9", "10", "100"]
