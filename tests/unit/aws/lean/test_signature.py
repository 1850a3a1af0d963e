"""Our signature is botocore's, whatever is signed."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials
from hypothesis import given
from hypothesis import strategies as st

from hourhand.aws.lean._signature import Signer

NOW = datetime(2026, 11, 21, 23, 59, 58, tzinfo=UTC)
WORD = st.text("abcXYZ019-_/+=", min_size=1, max_size=20)


def botocores(
    headers: dict[str, str],
    body: bytes,
    credentials: Credentials,
    scope: tuple[str, str, str],
    now: datetime,
) -> str:
    """Return the Authorization header that botocore makes at ``now``."""
    service, region, host = scope
    request = AWSRequest("POST", f"https://{host}/", headers=headers, data=body)
    request.context["timestamp"] = now.strftime("%Y%m%dT%H%M%SZ")
    request.headers["X-Amz-Date"] = request.context["timestamp"]
    if credentials.token:
        request.headers["X-Amz-Security-Token"] = credentials.token
    auth = SigV4Auth(credentials, service, region)
    text = auth.string_to_sign(request, auth.canonical_request(request))
    signed = auth.headers_to_sign(request)
    return (
        f"AWS4-HMAC-SHA256 Credential={auth.scope(request)}, "
        f"SignedHeaders={auth.signed_headers(signed)}, Signature={auth.signature(text, request)}"
    )


@given(
    body=st.binary(max_size=200),
    target=WORD,
    secret=WORD,
    token=st.none() | WORD,
    region=st.sampled_from(["us-east-1", "eu-central-1", "cn-north-1"]),
    service=st.sampled_from(["dynamodb", "sqs"]),
    port=st.sampled_from(["", ":8000"]),
    seconds=st.integers(0, 10**8),
)
def test_any_request_is_signed_as_botocore_signs_it(
    body: bytes,
    target: str,
    secret: str,
    token: str | None,
    region: str,
    service: str,
    port: str,
    seconds: int,
) -> None:
    credentials = Credentials("AKIDEXAMPLE", secret, token)
    host = f"{service}.example.org{port}"
    headers = {"content-type": "application/x-amz-json-1.0", "x-amz-target": target}
    now = NOW + timedelta(seconds=seconds)
    ours = Signer(service, region, host).signed(headers, body, credentials, now)
    theirs = botocores(headers, body, credentials, (service, region, host), now)
    assert ours["authorization"] == theirs
    assert ours.get("x-amz-security-token") == token


def test_a_new_day_and_new_credentials_have_keys_of_their_own() -> None:
    signer = Signer("sqs", "us-east-1", "sqs.example.org")
    scope = ("sqs", "us-east-1", "sqs.example.org")
    for secret, now in [
        ("one", NOW),
        ("two", NOW),
        ("two", NOW + timedelta(seconds=2)),
        ("one", NOW),
    ]:
        credentials = Credentials("AKID", secret)
        signed = signer.signed({"x-amz-target": "T"}, b"{}", credentials, now)
        theirs = botocores({"x-amz-target": "T"}, b"{}", credentials, scope, now)
        assert signed["authorization"] == theirs


@pytest.mark.parametrize("headers", [{}, {"x-amz-target": "DynamoDB_20120810.Query"}])
def test_what_was_given_is_not_changed(headers: dict[str, str]) -> None:
    given_headers = dict(headers)
    Signer("dynamodb", "us-east-1", "h").signed(headers, b"", Credentials("a", "b"), NOW)
    assert headers == given_headers
