"""Where a client asks, and as whom: by arguments, by the environment, and never in the clear."""

from __future__ import annotations

import hashlib
import hmac
import re
from collections.abc import Callable
from typing import Any
from urllib.parse import quote

import httpx
import pytest

from hourhand.client import AsyncClient, Client, NotConfigured
from hourhand.client._authorisation import region_of
from tests.unit.client.callers import Caller, Script, job_answer

Calling = Callable[..., Caller]
DEPLOYED = "https://abc123.execute-api.eu-north-1.amazonaws.com"
TOKEN = "eyJhbGciOiJub25lIn0.e30.x-_~+/="


@pytest.fixture(autouse=True)
def own_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("HOURHAND_ENDPOINT", raising=False)
    monkeypatch.delenv("HOURHAND_TOKEN", raising=False)


@pytest.fixture(params=[Client, AsyncClient])
def kind_of_client(request: pytest.FixtureRequest) -> Any:
    return request.param


def headers_of(calling: Calling, **options: Any) -> httpx.Headers:
    caller = calling(Script(job_answer()), **options)
    caller("get", "j1")
    return caller.requests[0].headers


@pytest.mark.parametrize(
    ("given", "environment", "expected"),
    [
        (None, "", "http://127.0.0.1:8787"),
        (None, " http://localhost:9/ ", "http://localhost:9"),
        ("http://[::1]:9/v1/", "http://localhost:9", "http://[::1]:9"),
        ("http://127.0.0.1:9/stage/v1", "", "http://127.0.0.1:9/stage"),
    ],
)
def test_the_endpoint_is_the_argument_else_the_environment_else_the_local_one(
    kind_of_client: Any,
    monkeypatch: pytest.MonkeyPatch,
    given: str | None,
    environment: str,
    expected: str,
) -> None:
    monkeypatch.setenv("HOURHAND_ENDPOINT", environment)

    assert kind_of_client(given).endpoint == expected


@pytest.mark.parametrize(
    "endpoint",
    [
        "127.0.0.1:8787",
        "ftp://127.0.0.1",
        "http://",
        "http://127.0.0.1:port",
        "http://127.0.0.1:99999",
        "http://ada:secret@127.0.0.1",
        "http://127.0.0.1/?a=b",
        "http://127.0.0.1/#a",
        "http://[::1",
    ],
)
def test_what_is_no_address_of_an_api_is_refused(kind_of_client: Any, endpoint: str) -> None:
    with pytest.raises(NotConfigured, match="endpoint"):
        kind_of_client(endpoint)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"timeout_seconds": 0}, "timeout_seconds must be more than 0 and at most 3600, not 0"),
        ({"timeout_seconds": "30"}, "timeout_seconds"),
        ({"timeout_seconds": float("nan")}, "timeout_seconds"),
        ({"max_attempts": 0}, "max_attempts must be more than 0 and at most 100"),
        ({"max_attempts": True}, "max_attempts"),
        ({"max_attempts": 2.5}, "max_attempts must be a whole number"),
        ({"auth": "basic"}, "auth must be none, iam or jwt, not 'basic'"),
        ({"auth": "jwt"}, "auth='jwt' needs a token"),
    ],
)
def test_what_a_client_cannot_be_made_with_is_refused(
    kind_of_client: Any, options: Any, said: str
) -> None:
    with pytest.raises(NotConfigured, match=re.escape(said)):
        kind_of_client("http://127.0.0.1:9", **options)


def test_nobody_in_particular_asks_the_local_server(calling: Calling) -> None:
    headers = headers_of(calling)

    assert "authorization" not in headers
    assert headers["user-agent"].startswith("hourhand-python/")


