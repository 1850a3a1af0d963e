"""Which rights the calls of boto3's clients ask for: action and resource, by AWS's own rules."""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Iterator, Mapping
from types import SimpleNamespace
from typing import Any

Right = tuple[str, str]
"""An IAM action, and what it is done to by the name that the installation has for it."""

_STATEMENTS = re.compile(r'(UPDATE|INSERT INTO) "([^"]+)"')
_PARTIQL = {"UPDATE": "PartiQLUpdate", "INSERT INTO": "PartiQLInsert"}
_QUEUE_ACTIONS = {"SendMessageBatch": "SendMessage"}
"""What is asked for by another name than the operation's (Service Authorization Reference)."""


class RecordedCalls:
    """Watches clients; what they ask for goes to the account of the function that runs."""

    def __init__(self, prefix: str) -> None:
        self.function = ""
        self.invocations: list[dict[str, Any]] = []
        self.is_beaten = threading.Event()
        self._prefix = prefix
        self._lock = threading.Lock()
        self._made: dict[str, set[Right]] = {}
        self._hides = 0

    def watch(self, client: Any) -> Any:
        """Note every call of ``client``; answer those that no emulator here does."""
        events = client.meta.events
        events.register("before-parameter-build", self._note)
        events.register("before-call.lambda.Invoke", self._accept_invocation)
        events.register("before-call.cloudwatch.GetMetricData", _know_no_ages)
        events.register("before-call.dynamodb.BatchExecuteStatement", _leave_open)
        return client

    def rights_of(self, function: str) -> set[Right]:
        """Return what a function asked for."""
        return set(self._made[function])

    def _note(self, params: Mapping[str, Any], model: Any, **_: Any) -> None:
        service, operation = model.service_model.service_name, model.name
        rights = list(_RIGHTS[service](operation, params, self._name))
        with self._lock:
            account = self._made.setdefault(self.function, set())
            account.update(rights)
        if operation == "ChangeMessageVisibility" and self._is_second():
            self.is_beaten.set()

    def _is_second(self) -> bool:
        # The first is made before the claim, the others with heartbeats.
        self._hides += 1
        return self._hides > 1

    def begin(self, function: str) -> None:
        """From now on ``function`` runs."""
        self.function = function
        self._hides = 0
        self.is_beaten.clear()

    def _name(self, full: str) -> str:
        return full.rpartition("/")[2].rpartition(":")[2].removeprefix(f"{self._prefix}-")

    def _accept_invocation(self, params: Mapping[str, Any], **_: Any) -> Any:
        self.invocations.append(json.loads(params["body"]))
        return SimpleNamespace(status_code=202), {"StatusCode": 202}


def _know_no_ages(**_: Any) -> Any:
    return SimpleNamespace(status_code=200), {"MetricDataResults": []}


def _leave_open(params: Mapping[str, Any], **_: Any) -> Any:
    # moto would do nothing and say that it did; what is left open is made one by one. A throttle is
    # not: it goes into the next batch, again and again.
    count = len(json.loads(params["body"])["Statements"])
    error = {"Error": {"Code": "ValidationError"}}
    return SimpleNamespace(status_code=200, headers={}), {"Responses": [error] * count}


def _dynamodb(operation: str, params: Mapping[str, Any], name: Any) -> Iterator[Right]:
    if operation == "BatchGetItem":
        for table in params["RequestItems"]:
            yield "dynamodb:BatchGetItem", name(table)
    elif operation == "BatchExecuteStatement":
        for statement in params["Statements"]:
            match = _STATEMENTS.match(statement["Statement"])
            assert match is not None, statement
            yield f"dynamodb:{_PARTIQL[match[1]]}", name(match[2])
    else:
        index = f"/index/{params['IndexName']}" if "IndexName" in params else ""
        yield f"dynamodb:{operation}", name(params["TableName"]) + index


def _sqs(operation: str, params: Mapping[str, Any], name: Any) -> Iterator[Right]:
    yield f"sqs:{_QUEUE_ACTIONS.get(operation, operation)}", name(params["QueueUrl"])


def _s3(operation: str, params: Mapping[str, Any], name: Any) -> Iterator[Right]:
    objects = f"{name(params['Bucket'])}/*"
    if operation == "CopyObject":
        # Tags that are replaced are not read ("Required permissions for S3 API operations").
        assert params["TaggingDirective"] == "REPLACE"
        yield "s3:GetObject", objects
        yield "s3:PutObject", objects
    else:
        yield f"s3:{operation}", objects
    if "Tagging" in params:
        yield "s3:PutObjectTagging", objects


def _lambda(operation: str, params: Mapping[str, Any], name: Any) -> Iterator[Right]:
    assert operation == "Invoke"
    function, _, alias = params["FunctionName"].rpartition(":")
    yield "lambda:InvokeFunction", f"{name(function)}:{alias}"


def _cloudwatch(operation: str, params: Mapping[str, Any], name: Any) -> Iterator[Right]:
    yield f"cloudwatch:{operation}", "*"


def _logs(operation: str, params: Mapping[str, Any], name: Any) -> Iterator[Right]:
    assert name(params["logGroupName"]) == "worker"
    yield f"logs:{operation}", "logs"


_RIGHTS = {
    "dynamodb": _dynamodb,
    "sqs": _sqs,
    "s3": _s3,
    "lambda": _lambda,
    "cloudwatch": _cloudwatch,
    "logs": _logs,
}
