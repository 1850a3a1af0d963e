"""dramatiq's side: SQS as its broker by dramatiq-sqs, with the middleware of that one's README.

dramatiq brings no result backend for DynamoDB. So that its work is the same, one is made here on
its own base class: one ``PutItem`` a result.

``python -m bench.peers.dramatiq_side`` submits; ``python -m dramatiq bench.peers.dramatiq_side``
works. Both under the Python of ``.venv-peers``.
"""

from __future__ import annotations

import json
import os
import time
from typing import Any

import boto3
import dramatiq  # type: ignore[import-not-found]  # it lives in .venv-peers alone
from dramatiq.middleware import (  # type: ignore[import-not-found]  # so does this
    AgeLimit,
    Callbacks,
    Pipelines,
    Retries,
    TimeLimit,
)
from dramatiq.results import (  # type: ignore[import-not-found]  # so does this
    Missing,
    ResultBackend,
    Results,
)
from dramatiq_sqs import SQSBroker  # type: ignore[import-not-found]  # so does this

from bench.peers import runs
from bench.peers.submitting import Send, serve

VISIBILITY_SECONDS = os.environ.get("PEERS_VISIBILITY_SECONDS")


class DynamoResults(ResultBackend):  # type: ignore[misc]  # dramatiq is not there to be checked
    """Results as items of a table, by the keys that dramatiq makes."""

    def __init__(self, table: str) -> None:
        super().__init__()
        self._client = boto3.client("dynamodb")
        self._table = table

    def _get(self, message_key: str) -> Any:
        found = self._client.get_item(TableName=self._table, Key={"id": {"S": message_key}})
        return json.loads(found["Item"]["result"]["S"]) if "Item" in found else Missing

    def _store(self, message_key: str, result: Any, ttl: int) -> None:
        item = {
            "id": {"S": message_key},
            "result": {"S": json.dumps(result)},
            "ttl": {"N": str(int(time.time()) + ttl // 1000)},
        }
        self._client.put_item(TableName=self._table, Item=item)


middleware = [
    AgeLimit(),
    TimeLimit(),
    Callbacks(),
    Pipelines(),
    Retries(min_backoff=1000, max_backoff=900000, max_retries=96),
    Results(backend=DynamoResults(os.environ["PEERS_TABLE"]), store_results=True),
]
visibility = {"visibility_timeout": int(VISIBILITY_SECONDS)} if VISIBILITY_SECONDS else {}
broker = SQSBroker(middleware=middleware, **visibility)
dramatiq.set_broker(broker)


@dramatiq.actor(queue_name=os.environ["PEERS_QUEUE"], actor_name="work")  # type: ignore[untyped-decorator]  # as above
def work(name: str, seconds: float) -> dict[str, str]:
    return runs.work(name, seconds)


def send(name: str, delay: float, seconds: float) -> None:
    """Submit one message."""
    work.send_with_options(args=(name, seconds), delay=int(delay * 1000) or None)


if __name__ == "__main__":
    sender: Send = send
    serve(sender)
