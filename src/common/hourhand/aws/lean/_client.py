"""The client itself: one operation is one method, by the names that boto3 gives them."""

from __future__ import annotations

import base64
import json
import threading
import time
import urllib.request
import zlib
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from typing import Any, Final
from urllib.parse import urlsplit

import orjson
from botocore.exceptions import BotoCoreError, ClientError, NoCredentialsError

from hourhand.aws.failures import CHECKSUM, UnreadableAnswer
from hourhand.aws.lean._lines import Answer, Endpoint
from hourhand.aws.lean._retries import RetryQuota, backoff_seconds, may_help
from hourhand.aws.lean._round import Flight, Lines, Request, Told
from hourhand.aws.lean._signature import Credentials, Signer

_FIRST_ERROR = 300
_QUERY_ERROR: Final = "x-amzn-query-error"

Failure = BotoCoreError | ClientError
"""What a call of boto3 raises."""


class NotLean(Exception):
    """botocore describes a service in a protocol that the lean client does not speak."""


class LeanClient:
    """Stands in for a boto3 client of a service that speaks AWS's JSON protocol.

    Arguments and answers are those of boto3, but that an answer may hold what boto3 leaves out.
    Bytes are sent as the base64 of the protocol, and stay base64 in an answer. ``credentials`` are
    asked for each request, since they may have been renewed; ``attempts`` counts the first try,
    too.
    ``is_query_compatible``: the service spoke another protocol before, and is asked for the codes
    of errors that it had then.
    """

    def __init__(
        self,
        *,
        endpoint: Endpoint,
        signer: Signer,
        target_prefix: str,
        json_version: str,
        is_query_compatible: bool = False,
        credentials: Callable[[], Credentials | None],
        attempts: int,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        """Call nothing yet."""
        self._lines = Lines(endpoint)
        self._signer = signer
        self._prefix = target_prefix
        self._headers = {"content-type": f"application/x-amz-json-{json_version}"}
        if is_query_compatible:
            self._headers["x-amzn-query-mode"] = "true"
        self._credentials = credentials
        self._attempts = attempts
        self._sleep = sleep
        self._quota = RetryQuota()

    # --- the operations ---

    def query(self, **arguments: Any) -> Any:
        """Call DynamoDB's Query."""
        return self._call("Query", arguments)

    def batch_get_item(self, **arguments: Any) -> Any:
        """Call DynamoDB's BatchGetItem."""
        return self._call("BatchGetItem", arguments)

    def batch_execute_statement(self, **arguments: Any) -> Any:
        """Call DynamoDB's BatchExecuteStatement."""
        return self._call("BatchExecuteStatement", arguments)

    def send_message_batch(self, **arguments: Any) -> Any:
        """Call SQS's SendMessageBatch."""
        return self._call("SendMessageBatch", arguments)

    def many(
        self,
        operation: str,
        asked: Sequence[Mapping[str, Any]],
        attempts: int | None = None,
        on_answer: Callable[[int], object] = int,
    ) -> list[Any | Failure]:
        """Call ``operation`` (as AWS spells it) with each of ``asked``, many at a time.

        Returns for each, in their order, its answer, or what calling it alone would raise. A call
        is made again where that may help, up to ``attempts`` times in all; it waits alone for that,
        and the others go on. ``on_answer`` is called with the place of each that was answered.
        """
        answers: list[Any | Failure] = [None] * len(asked)

        def note(index: int, answer: Any | Failure) -> None:
            answers[index] = answer
            on_answer(index)

        with closing(self.flight()) as flight:
            for index, arguments in enumerate(asked):
                noted = partial(note, index)
                self.begin(flight, operation, arguments, noted, attempts=attempts)
            flight.finish()
        return answers

    def flight(self) -> Flight:
        """Return what calls can be under way in beside one another."""
        return Flight(self._sleep)

    def begin(
        self,
        flight: Flight,
        operation: str,
        arguments: Mapping[str, Any],
        on_answer: Callable[[Any | Failure], None],
        *,
        wait_seconds: float = 0.0,
        attempts: int | None = None,
    ) -> None:
        """Call ``operation`` after a while, beside what else is under way in ``flight``.

        ``on_answer`` is called once, with the answer or the error that the call alone would raise.
        """
        request = partial(self._request, operation, arguments)
        tries = _Tries(attempts or self._attempts, self._quota)
        call = _UnderWay(flight, self._lines, request, operation, tries, on_answer)
        flight.begin(self._lines, request, call.receive, wait_seconds)

    def close(self) -> None:
        """Close the connections. No call may be under way."""
        self._lines.close()

    # --- a call, a round of calls ---

    def _call(self, operation: str, arguments: Mapping[str, Any]) -> Any:
        """Make one call; raises botocore's exceptions."""
        tries = _Tries(self._attempts, self._quota)
        for _ in range(self._attempts):
            (answer,) = self._lines.post_many(1, lambda _: self._request(operation, arguments))
            understood = _understood(answer, operation)
            wait_seconds = tries.wait_after(understood)
            if wait_seconds is None:
                break
            self._sleep(wait_seconds)
        if isinstance(understood, Failure):
            raise understood
        return understood

    def _request(self, operation: str, arguments: Mapping[str, Any]) -> Request:
        credentials = self._credentials()
        if credentials is None:
            raise NoCredentialsError
        body = _json(arguments)
        headers = {**self._headers, "x-amz-target": f"{self._prefix}.{operation}"}
        return self._signer.signed(headers, body, credentials, datetime.now(UTC)), body


def _json(arguments: Mapping[str, Any]) -> bytes:
    try:
        return orjson.dumps(arguments, default=_base64)
    except TypeError:
        # A half of a character, that UTF-8 has no bytes for: whether it will do is AWS's to say.
        return json.dumps(arguments, separators=(",", ":"), default=_base64).encode()


def _base64(value: object) -> str:
    """Return bytes as the protocol has them. Raises `TypeError` for what JSON cannot hold."""
    if not isinstance(value, bytes):
        raise TypeError(f"JSON cannot hold {value!r}")
    return base64.b64encode(value).decode()


class _Tries:
    """How often one call was made, and what it took from the quota for that."""

    def __init__(self, most: int, quota: RetryQuota) -> None:
        self._left = most
        self._made = 0
        self._quota = quota
        self._spent = 0

    def wait_after(self, answer: Any | Failure) -> float | None:
        """Return after how many seconds to try again; ``None``: this answer is final."""
        self._made += 1
        self._left -= 1
        if not isinstance(answer, Failure):
            self._quota.refund(self._spent)
            return None
        if self._left == 0 or not may_help(answer):
            return None
        self._spent = self._quota.spend(answer)
        return backoff_seconds(self._made, answer) if self._spent > 0 else None


@dataclass(slots=True)
class _UnderWay:
    """A call that is made beside others, again as long as that may help."""

    flight: Flight
    lines: Lines
    request: Callable[[], Request]
    operation: str
    tries: _Tries
    on_answer: Callable[[Any | Failure], None]

    def receive(self, answer: Told) -> None:
        """Pass the answer on, or make the call once more after a while."""
        understood = _understood(answer, self.operation)
        wait_seconds = self.tries.wait_after(understood)
        if wait_seconds is None:
            self.on_answer(understood)
        else:
            self.flight.begin(self.lines, self.request, self.receive, wait_seconds)


def _understood(answer: Told, operation: str) -> Any | Failure:
    if not isinstance(answer, Answer):
        return answer
    if answer.status >= _FIRST_ERROR:
        return ClientError(_error_of(answer), operation)
    checksum = answer.headers.get(CHECKSUM)
    if checksum is not None and checksum != str(zlib.crc32(answer.body)):
        return UnreadableAnswer(operation=operation, reason="its checksum is another")
    try:
        read = _read(answer.body)
    except ValueError:
        return UnreadableAnswer(operation=operation, reason="it is not JSON")
    if not isinstance(read, dict):
        return UnreadableAnswer(operation=operation, reason="it is not an object")
    # As botocore does: AWS sends null for a field that it leaves out.
    return {name: value for name, value in read.items() if value is not None}


def _read(body: bytes) -> Any:
    """Read JSON; raises `ValueError`."""
    try:
        return orjson.loads(body)
    except ValueError:
        # Half a character: what was sent as such comes back.
        return json.loads(body.decode())


def _error_of(answer: Answer) -> Any:
    """Return what boto3 shows of an error: its code, its message, and what AWS adds to it."""
    try:
        fields = _read(answer.body)
    except ValueError:
        fields = None
    if not isinstance(fields, dict):
        fields = {"message": answer.body.decode(errors="replace")}
    code = str(fields.pop("__type", None) or answer.status).partition(":")[0].rpartition("#")[2]
    message = fields.pop("message", None) or fields.pop("Message", None) or ""
    error = {"Code": code, "Message": message}
    # Here SQS gives the codes of its older protocol, by which boto3 knows them.
    older, *rest = answer.headers.get(_QUERY_ERROR, "").split(";")
    if older and len(rest) == 1:
        error = {"Code": older, "Message": message, "QueryErrorCode": code, "Type": rest[0]}
    return {
        **fields,
        "Error": error,
        "ResponseMetadata": {
            "HTTPStatusCode": answer.status,
            "RequestId": answer.headers.get("x-amzn-requestid", ""),
        },
    }


def lean_or_same(client: Any, credentials: Callable[[], Any], certificates: str) -> Any:
    """Return a lean client in the place of a boto3 client, or ``client`` where it is needed.

    ``credentials``: botocore's, asked at the first call, since finding them may take requests.
    ``certificates``: the file of the authorities to trust. Behind a proxy the boto3 client stays:
    it knows how to speak to one.

    Raises `NotLean` where the botocore of ``client`` describes its service in another protocol
    (SQS was described as "query" up to 1.34), and anything at all where that botocore is of an
    unknown kind: `hourhand.aws.clients.bulk_of` then keeps ``client``.
    """
    meta = client.meta
    parts = urlsplit(meta.endpoint_url)
    if _goes_by_proxy(parts.scheme, parts.hostname or "") or parts.path not in {"", "/"}:
        return client
    endpoint = Endpoint(
        url=meta.endpoint_url,
        connect_timeout=meta.config.connect_timeout,
        read_timeout=meta.config.read_timeout,
        certificates=certificates,
    )
    model = meta.service_model
    _require_json(model)
    return LeanClient(
        endpoint=endpoint,
        signer=Signer(model.signing_name, meta.region_name, endpoint.host),
        target_prefix=model.metadata["targetPrefix"],
        json_version=model.metadata["jsonVersion"],
        is_query_compatible="awsQueryCompatible" in model.metadata,
        credentials=_frozen(credentials),
        attempts=meta.config.retries["total_max_attempts"],
    )


def _require_json(model: Any) -> None:
    metadata = model.metadata
    # botocore names one protocol that it speaks, and of late all that the service does.
    protocols = {metadata.get("protocol"), *metadata.get("protocols", ())}
    if "json" not in protocols:
        raise NotLean(f"botocore describes {model.service_name} as {metadata.get('protocol')}")


def _frozen(credentials: Callable[[], Any]) -> Callable[[], Credentials | None]:
    """Return the way to the credentials of the moment; botocore renews them when they end."""
    found: list[Any] = []
    finding = threading.Lock()

    def freeze() -> Credentials | None:
        if not found:
            with finding:
                found.append(credentials())
        frozen: Credentials | None = found[0].get_frozen_credentials() if found[0] else None
        return frozen

    return freeze


def _goes_by_proxy(scheme: str, host: str) -> bool:
    return scheme in urllib.request.getproxies() and not urllib.request.proxy_bypass(host)
