"""Calls of AWS by the thousand: side by side where a lean client makes them, else in turn."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from botocore.exceptions import BotoCoreError, ClientError

from hourhand.aws.lean import Failure, LeanClient

C = TypeVar("C")

_METHODS = {
    "BatchExecuteStatement": "batch_execute_statement",
    "BatchGetItem": "batch_get_item",
    "Query": "query",
    "SendMessageBatch": "send_message_batch",
}


@dataclass(frozen=True, slots=True)
class Bulk(Generic[C]):
    """The client for the calls that a sweep makes by the thousand: boto3's, or a lean one."""

    client: C

    def each(self, operation: str, asked: Sequence[Mapping[str, Any]]) -> list[Any | Failure]:
        """Call ``operation`` with each of ``asked``; return its answers or errors, in their order.

        Once nobody answers, the rest is not tried: it is told the same.
        """
        if isinstance(self.client, LeanClient):
            return self.client.many(operation, asked)
        method = getattr(self.client, _METHODS[operation])
        told: list[Any | Failure] = []
        for arguments in asked:
            if told and isinstance(told[-1], BotoCoreError):
                told.append(told[-1])
                continue
            try:
                told.append(method(**arguments))
            except (BotoCoreError, ClientError) as error:
                told.append(error)
        return told
