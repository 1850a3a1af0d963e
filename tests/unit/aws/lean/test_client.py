"""The lean client and boto3's, asked the same of the same server, say the same.

Each test runs for both: what holds of boto3 is the specification of the other.
"""

from __future__ import annotations

import json
import select
import socket
from http.client import HTTPConnection
from typing import Any

import pytest
from botocore.exceptions import (
    ClientError,
    ConnectionClosedError,
    ConnectTimeoutError,
    EndpointConnectionError,
    NoCredentialsError,
    ReadTimeoutError,
)

from hourhand.aws.failures import Call, UnreadableAnswer, ask
from hourhand.aws.lean import LeanClient, lean_or_same
from hourhand.aws.lean._retries import COST, RetryQuota
from hourhand.domain.errors import Unavailable
from tests.unit.aws.lean.conftest import Make, boto, lean
from tests.unit.aws.lean.raw_server import (
    Behaviour,
    RawServer,
    cut_off,
    gibberish,
    hung_up,
    refusing,
    reset,
    then_closed,
    whole,
    with_checksum,
)

PAGE = {"Count": 1, "ScannedCount": 1, "Items": [{"p": {"S": "naïve"}, "k": {"N": "12"}}]}
ITEM = {"p": {"S": "job-1"}, "g": {"N": "2"}}
SENT = {"Successful": [{"Id": "1", "MessageId": "m", "MD5OfMessageBody": "d"}]}


def query(client: Any) -> Any:
    return client.query(TableName="jobs", KeyConditionExpression="b = :b", Limit=5)


def send(client: Any) -> Any:
    entries = [{"Id": "1", "MessageBody": '{"a":"ü"}', "DelaySeconds": 3, "MessageGroupId": "g"}]
    return client.send_message_batch(QueueUrl="https://sqs/1/q", Entries=entries)


def refused(client: Any) -> dict[str, Any]:
    with pytest.raises(ClientError) as raised:
        query(client)
    return dict(raised.value.response)


# --- what is asked ------------------------------------------------------------------------------


def test_a_request_is_the_same(make: Make, server: RawServer) -> None:
    server.answers = [whole(200, PAGE)]
    query(make("dynamodb", server.url))
    ((line, headers, body),) = server.requests
    assert line == "POST / HTTP/1.1"
    assert headers["x-amz-target"] == "DynamoDB_20120810.Query"
    assert headers["content-type"] == "application/x-amz-json-1.0"
    assert headers["host"] == server.url.removeprefix("http://")
    signed = {"content-type", "host", "x-amz-date", "x-amz-target"}
    assert set(headers["authorization"].split("SignedHeaders=")[1].split(",")[0].split(";")) == (
        signed
    )
    assert "/eu-central-1/dynamodb/aws4_request" in headers["authorization"]
    assert json.loads(body) == {
        "TableName": "jobs",
        "KeyConditionExpression": "b = :b",
        "Limit": 5,
    }


@pytest.mark.parametrize("text", ["plain", "\ud800"])
def test_bytes_are_sent_the_same(make: Make, server: RawServer, text: str) -> None:
    server.answers = [whole(200, {})]
    values = {":p": {"S": text}, ":ck": {"B": b"\x00\xff"}}
    make("dynamodb", server.url).query(TableName="jobs", ExpressionAttributeValues=values)
    ((_, _, body),) = server.requests
    assert json.loads(body)["ExpressionAttributeValues"] == {
        ":p": {"S": text},
        ":ck": {"B": "AP8="},
    }


def test_what_json_cannot_hold_is_a_mistake(server: RawServer) -> None:
    with pytest.raises(TypeError, match="JSON cannot hold"):
        lean(boto("dynamodb", server.url)).query(TableName="jobs", Limit=object())


def test_a_queue_is_asked_the_same(make: Make, server: RawServer) -> None:
    server.answers = [whole(200, SENT)]
    answer = send(make("sqs", server.url))
    ((_, headers, body),) = server.requests
    assert headers["x-amz-target"] == "AmazonSQS.SendMessageBatch"
    assert json.loads(body)["Entries"][0]["MessageBody"] == '{"a":"ü"}'
    assert answer["Successful"] == SENT["Successful"]


@pytest.mark.parametrize("name", ["batch_get_item", "batch_execute_statement"])
def test_each_operation_has_its_name(make: Make, server: RawServer, name: str) -> None:
    server.answers = [whole(200, {"Responses": [] if "execute" in name else {}})]
    asked: dict[str, dict[str, Any]] = {
        "batch_get_item": {"RequestItems": {"jobs": {"Keys": [{"p": {"S": "1"}}]}}},
        "batch_execute_statement": {"Statements": [{"Statement": "SELECT * FROM jobs"}]},
    }
    getattr(make("dynamodb", server.url), name)(**asked[name])
    target = server.requests[0][1]["x-amz-target"]
    assert target.rpartition(".")[2].lower() == name.replace("_", "")


