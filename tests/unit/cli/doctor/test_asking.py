from __future__ import annotations

import http.server
import threading
from collections.abc import Iterator
from datetime import timedelta

import pytest
from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials, ReadOnlyCredentials
from botocore.exceptions import EndpointConnectionError, NoCredentialsError, ParamValidationError

from hourhand.cli.doctor.asking import LOOKING_SECONDS, Aws
from hourhand.cli.doctor.findings import NotSeen, Status
from hourhand.domain.errors import Unavailable
from hourhand.memory import START, MemoryClock
from tests.unit.cli.doctor.fakes import REGION, FakeSession, client_error, fake_aws


def ask(error: Exception, service: str = "dynamodb", method: str = "describe_table") -> NotSeen:
    operation = "".join(part.capitalize() for part in method.split("_"))
    with pytest.raises(NotSeen) as raised:
        fake_aws({f"{service}.{method}": error}).ask(service, operation, "thing x")
    return raised.value


@pytest.mark.parametrize(
    ("error", "status", "seen"),
    [
        (client_error("AccessDeniedException"), Status.FAILED, "lacks dynamodb:DescribeTable"),
        (client_error("UnknownOperationException"), Status.SKIPPED, "has no DescribeTable"),
        (client_error("ResourceNotFoundException"), Status.FAILED, "there is no thing x"),
        (client_error("ThrottlingException"), Status.FAILED, "was throttled"),
        (client_error("Odd", "so odd"), Status.FAILED, "was refused: "),
        (NoCredentialsError(), Status.FAILED, "could not be signed"),
        (EndpointConnectionError(endpoint_url="x"), Status.FAILED, "had no answer"),
        (ParamValidationError(report="bad"), Status.FAILED, "was refused: "),
    ],
)
def test_every_error_is_a_sentence_with_what_to_do(
    error: Exception, status: Status, seen: str
) -> None:
    hindrance = ask(error)
    assert hindrance.status is status
    assert seen in hindrance.seen
    assert hindrance.fix.endswith(".")


def test_a_denied_call_names_the_action() -> None:
    hindrance = ask(client_error("AccessDenied"), "cloudformation", "detect_stack_drift")
    assert hindrance.is_denied
    assert hindrance.seen == (
        "could not be checked: your identity lacks cloudformation:DetectStackDrift"
    )
    assert "on thing x" in hindrance.fix


def test_an_error_that_an_adapter_translated_is_told_by_its_cause() -> None:
    def read(_: object) -> None:
        raise Unavailable("denied") from client_error("AccessDeniedException")

    with pytest.raises(NotSeen, match="lacks dynamodb:GetItem"):
        fake_aws({}).look("dynamodb", "GetItem", "table t", read)


def test_an_error_of_ours_without_a_cause_keeps_its_sentence() -> None:
    def read(_: object) -> None:
        raise Unavailable("It changed under every try; try again.")

    with pytest.raises(NotSeen, match="It changed under every try"):
        fake_aws({}).look("dynamodb", "GetItem", "table t", read)


def test_an_expected_error_is_as_if_nothing_were_there() -> None:
    aws = fake_aws({"s3.get_bucket": client_error("NoSuchThing")})
    assert aws.ask("s3", "GetBucket", "bucket b", expected={"NoSuchThing"}) == {}


def test_every_answer_tells_the_time_and_an_error_does_too() -> None:
    headers = {"HTTPHeaders": {"date": "Mon, 05 Jan 2026 09:00:07 GMT"}}
    aws = fake_aws({"sts.who": {"ResponseMetadata": headers}, "sts.no": client_error("Odd")})
    aws.ask("sts", "Who", "me")
    with pytest.raises(NotSeen):
        aws.ask("sts", "No", "me")
    assert [sample.server_earliest for sample in aws.time_samples] == [
        START + timedelta(seconds=7),
        START,
    ]
    assert aws.time_samples[0].server_latest == START + timedelta(seconds=8)


