"""The client itself: one operation is one method, by the names that boto3 gives them."""

from __future__ import annotations

import json
import threading
import time
import urllib.request
import zlib
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any, Final
from urllib.parse import urlsplit

from botocore.exceptions import BotoCoreError, ClientError, NoCredentialsError

from hourhand.aws.failures import UnreadableAnswer
from hourhand.aws.lean._connections import Answer, Connections, Endpoint
from hourhand.aws.lean._retries import RetryQuota, backoff_seconds, may_help
from hourhand.aws.lean._signing import Credentials, Signer

_FIRST_ERROR = 300
_CHECKSUM: Final = "x-amz-crc32"
_QUERY_ERROR: Final = "x-amzn-query-error"


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
        self._connections = Connections(endpoint)
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

    def close(self) -> None:
        """Close the connections. No call may be under way."""
        self._connections.close()

    # --- one call ---

    def _call(self, operation: str, arguments: Mapping[str, Any]) -> Any:
        """Make a call, and make it again where that may help.

        Raises botocore's `ClientError` for what AWS refuses, and its other exceptions where
        there was no answer that can be read.
        """
        body = json.dumps(arguments, separators=(",", ":")).encode()
        spent = 0
        for tries in range(1, self._attempts + 1):
            try:
                answer = self._exchange(operation, body)
            except (BotoCoreError, ClientError) as error:
                if tries == self._attempts or not may_help(error):
                    raise
                spent = self._quota.spend(error)
                if spent == 0:
                    raise
                self._sleep(backoff_seconds(tries))
            else:
                self._quota.refund(spent)
                return answer
        raise AssertionError("a call has at least one try")

    def _exchange(self, operation: str, body: bytes) -> Any:
        credentials = self._credentials()
        if credentials is None:
            raise NoCredentialsError
        headers = {
            "content-type": self._content_type,
            "x-amz-target": f"{self._prefix}.{operation}",
        }
        signed = self._signer.signed(headers, body, credentials, datetime.now(UTC))
        answer = self._connections.post(signed, body)
        if answer.status >= _FIRST_ERROR:
            raise ClientError(_error_of(answer), operation)
        return _read(answer, operation)


def _read(answer: Answer, operation: str) -> Any:
    checksum = answer.headers.get(_CHECKSUM)
    if checksum is not None and checksum != str(zlib.crc32(answer.body)):
        raise UnreadableAnswer(operation=operation, reason="its checksum is another")
    try:
        read = json.loads(answer.body)
    except ValueError as error:
        raise UnreadableAnswer(operation=operation, reason="it is not JSON") from error
    if not isinstance(read, dict):
        raise UnreadableAnswer(operation=operation, reason="it is not an object")
    return read


def _error_of(answer: Answer) -> Any:
    """Return what boto3 shows of an error: its code, its message, and what AWS adds to it."""
    try:
        told = json.loads(answer.body)
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