# --- what is answered ---------------------------------------------------------------------------


def test_a_page_is_read_and_what_is_null_is_not_told(make: Make, server: RawServer) -> None:
    server.answers = [with_checksum(PAGE)]
    answer = query(make("dynamodb", server.url))
    assert answer["Items"] == PAGE["Items"]
    assert "LastEvaluatedKey" not in answer
    server.answers = [whole(200, b'{"Items": [{"p": {"S": "\\ud800"}}]}')]
    assert query(make("dynamodb", server.url))["Items"] == [{"p": {"S": "\ud800"}}]
    server.answers = [whole(200, b'{"Successful": null, "Failed": []}')]
    assert "Successful" not in send(make("sqs", server.url))


@pytest.mark.parametrize(
    ("answer", "code"),
    [
        (refusing("ResourceNotFoundException"), "ResourceNotFoundException"),
        (
            refusing("ItemCollectionSizeLimitExceededException"),
            "ItemCollectionSizeLimitExceededException",
        ),
        (whole(400, {"__type": "Bare", "Message": "said so"}), "Bare"),
        (whole(400, {"__type": "ns#With:http://colon", "message": "x"}), "With"),
        (whole(500, b"<html>oops</html>"), "500"),
        (whole(503, b""), "503"),
        (whole(413, {"message": "no type"}), "413"),
    ],
)
def test_an_error_has_the_same_code(
    make: Make, server: RawServer, answer: Behaviour, code: str
) -> None:
    server.answers = [answer]
    response = refused(make("dynamodb", server.url))
    assert response["Error"]["Code"] == code


def test_an_error_tells_the_same(server: RawServer) -> None:
    server.answers = [refusing("ValidationException")]
    client = boto("dynamodb", server.url)
    theirs, ours = refused(client), refused(lean(client))
    assert ours["Error"] == theirs["Error"]
    statuses = [each["ResponseMetadata"]["HTTPStatusCode"] for each in (ours, theirs)]
    assert statuses == [400, 400]


def test_what_stood_in_the_way_is_told(make: Make, server: RawServer) -> None:
    server.answers = [refusing("ConditionalCheckFailedException", Item=ITEM)]
    client = make("dynamodb", server.url)
    if isinstance(client, LeanClient):
        assert refused(client)["Item"] == ITEM


def sending_is_refused(client: Any) -> dict[str, Any]:
    with pytest.raises(ClientError) as raised:
        send(client)
    return dict(raised.value.response)


@pytest.mark.parametrize(
    ("told", "code"),
    [
        ("AWS.SimpleQueueService.NonExistentQueue;Sender", "older"),
        ("KMS.DisabledException;Sender", "older"),
        (";Sender", "newer"),
        ("AWS.SimpleQueueService.NonExistentQueue", "newer"),
        ("AWS.SimpleQueueService.NonExistentQueue;Sender;x", "newer"),
        ("", "newer"),
    ],
)
def test_a_queues_error_has_the_code_that_it_had_before_it_spoke_json(
    server: RawServer, told: str, code: str
) -> None:
    refusal = {"__type": "com.amazonaws.sqs#QueueDoesNotExist", "message": "no"}
    server.answers = [whole(400, refusal, x_amzn_query_error=told)]
    client = boto("sqs", server.url)
    theirs, ours = sending_is_refused(client)["Error"], sending_is_refused(lean(client))["Error"]
    assert ours == theirs
    older = told.split(";", maxsplit=1)[0]
    assert ours["Code"] == (older if code == "older" else "QueueDoesNotExist")


@pytest.mark.parametrize(("service", "mode"), [("sqs", "true"), ("dynamodb", None)])
def test_a_service_that_spoke_another_protocol_is_asked_for_the_codes_of_then(
    make: Make, server: RawServer, service: str, mode: str | None
) -> None:
    server.answers = [whole(200, SENT)]
    (send if service == "sqs" else query)(make(service, server.url))
    headers = server.requests[0][1]
    assert headers.get("x-amzn-query-mode") == mode
    assert ("x-amzn-query-mode" in headers["authorization"]) == (mode is not None)


def test_a_throttle_of_kms_is_tried_again(server: RawServer) -> None:
    """boto3 does not; its callers do, who are told that it may pass."""
    throttled = whole(400, {"__type": "com.amazonaws.sqs#KmsThrottled", "message": "slower"})
    server.answers = [throttled, whole(200, SENT)]
    answer = send(lean(boto("sqs", server.url, attempts=2)))
    assert answer["Successful"] == SENT["Successful"]