def test_after_its_time_nothing_new_is_asked() -> None:
    clock = MemoryClock()
    aws = fake_aws({"sts.who": {}}, clock)
    clock.advance(LOOKING_SECONDS - 1)
    aws.ask("sts", "Who", "me")
    clock.advance(1)
    for late in (
        lambda: aws.ask("sts", "Who", "me"),
        lambda: aws.get_from_api("https://api", "/v1/health"),
    ):
        with pytest.raises(NotSeen) as raised:
            late()
        assert raised.value.status is Status.UNKNOWN


def test_one_client_a_service_is_made_for_the_endpoint_that_is_given() -> None:
    session = FakeSession({"sts.who": {}})
    aws = Aws(session, MemoryClock(), "http://127.0.0.1:1")  # type: ignore[arg-type]
    aws.ask("sts", "Who", "me")
    aws.ask("sts", "Who", "me")
    assert session.endpoints == ["http://127.0.0.1:1"]


class _Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        assert self._is_signed_for_this_host()
        body = f"{self.headers['Host']} {self.path}".encode()
        self.send_response(403 if self.path == "/v1/handlers" else 200)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def _is_signed_for_this_host(self) -> bool:
        """Compute the signature as AWS would, of what came in and the secret of both sides."""
        request = AWSRequest("GET", f"http://{self.headers['Host']}{self.path}")
        request.context["timestamp"] = request.headers["X-Amz-Date"] = self.headers["X-Amz-Date"]
        auth = SigV4Auth(Credentials("testing", "testing"), "execute-api", REGION)
        text = auth.string_to_sign(request, auth.canonical_request(request))
        return self.headers["Authorization"].endswith(f"Signature={auth.signature(text, request)}")

    def log_message(self, format: str, *_: object) -> None:  # noqa: A002 (its parent's name)
        pass


@pytest.fixture
def api() -> Iterator[str]:
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), _Handler) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield f"127.0.0.1:{server.server_address[1]}"
        server.shutdown()
        thread.join()


def test_the_api_is_asked_with_a_signature_for_its_own_host(api: str) -> None:
    answer = fake_aws({}).get_from_api(f"http://{api}/", "/v1/health")
    assert (answer.status, answer.body) == (200, f"{api} /v1/health")
    assert (
        fake_aws({})
        .get_from_api(f"http://{api}/prod", "/v1/health")
        .body.endswith("/prod/v1/health")
    )
    assert fake_aws({}).get_from_api(f"http://{api}", "/v1/handlers").status == 403


def test_an_emulator_serves_the_api_by_its_own_address(api: str) -> None:
    aws = fake_aws({}, endpoint=f"http://{api}")
    answer = aws.get_from_api("https://abc.execute-api.eu-central-1.amazonaws.com", "/v1/health")
    assert answer.body == f"abc.execute-api.{api} /v1/health"


class LoggedOut(Credentials):
    def get_frozen_credentials(self) -> ReadOnlyCredentials:
        raise NoCredentialsError


@pytest.mark.parametrize(
    ("credentials", "seen"),
    [
        (LoggedOut("testing", "testing"), "GET /v1/health on the API could not be signed"),
        (None, "There are no AWS credentials to sign with"),
    ],
    ids=["logged out", "none"],
)
def test_a_request_of_the_api_that_cannot_be_signed_is_a_sentence(
    monkeypatch: pytest.MonkeyPatch, credentials: Credentials | None, seen: str
) -> None:
    monkeypatch.setattr(FakeSession, "get_credentials", lambda _: credentials)
    with pytest.raises(NotSeen, match=seen) as raised:
        fake_aws({}).get_from_api("https://api.invalid", "/v1/health")
    assert raised.value.fix.endswith(".")


def test_an_api_that_does_not_answer_is_a_sentence() -> None:
    with pytest.raises(NotSeen, match="GET /v1/health on the API had no answer"):
        fake_aws({}).get_from_api("http://127.0.0.1:1", "/v1/health")
