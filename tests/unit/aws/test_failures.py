from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from botocore.exceptions import (
    BotoCoreError,
    ChecksumError,
    ClientError,
    ConnectTimeoutError,
    EndpointConnectionError,
    FlexibleChecksumError,
    IncompleteReadError,
    NoCredentialsError,
    NoRegionError,
    ReadTimeoutError,
    UnknownServiceError,
    WaiterError,
)
from botocore.session import get_session

from hourhand.aws.failures import (
    Call,
    ConditionRefused,
    Expected,
    NotDone,
    ask,
    ask_conditionally,
    ask_expecting,
    ask_or_reason,
    required,
)
from hourhand.domain.errors import TooLarge, Unavailable
from tests.unit.aws.conftest import Stubbed

CALL = Call("GetItem", "table jobs")
KEY: dict[str, Any] = {"TableName": "jobs", "Key": {"p": {"S": "a"}}}
Stub = Callable[[str], Stubbed]


@pytest.mark.parametrize(
    ("code", "status", "advice"),
    [
        ("ProvisionedThroughputExceededException", 400, "was throttled"),
        ("ThrottlingException", 400, "try again in a moment"),
        ("RequestLimitExceeded", 400, "was throttled"),
        ("InternalServerError", 500, "failed within AWS"),
        ("ServiceUnavailable", 503, "failed within AWS"),
        ("SomethingNew", 502, "failed within AWS"),
        ("ExpiredTokenException", 400, "credentials are invalid or expired"),
        ("UnrecognizedClientException", 400, "renew them"),
        ("AccessDeniedException", 400, "allow it in the policy of the role"),
        ("ResourceNotFoundException", 400, "create it, or correct the name"),
        ("400", 400, "cannot be read"),
    ],
)
def test_what_may_pass_is_unavailable_and_says_what_to_do(
    stubbed: Stub, code: str, status: int, advice: str
) -> None:
    dynamodb = stubbed("dynamodb")
    # One for each try that botocore makes of what may help to be tried again.
    dynamodb.script.add_client_error("get_item", code, http_status_code=status)
    with pytest.raises(Unavailable) as raised:
        ask(CALL, dynamodb.client.get_item, **KEY)
    assert advice in raised.value.detail
    assert "GetItem on table jobs" in raised.value.detail
    assert code in raised.value.detail


@pytest.mark.parametrize(
    ("error", "advice"),
    [
        (EndpointConnectionError(endpoint_url="http://127.0.0.1:1"), "may have been done or not"),
        (ConnectTimeoutError(endpoint_url="http://127.0.0.1:1"), "had no answer"),
        (ReadTimeoutError(endpoint_url="http://127.0.0.1:1"), "had no answer"),
        (FlexibleChecksumError(error_msg="not the checksum"), "cannot be read"),
        (
            ChecksumError(checksum_type="crc32", expected_checksum="1", actual_checksum="2"),
            "cannot be",
        ),
        (IncompleteReadError(actual_bytes=1, expected_bytes=2), "may have been done or not"),
        (NoCredentialsError(), "give this process AWS credentials"),
        (NoRegionError(), "set AWS_REGION"),
        (WaiterError(name="TableExists", reason="", last_response={}), "shows no change yet"),
    ],
)
def test_no_answer_is_unavailable_and_says_what_to_do(error: BotoCoreError, advice: str) -> None:
    with pytest.raises(Unavailable, match="GetItem on table jobs") as raised:
        ask(CALL, _raising(error))
    assert advice in raised.value.detail
    assert raised.value.__cause__ is error


def _raising(error: Exception) -> Callable[[], None]:
    def method() -> None:
        raise error

    return method


@pytest.mark.parametrize(
    "error",
    [
        ClientError({"Error": {"Code": "ValidationException", "Message": "bad"}}, "GetItem"),
        UnknownServiceError(service_name="x", known_service_names="y"),
    ],
)
@pytest.mark.parametrize("asking", [ask, ask_conditionally])
def test_a_mistake_of_our_own_is_left_as_it_is(error: Exception, asking: Any) -> None:
    with pytest.raises(type(error)):
        asking(CALL, _raising(error))


def test_an_item_too_large_says_so() -> None:
    message = "Item size has exceeded the maximum allowed size"
    error = ClientError({"Error": {"Code": "ValidationException", "Message": message}}, "PutItem")
    with pytest.raises(TooLarge, match="larger than DynamoDB accepts"):
        ask(CALL, _raising(error))


def test_a_failed_condition_is_a_value_with_the_item_that_stood_in_the_way(stubbed: Stub) -> None:
    dynamodb = stubbed("dynamodb")
    item = {"p": {"S": "a"}}
    dynamodb.script.add_client_error(
        "get_item", "ConditionalCheckFailedException", modeled_fields={"Item": item}
    )
    assert ask_conditionally(CALL, dynamodb.client.get_item, **KEY) == ConditionRefused(item)