# --- what goes wrong on the way -----------------------------------------------------------------


@pytest.mark.parametrize(
    ("answer", "error"),
    [
        (hung_up, ConnectionClosedError),
        (reset, ConnectionClosedError),
        (gibberish, ConnectionClosedError),
        (RawServer.silent, ReadTimeoutError),
        (None, EndpointConnectionError),
    ],
    ids=["hung up", "reset", "in no protocol", "silent", "nobody there"],
)
def test_a_connection_without_an_answer(
    make: Make, server: RawServer, answer: Any, error: type[Exception]
) -> None:
    server.answers = [server.silent if answer is RawServer.silent else answer]
    with pytest.raises(error):
        query(make("dynamodb", server.url if answer else "http://127.0.0.1:1"))


def test_an_answer_that_is_cut_off_is_never_taken_for_a_whole_one(server: RawServer) -> None:
    """boto3 takes it for an answer that tells nothing."""
    server.answers = [cut_off]
    with pytest.raises(ConnectionClosedError):
        query(lean(boto("dynamodb", server.url)))


@pytest.mark.parametrize("answer", [whole(200, b"{"), whole(200, b"[]"), whole(200, b"\xff")])
def test_an_answer_that_cannot_be_read_is_told_as_such(
    server: RawServer, answer: Behaviour
) -> None:
    """boto3 takes the first for an answer that tells nothing, and fails at the others."""
    server.answers = [answer]
    client = lean(boto("dynamodb", server.url))
    with pytest.raises(UnreadableAnswer):
        query(client)
    with pytest.raises(Unavailable, match="cannot be read"):
        ask(Call("Query", "table jobs"), client.query, TableName="jobs")


# --- trying again -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "first",
    [
        refusing("ThrottlingException"),
        refusing("ProvisionedThroughputExceededException"),
        refusing("InternalServerError", status=500),
        whole(502, b"bad gateway"),
        whole(503, b""),
        hung_up,
        reset,
        with_checksum(PAGE, off_by=1),
    ],
)
def test_what_may_pass_is_tried_again(make: Make, server: RawServer, first: Behaviour) -> None:
    server.answers = [first, first, with_checksum(PAGE)]
    answer = query(make("dynamodb", server.url, attempts=3))
    assert answer["Items"] == PAGE["Items"]
    assert len(server.requests) == 3


@pytest.mark.parametrize(
    "answer",
    [
        refusing("ConditionalCheckFailedException"),
        refusing("ValidationException"),
        refusing("AccessDeniedException"),
        refusing("ExpiredTokenException"),
        whole(404, b""),
    ],
)
def test_what_will_not_pass_is_not_tried_again(
    make: Make, server: RawServer, answer: Behaviour
) -> None:
    server.answers = [answer]
    with pytest.raises(ClientError):
        query(make("dynamodb", server.url, attempts=4))
    assert len(server.requests) == 1


def test_tries_have_an_end(make: Make, server: RawServer) -> None:
    server.answers = [refusing("ThrottlingException")]
    with pytest.raises(ClientError):
        query(make("dynamodb", server.url, attempts=4))
    assert len(server.requests) == 4


def test_each_try_is_signed_anew(server: RawServer) -> None:
    server.answers = [refusing("ThrottlingException"), whole(200, PAGE)]
    asked: list[str] = []

    class Renewed:
        def __init__(self, number: int) -> None:
            self.access_key = f"AKID{number}"
            self.secret_key = f"secret{number}"
            self.token = f"token{number}"

        def get_frozen_credentials(self) -> Any:
            asked.append("")
            return Renewed(len(asked))

    client = lean(boto("dynamodb", server.url, attempts=2), lambda: Renewed(0))
    client._sleep = lambda _: None
    query(client)
    tokens = [headers["x-amz-security-token"] for _, headers, _ in server.requests]
    assert tokens == ["token1", "token2"]


def test_the_waits_grow_by_four_and_have_chance_in_them(server: RawServer) -> None:
    server.answers = [refusing("ThrottlingException")]
    client = lean(boto("dynamodb", server.url, attempts=5), _Fixed)
    waits: list[float] = []
    client._sleep = waits.append
    for _ in range(3):
        refused(client)
    assert all(0 <= wait <= 4 ** (number % 4 - 1) for number, wait in enumerate(waits))
    assert len(set(waits)) == len(waits) == 12


def test_the_waits_are_short_where_nobody_was_throttled(server: RawServer) -> None:
    server.answers = [refusing("InternalServerError", status=500)]
    client = lean(boto("dynamodb", server.url, attempts=4), _Fixed)
    waits: list[float] = []
    client._sleep = waits.append
    refused(client)
    assert all(0 <= wait <= 0.05 * 2**number for number, wait in enumerate(waits))
    assert len(waits) == 3


