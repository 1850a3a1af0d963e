"""What is called: by which function, which operation, on what; and in which shapes."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

PRIORITIES = ("high", "medium", "low")
QUEUES = "queues"
"""The three priority queues, which no code tells apart."""

_DIGITS = re.compile(r"\d+")
_TABLE = re.compile(r'"(?P<table>[^"]+)"')
_EXPRESSIONS = (
    "UpdateExpression",
    "ConditionExpression",
    "KeyConditionExpression",
    "Select",
)


@dataclass(frozen=True, order=True, slots=True)
class Call:
    """One row of the table: ``function`` calls ``operation`` of ``service`` on ``resource``."""

    function: str
    service: str
    operation: str
    resource: str

    def __str__(self) -> str:
        return f"{self.function}: {self.operation} on {self.resource}"


def resource_of(service: str, params: Mapping[str, Any], prefix: str) -> str:
    """Return what a call is made on, by the installation's name for it."""
    if service == "cloudwatch":
        return "metrics"
    if service == "lambda":
        return "scheduler"
    if service == "logs":
        return str(params["logGroupName"]).rpartition(f"{prefix}-")[2]
    return _READERS[service](params, prefix)


def _table(params: Mapping[str, Any], prefix: str) -> str:
    if "RequestItems" in params:
        (table,) = params["RequestItems"]
    elif "Statements" in params:
        found = _TABLE.search(params["Statements"][0]["Statement"])
        assert found is not None
        table = found["table"]
    else:
        table = params["TableName"]
    index = f" ({params['IndexName']})" if "IndexName" in params else ""
    return str(table).removeprefix(f"{prefix}-") + index


def _queue(params: Mapping[str, Any], prefix: str) -> str:
    name = str(params["QueueUrl"]).rpartition("/")[2].removeprefix(f"{prefix}-")
    return QUEUES if name in PRIORITIES else name


def _bucket(params: Mapping[str, Any], prefix: str) -> str:
    return str(params["Bucket"]).removeprefix(f"{prefix}-")


_READERS = {"dynamodb": _table, "sqs": _queue, "s3": _bucket}


def shape_of(params: Mapping[str, Any]) -> str:
    """Return what tells one kind of request from another: its expressions and kind of key."""
    parts = [str(params[name]) for name in _EXPRESSIONS if name in params]
    if "Statements" in params:
        parts.append(params["Statements"][0]["Statement"])
    key = params.get("Key") or params.get("Item")
    if isinstance(key, Mapping):
        parts.append(_kind_of_key(key))
    return _DIGITS.sub("", " / ".join(parts))


def _kind_of_key(key: Mapping[str, Any]) -> str:
    """The kinds of items: by the first letter of the sort key, or else by the partition's name."""
    if "s" in key:
        return str(key["s"]["S"])[:1]
    name = str(key["p"]["S"])
    return name if name.isalpha() or name.startswith("lease.") else ""
