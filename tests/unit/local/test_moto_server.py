"""AWS in memory, served on loopback."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from typing import Any

import boto3
import pytest

from hourhand.local.moto_server import MotoServer


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


def test_all_three_services_are_found_at_one_address(server: MotoServer) -> None:
    answers = [
        client("dynamodb", server).list_tables(),
        client("sqs", server).list_queues(),
        client("s3", server).list_buckets(),
    ]
    assert [each["ResponseMetadata"]["HTTPStatusCode"] for each in answers] == [200, 200, 200]
    assert ["TableNames" in answers[0], "Buckets" in answers[2]] == [True, True]
