"""The events that Lambda functions are given, and what their answers mean.

HTTP requests become events as API Gateway makes them (HTTP API, payload format 2.0). Messages of
SQS do as in the AWS Lambda Developer Guide, "Using Lambda with Amazon SQS": a batch is done but
for the messages that the answer reports; an answer that makes no sense fails the whole batch.
"""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any
from urllib.parse import parse_qsl, unquote


def gateway_event(
    *,
    method: str,
    target: str,
    headers: Sequence[tuple[str, str]],
    body: bytes,
    request_id: str,
    now: datetime,
) -> dict[str, Any]:
    """Return the event for a request. ``target`` is the path and query as they were sent.

    API Gateway gives ``rawPath`` decoded, despite its name, and ``rawQueryString`` as sent.
    """
    raw_path, _, raw_query = target.partition("?")
    path = unquote(raw_path)
    merged = _merged(headers)
    cookies = [value for name, value in headers if name.lower() == "cookie"]
    event: dict[str, Any] = {
        "version": "2.0",
        "routeKey": "$default",
        "rawPath": path,
        "rawQueryString": raw_query,
        "headers": merged,
        "requestContext": {
            "accountId": "anonymous",
            "apiId": "local",
            "domainName": merged.get("host", ""),
            "domainPrefix": "local",
            "http": {
                "method": method,
                "path": path,
                "protocol": "HTTP/1.1",
                "sourceIp": "127.0.0.1",
                "userAgent": merged.get("user-agent", ""),
            },
            "requestId": request_id,
            "routeKey": "$default",
            "stage": "$default",
            "time": now.astimezone(UTC).strftime("%d/%b/%Y:%H:%M:%S +0000"),
            "timeEpoch": int(now.timestamp() * 1000),
        },
        "isBase64Encoded": False,
    }
    if raw_query:
        event["queryStringParameters"] = _joined(parse_qsl(raw_query, keep_blank_values=True))
    if cookies:
        event["cookies"] = cookies
    if body:
        event["body"], event["isBase64Encoded"] = _body(body)
    return event


def answer_body(answer: dict[str, Any]) -> bytes:
    """Return the bytes of the body that a function answered API Gateway with."""
    body = answer.get("body") or ""
    if answer.get("isBase64Encoded"):
        return base64.b64decode(body, validate=True)
    return str(body).encode()


def _body(body: bytes) -> tuple[str, bool]:
    try:
        return body.decode("utf-8"), False
    except UnicodeDecodeError:
        return base64.b64encode(body).decode(), True


def _merged(headers: Sequence[tuple[str, str]]) -> dict[str, str]:
    return _joined([(name.lower(), value) for name, value in headers if name.lower() != "cookie"])


def _joined(pairs: Sequence[tuple[str, str]]) -> dict[str, str]:
    joined: dict[str, str] = {}
    for name, value in pairs:
        joined[name] = f"{joined[name]},{value}" if name in joined else value
    return joined


def sqs_event(messages: Sequence[Mapping[str, Any]], queue_arn: str) -> dict[str, Any]:
    """Return the event for ``messages``, as ReceiveMessage returned them."""
    region = queue_arn.split(":")[3]
    return {"Records": [_record(message, queue_arn, region) for message in messages]}


def _record(message: Mapping[str, Any], queue_arn: str, region: str) -> dict[str, Any]:
    return {
        "messageId": message["MessageId"],
        "receiptHandle": message["ReceiptHandle"],
        "body": message["Body"],
        "attributes": dict(message.get("Attributes", {})),
        "messageAttributes": {},
        "md5OfBody": message.get("MD5OfBody", ""),
        "eventSource": "aws:sqs",
        "eventSourceARN": queue_arn,
        "awsRegion": region,
    }


def done_messages(messages: Sequence[Mapping[str, Any]], answer: Any) -> list[Mapping[str, Any]]:
    """Return the messages that are worked off and to be deleted."""
    reported = _reported_failures(answer)
    known = {message["MessageId"] for message in messages}
    if reported is None or not reported <= known:
        return []
    return [message for message in messages if message["MessageId"] not in reported]


def _reported_failures(answer: Any) -> set[str] | None:
    """Return the ids that the answer reports, or ``None`` where it makes no sense."""
    if answer is None:
        return set()
    if not isinstance(answer, dict):
        return None
    failures = answer.get("batchItemFailures")
    if failures is None:
        return set()
    if not isinstance(failures, list):
        return None
    reported: set[str] = set()
    for failure in failures:
        identifier = failure.get("itemIdentifier") if isinstance(failure, dict) else None
        if not isinstance(identifier, str) or not identifier:
            return None
        reported.add(identifier)
    return reported