def test_a_token_is_shown_even_to_the_local_server(
    calling: Calling, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert headers_of(calling, token=TOKEN)["authorization"] == f"Bearer {TOKEN}"
    monkeypatch.setenv("HOURHAND_TOKEN", TOKEN)
    assert headers_of(calling)["authorization"] == f"Bearer {TOKEN}"
    assert "authorization" not in headers_of(calling, auth="none")


def test_a_token_can_be_renewed(calling: Calling) -> None:
    tokens = iter(["first", "second"])
    caller = calling(Script(job_answer()), token=lambda: next(tokens), endpoint=DEPLOYED)

    caller("get", "j1")
    caller("get", "j1")

    shown = [request.headers["authorization"] for request in caller.requests]
    assert shown == ["Bearer first", "Bearer second"]


@pytest.mark.parametrize("token", ["a b", "a\r\nx-evil: 1", "tökén", lambda: "a b"])
def test_what_is_no_token_is_not_sent_and_not_told(calling: Calling, token: Any) -> None:
    caller = calling(Script(job_answer()), token=token)

    with pytest.raises(NotConfigured, match="must be a JWT") as raised:
        caller("get", "j1")
    assert "evil" not in str(raised.value)
    assert caller.requests == []


@pytest.mark.parametrize("options", [{"token": TOKEN}, {}, {"auth": "iam"}])
@pytest.mark.parametrize("host", ["api.example.com", "10.0.0.1", "127.0.0.1.example.com"])
def test_no_secret_is_sent_in_the_clear(kind_of_client: Any, host: str, options: Any) -> None:
    with pytest.raises(NotConfigured, match="is not encrypted"):
        kind_of_client(f"http://{host}", **options)


def test_who_has_nothing_to_hide_may_ask_in_the_clear(kind_of_client: Any) -> None:
    endpoint = "http://hourhand.internal:8787"
    assert kind_of_client(endpoint, auth="none").endpoint == endpoint


def test_no_secret_is_shown_by_what_holds_it(kind_of_client: Any) -> None:
    client = kind_of_client(DEPLOYED, token=TOKEN)

    assert repr(client) == f"{kind_of_client.__name__}({DEPLOYED!r})"
    assert TOKEN not in repr(client._connection._wire)


def test_a_try_that_cannot_be_signed_ends_the_tries_and_says_what_was_before(
    calling: Calling,
) -> None:
    tokens = iter(["good", "not good"])
    lost = httpx.ReadTimeout("")
    caller = calling(Script(lost), token=lambda: next(tokens))

    with pytest.raises(NotConfigured) as raised:
        caller("submit", "greet")
    assert raised.value.may_have_happened
    assert raised.value.submission is not None
    assert len(caller.requests) == 1


# --- signatures ---


def canonical_request(request: httpx.Request, signed_headers: str) -> str:
    """Return what is signed, by the IAM User Guide ("Create a signed AWS API request")."""
    path, _, query = request.url.raw_path.decode().partition("?")
    names = signed_headers.split(";")
    return "\n".join(
        [
            request.method,
            # For every service but S3, what was encoded once is encoded once more.
            quote(path, safe="/-_.~"),
            "&".join(sorted(query.split("&"))) if query else "",
            *(f"{name}:{request.headers[name].strip()}" for name in names),
            "",
            signed_headers,
            hashlib.sha256(request.content).hexdigest(),
        ]
    )


def expected_signature(request: httpx.Request, secret: str, scope: str, headers: str) -> str:
    key = f"AWS4{secret}".encode()
    for part in scope.split("/"):
        key = hmac.digest(key, part.encode(), "sha256")
    digest = hashlib.sha256(canonical_request(request, headers).encode()).hexdigest()
    text = f"AWS4-HMAC-SHA256\n{request.headers['x-amz-date']}\n{scope}\n{digest}"
    return hmac.digest(key, text.encode(), "sha256").hex()


def require_signed(request: httpx.Request, *, region: str) -> None:
    match = re.fullmatch(
        r"AWS4-HMAC-SHA256 Credential=(\w+)/(.+), SignedHeaders=(.+), Signature=(\w+)",
        request.headers["authorization"],
    )
    assert match is not None
    _, scope, headers, signature = match.groups()
    assert scope.split("/")[1:] == [region, "execute-api", "aws4_request"]
    assert {"host", "x-amz-date"} <= set(headers.split(";"))
    assert signature == expected_signature(request, "testing", scope, headers)


@pytest.mark.parametrize(
    ("name", "args", "options"),
    [
        ("get", ("j1",), {}),
        ("get", ("a b/ä?%2F",), {}),
        ("list", (), {"tag": "a:b c+d&e=ä", "status": "DEAD"}),
        ("submit", ("greet", {"ä": "€" * 1000}), {}),
        ("schedules.delete", ("x",), {}),
    ],
)
def test_a_deployed_api_is_asked_with_a_signature_of_the_very_bytes_sent(
    calling: Calling, name: str, args: Any, options: Any
) -> None:
    caller = calling(Script(httpx.Response(418)), endpoint=f"{DEPLOYED}/prod")

    with pytest.raises(Exception, match="418"):
        caller(name, *args, **options)
    [request] = caller.requests
    require_signed(request, region="eu-north-1")
    assert request.url.path.startswith("/prod/v1/")
    assert request.headers["x-amz-security-token"] == "testing"


@pytest.mark.parametrize(
    ("endpoint", "region", "expected"),
    [
        (DEPLOYED, None, "eu-north-1"),
        (f"{DEPLOYED}.cn", None, "eu-north-1"),
        (DEPLOYED, "us-east-1", "us-east-1"),
        ("https://jobs.example.com", "us-east-1", "us-east-1"),
        ("https://jobs.example.com:8443", None, "eu-central-1"),
    ],
)
def test_the_region_is_the_argument_else_the_host_names_it_else_the_environment(
    calling: Calling, endpoint: str, region: str | None, expected: str
) -> None:
    caller = calling(Script(job_answer()), endpoint=endpoint, region=region)

    caller("get", "j1")

    require_signed(caller.requests[0], region=expected)


@pytest.mark.parametrize(
    "host",
    ["execute-api.eu-west-1.amazonaws.com", "a.execute-api.eu-west-1.amazonaws.com.evil.org"],
)
def test_a_host_that_is_like_an_api_tells_no_region(host: str) -> None:
    assert region_of(host) is None


def test_every_try_is_signed_anew(calling: Calling, monkeypatch: pytest.MonkeyPatch) -> None:
    lost = httpx.ReadTimeout("")
    caller = calling(Script(lost, job_answer()), endpoint=DEPLOYED)

    caller("get", "j1")

    for request in caller.requests:
        require_signed(request, region="eu-north-1")


def test_without_credentials_or_region_nothing_is_signed(
    kind_of_client: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(NotConfigured, match="AWS credentials cannot be read: The config profile"):
        kind_of_client(DEPLOYED, profile="nobody")
    for name in ("AWS_DEFAULT_REGION", "AWS_REGION"):
        monkeypatch.delenv(name)
    with pytest.raises(NotConfigured, match=r"Region of jobs\.example\.com is unknown"):
        kind_of_client("https://jobs.example.com")
    monkeypatch.delenv("AWS_ACCESS_KEY_ID")
    monkeypatch.delenv("AWS_SECRET_ACCESS_KEY")
    with pytest.raises(NotConfigured, match="no AWS credentials to sign with"):
        kind_of_client(DEPLOYED)


def test_credentials_that_cannot_be_renewed_are_told(
    calling: Calling, monkeypatch: pytest.MonkeyPatch
) -> None:
    from botocore.credentials import Credentials  # noqa: PLC0415 - what stands in for SSO
    from botocore.exceptions import UnauthorizedSSOTokenError  # noqa: PLC0415

    def expire(self: Credentials) -> None:
        raise UnauthorizedSSOTokenError

    caller = calling(Script(job_answer()), endpoint=DEPLOYED)
    monkeypatch.setattr(Credentials, "get_frozen_credentials", expire)

    with pytest.raises(NotConfigured, match="SSO session"):
        caller("get", "j1")


@pytest.mark.parametrize("variable", ["HTTP_PROXY", "http_proxy", "ALL_PROXY", "HTTPS_PROXY"])
def test_a_proxy_of_the_environment_is_not_asked_for_this_machine(
    kind_of_client: Any, monkeypatch: pytest.MonkeyPatch, variable: str
) -> None:
    monkeypatch.setenv(variable, "http://127.0.0.1:1")

    for url in ("http://localhost:9", "https://[::1]:9"):
        http = kind_of_client(url)._connection._http
        assert http._transport_for_url(httpx.URL(url)) is http._transport
    if variable in {"ALL_PROXY", "HTTPS_PROXY"}:
        http = kind_of_client("https://example.com", token=TOKEN)._connection._http
        assert http._transport_for_url(httpx.URL("https://example.com")) is not http._transport