def test_a_failed_condition_of_a_store_that_shows_no_item_is_a_value_too(stubbed: Stub) -> None:
    dynamodb = stubbed("dynamodb")
    dynamodb.script.add_client_error("get_item", "ConditionalCheckFailedException")
    assert ask_conditionally(CALL, dynamodb.client.get_item, **KEY) == ConditionRefused(None)


def test_only_the_error_that_is_expected_is_a_value(stubbed: Stub) -> None:
    dynamodb = stubbed("dynamodb")
    dynamodb.script.add_client_error("get_item", "ResourceNotFoundException")
    dynamodb.script.add_client_error("get_item", "ThrottlingException")
    expected = {"ResourceNotFoundException"}
    answer = ask_expecting(expected, CALL, dynamodb.client.get_item, **KEY)
    assert answer == Expected("ResourceNotFoundException")
    with pytest.raises(Unavailable, match="throttled"):
        ask_expecting(expected, CALL, dynamodb.client.get_item, **KEY)
    with pytest.raises(Unavailable, match="no answer"):
        ask_expecting(expected, CALL, _raising(EndpointConnectionError(endpoint_url="x")))


def test_one_of_many_gets_its_reason_as_a_value() -> None:
    reason = ask_or_reason(CALL, _raising(EndpointConnectionError(endpoint_url="x")))
    assert isinstance(reason, NotDone)
    assert "GetItem on table jobs had no answer" in reason.reason
    error = ClientError({"Error": {"Code": "InvalidMessageContents", "Message": "bad"}}, "Send")
    mistake = ask_or_reason(CALL, _raising(error))
    assert isinstance(mistake, NotDone)
    assert "InvalidMessageContents" in mistake.reason


def test_an_answer_without_what_was_asked_for_is_unavailable() -> None:
    assert required(CALL, {"Item": {}}, "Item") == {}
    with pytest.raises(Unavailable, match="GetItem on table jobs was answered without Item"):
        required(CALL, {}, "Item")


# --- the keys of tables, queues and buckets -----------------------------------------------------


def told_of(code: str, message: str = "no") -> str:
    """Return what is raised for an error of AWS."""
    response: Any = {
        "Error": {"Code": code, "Message": message},
        "ResponseMetadata": {"HTTPStatusCode": 400},
    }

    def refuse() -> None:
        raise ClientError(response, "SendMessageBatch")

    with pytest.raises(Unavailable) as raised:
        ask(Call("SendMessageBatch", "queue medium"), refuse)
    return raised.value.detail


def kms_codes() -> set[str]:
    """Return the codes that begin so in botocore's models of the services that are called."""
    session = get_session()
    return {
        shape.name
        for service in ("sqs", "s3", "dynamodb", "lambda", "cloudwatch")
        for shape in session.get_service_model(service).error_shapes
        if shape.name.lower().startswith("kms")
    }


OF_QUERY_AND_S3 = {
    "KMS.AccessDeniedException",
    "KMS.DisabledException",
    "KMS.InvalidKeyUsageException",
    "KMS.InvalidStateException",
    "KMS.KMSInvalidStateException",
    "KMS.NotFoundException",
    "KMS.OptInRequired",
}


@pytest.mark.parametrize("code", sorted((kms_codes() | OF_QUERY_AND_S3) - {"KmsThrottled"}))
def test_a_key_that_refuses_is_told_with_what_to_do(code: str) -> None:
    detail = told_of(code)
    assert detail.startswith(
        f"SendMessageBatch on queue medium was refused by the key that encrypts it ({code})"
    )
    assert "runbook" in detail


def test_the_models_know_errors_of_keys() -> None:
    assert {"KmsDisabled", "KmsThrottled", "KMSDisabledException"} <= kms_codes()


@pytest.mark.parametrize("code", ["KmsThrottled", "KMS.ThrottlingException"])
def test_a_throttle_of_kms_is_one_like_any_other(code: str) -> None:
    assert "was throttled" in told_of(code)


@pytest.mark.parametrize("code", ["KMS.KMSInternalException", "KMS.KeyUnavailableException"])
def test_what_fails_within_kms_may_pass(code: str) -> None:
    assert "failed within AWS KMS" in told_of(code)


def test_an_action_of_kms_that_is_denied_is_the_keys() -> None:
    denied = "User: arn:aws:sts::1:assumed-role/w is not authorized to perform: kms:Decrypt on it"
    assert "refused by the key" in told_of("AccessDeniedException", denied)
    by_role = told_of("AccessDeniedException", "sqs:SendMessage")
    assert "allow it in the policy of the role" in by_role