@pytest.mark.parametrize(
    ("refusal", "tries"),
    [(refusing("ThrottlingException"), 100), (refusing("InternalServerError", status=500), 35)],
)
def test_both_clients_spend_the_same_of_their_quota(
    make: Make, server: RawServer, refusal: Behaviour, tries: int
) -> None:
    server.answers = [refusal]
    client = make("dynamodb", server.url, attempts=3)
    for _ in range(110):
        refused(client)
    # Of a quota of 500, each after a throttle takes 5, after anything else 14.
    assert len(server.requests) == 110 + tries


def test_a_client_whose_tries_fail_stops_trying(server: RawServer) -> None:
    server.answers = [refusing("ThrottlingException")]
    client = lean(boto("dynamodb", server.url, attempts=4))
    for _ in range(60):
        refused(client)
    # 500 of quota are a hundred tries; three more for each of the first 33 calls.
    assert len(server.requests) == 60 + 100
    server.answers = [whole(200, PAGE)]
    for _ in range(10):
        query(client)
    server.answers = [refusing("ThrottlingException"), whole(200, PAGE)]
    # Ten that were answered earned two tries.
    query(client)


def test_a_try_that_is_answered_gives_back_what_it_cost(server: RawServer) -> None:
    client = lean(boto("dynamodb", server.url, attempts=2))
    client._quota = RetryQuota(COST)
    for _ in range(3):
        server.answers = [refusing("ThrottlingException"), whole(200, PAGE)]
        assert query(client)["Items"] == PAGE["Items"]


def test_a_connection_that_is_not_made_in_time_is_told_as_such(
    server: RawServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    client = lean(boto("dynamodb", server.url, attempts=4))
    client._quota = RetryQuota(COST)
    tries: list[int] = []

    def connect(_: HTTPConnection) -> None:
        tries.append(1)
        raise TimeoutError

    monkeypatch.setattr(HTTPConnection, "connect", connect)
    with pytest.raises(ConnectTimeoutError):
        query(client)
    assert len(tries) == 2


# --- connections --------------------------------------------------------------------------------


def test_a_connection_stays_open(make: Make, server: RawServer) -> None:
    server.answers = [whole(200, PAGE)]
    client = make("dynamodb", server.url)
    for _ in range(5):
        query(client)
    assert (server.connections, len(server.requests)) == (1, 5)


def test_a_connection_that_the_other_side_closed_is_made_anew(server: RawServer) -> None:
    """As a function finds them that slept between two ticks."""
    server.answers = [then_closed(whole(200, PAGE))]
    client = lean(boto("dynamodb", server.url))
    for _ in range(3):
        query(client)
        # Until its end has arrived.
        (line,) = client._lines._free
        select.select([line], [], [], 10)
        assert line._connection.sock.recv(1, socket.MSG_PEEK) == b""
    assert (server.connections, len(server.requests)) == (3, 3)


def test_a_connection_is_not_used_again_after_an_error(make: Make, server: RawServer) -> None:
    server.answers = [hung_up, whole(200, PAGE)]
    client = make("dynamodb", server.url)
    with pytest.raises(ConnectionClosedError):
        query(client)
    assert query(client)["Items"] == PAGE["Items"]
    assert server.connections == 2


def test_an_answer_that_says_so_closes_the_connection(make: Make, server: RawServer) -> None:
    server.answers = [whole(200, PAGE, Connection="close")]
    client = make("dynamodb", server.url)
    query(client)
    query(client)
    assert server.connections == 2


# --- which client -------------------------------------------------------------------------------


class _Fixed:
    access_key, secret_key, token = "AKID", "secret", None

    def get_frozen_credentials(self) -> Any:
        return self


def test_without_credentials_nothing_is_sent(server: RawServer) -> None:
    client = lean(boto("dynamodb", server.url), lambda: None)
    with pytest.raises(NoCredentialsError):
        query(client)
    assert server.requests == []


def test_behind_a_proxy_boto3_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    client = boto("dynamodb", "https://dynamodb.eu-central-1.amazonaws.com")
    monkeypatch.setenv("HTTPS_PROXY", "http://127.0.0.1:3128")
    assert lean_or_same(client, _Fixed, "") is client
    monkeypatch.setenv("NO_PROXY", "amazonaws.com")
    assert isinstance(lean_or_same(client, _Fixed, ""), LeanClient)


def test_credentials_are_looked_for_at_the_first_call(server: RawServer) -> None:
    server.answers = [whole(200, PAGE)]
    looked: list[int] = []

    def find() -> Any:
        looked.append(1)
        return _Fixed()

    client = lean(boto("dynamodb", server.url), find)
    assert looked == []
    query(client)
    query(client)
    assert looked == [1]
