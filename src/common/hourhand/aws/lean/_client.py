"""The client itself: one operation is one method, by the names that boto3 gives them."""

from __future__ import annotations

import json
import threading
import time
import urllib.request
import zlib
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, Final
from urllib.parse import urlsplit

import orjson
from botocore.exceptions import BotoCoreError, ClientError, NoCredentialsError

from hourhand.aws.failures import UnreadableAnswer
from hourhand.aws.lean._lines import Answer, Endpoint
from hourhand.aws.lean._retries import RetryQuota, backoff_seconds, may_help
from hourhand.aws.lean._round import Lines, Request
from hourhand.aws.lean._signing import Credentials, Signer

_FIRST_ERROR = 300
_CHECKSUM: Final = "x-amz-crc32"
_QUERY_ERROR: Final = "x-amzn-query-error"

Failure = BotoCoreError | ClientError
"""What a call of boto3 raises."""


class LeanClient:
    """Stands in for a boto3 client of a service that speaks AWS's JSON protocol.

    Arguments and answers are those of boto3, but that an answer may hold what boto3 leaves out.
    Binary attributes are not translated: nothing of ours is binary. ``credentials`` are asked for
    each request, since they may have been renewed; ``attempts`` counts the first try, too.
    """

    def __init__(
        self,
        *,
        endpoint: Endpoint,
        signer: Signer,
        target_prefix: str,
        json_version: str,
        credentials: Callable[[], Credentials | None],
        attempts: int,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        """Call nothing yet."""
        self._lines = Lines(endpoint)
        self._signer = signer
        self._prefix = target_prefix
        self._content_type = f"application/x-amz-json-{json_version}"
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

    def many(self, operation: str, asked: Sequence[Mapping[str, Any]]) -> list[Any | Failure]:
        """Call ``operation`` (as AWS spells it) with each of ``asked``, many at a time.

        Returns for each, in their order, its answer, or what calling it alone would raise. Calls
        are made again where that may help: all of them together, after one wait.
        """
        told: list[Any | Failure] = [None] * len(asked)
        spent = [0] * len(asked)
        left = list(range(len(asked)))
        for tries in range(1, self._attempts + 1):
            for index, answer in zip(left, self._exchange(operation, asked, left), strict=True):
                told[index] = answer
                if not isinstance(answer, Failure):
                    self._quota.refund(spent[index])
            if tries == self._attempts:
                break
            left = [index for index in left if self._spends(index, told[index], spent)]
            if not left:
                break
            self._sleep(backoff_seconds(tries, [told[index] for index in left]))
        return told

    def close(self) -> None:
        """Close the connections. No call may be under way."""
        self._lines.close()

    # --- a call, a round of calls ---

    def _call(self, operation: str, arguments: Mapping[str, Any]) -> Any:
        """Make one call; raises botocore's exceptions."""
        (told,) = self.many(operation, [arguments])
        if isinstance(told, Failure):
            raise told
        return told

    def _spends(self, index: int, told: Any | Failure, spent: list[int]) -> bool:
        """Whether a call is made again, for which a part of the quota is spent."""
        if not isinstance(told, Failure) or not may_help(told):
            return False
        spent[index] = self._quota.spend(told)
        return spent[index] > 0

    def _exchange(
        self, operation: str, asked: Sequence[Mapping[str, Any]], which: Sequence[int]
    ) -> list[Any | Failure]:
        """Ask for ``which`` of ``asked`` once; return what was told of each."""

        def request(number: int) -> Request:
            return self._request(operation, asked[which[number]])

        answers = self._lines.post_many(len(which), request)
        return [
            _understood(told, operation) if isinstance(told, Answer) else told for told in answers
        ]

    def _request(self, operation: str, arguments: Mapping[str, Any]) -> Request:
        credentials = self._credentials()
        if credentials is None:
            raise NoCredentialsError
        body = _json(arguments)
        headers = {
            "content-type": self._content_type,
            "x-amz-target": f"{self._prefix}.{operation}",
        }
        return self._signer.signed(headers, body, credentials, datetime.now(UTC)), body


def _json(arguments: Mapping[str, Any]) -> bytes:
    try:
        return orjson.dumps(arguments)
    except TypeError:
        # A half of a character, that UTF-8 has no bytes for: whether it will do is AWS's to say.
        return json.dumps(arguments, separators=(",", ":")).encode()


def _understood(answer: Answer, operation: str) -> Any | Failure:
    if answer.status >= _FIRST_ERROR:
        return ClientError(_error_of(answer), operation)
    checksum = answer.headers.get(_CHECKSUM)
    if checksum is not None and checksum != str(zlib.crc32(answer.body)):
        return UnreadableAnswer(operation=operation, reason="its checksum is another")
    try:
        read = _read(answer.body)
    except ValueError:
        return UnreadableAnswer(operation=operation, reason="it is not JSON")
    if not isinstance(read, dict):
        return UnreadableAnswer(operation=operation, reason="it is not an object")
    # As botocore has it: AWS says null for what it does not tell.
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
        told = _read(answer.body)
    except ValueError:
        told = None
    if not isinstance(told, dict):
        told = {"message": answer.body.decode(errors="replace")}
    code = str(told.pop("__type", None) or answer.status).partition(":")[0].rpartition("#")[2]
    # SQS tells here the codes that it had before it spoke JSON, by which boto3 knows them.
    older, _, _ = answer.headers.get(_QUERY_ERROR, "").partition(";")
    message = told.pop("message", None) or told.pop("Message", None) or ""
    return {
        **told,
        "Error": {"Code": older or code, "Message": message},
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
    return LeanClient(
        endpoint=endpoint,
        signer=Signer(model.signing_name, meta.region_name, endpoint.host),
        target_prefix=model.metadata["targetPrefix"],
        json_version=model.metadata["jsonVersion"],
        credentials=_frozen(credentials),
        attempts=meta.config.retries["total_max_attempts"],
    )


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
