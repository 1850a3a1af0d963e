"""The loops that ours is compared with: boto3 and 16 threads.

They do the same work in the same order, as a developer would write it who knows AWS well: pages of
the index, base items a hundred at a time, messages ten at a time, and the mark under the same
condition: one UpdateItem a job (`PlainLoop`), or 25 PartiQL statements to a call as ours
(`BatchedLoop`). Their client is boto3's own with room for its threads.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import Any

import boto3
from botocore.config import Config
from botocore.exceptions import ClientError

from bench.dispatch.load import JOBS_TABLE, Load

THREADS = 16
PAGE = 500
KEYS = 100
MESSAGES = 10
STATEMENTS = 25
TRIES = 4
"""Of a call, as ours has, and in `BatchedLoop` of the parts of a batch that were put off."""

MARK = (
    f'UPDATE "{JOBS_TABLE}" SET "t" = ? SET "q" = ? SET "h"[9000] = ? '  # noqa: S608 (our table)
    'WHERE "p" = ? AND "s" = ? AND "t" IN [?, ?] AND "g" = ? AND "q" IS MISSING'
)

Item = dict[str, Any]


class PlainLoop:
    """Dispatches the jobs of some shards."""

    def __init__(self, load: Load, queue_urls: dict[str, str]) -> None:
        retries: Any = {"mode": "standard", "total_max_attempts": TRIES}
        config = Config(max_pool_connections=THREADS, retries=retries)
        self._dynamodb = boto3.client("dynamodb", config=config)
        self._sqs = boto3.client("sqs", config=config)
        self._load = load
        self._url = queue_urls["medium"]
        self._pool = ThreadPoolExecutor(THREADS)

    def run(self, shards: Sequence[int]) -> tuple[int, int]:
        """Sweep every bucket of ``shards``; return how many jobs were read, and how many sent."""
        read, sent = 0, 0
        for bucket in self._load.buckets():
            for shard in shards:
                for job_ids in self._pages(f"{bucket}.{shard}"):
                    read += len(job_ids)
                    sent += self._dispatch(self._read(job_ids))
        return read, sent

    def _pages(self, partition: str) -> Iterator[list[str]]:
        asked: dict[str, Any] = {
            "TableName": JOBS_TABLE,
            "IndexName": "run_at",
            "KeyConditionExpression": "b = :bucket",
            "ExpressionAttributeValues": {":bucket": {"S": partition}},
            "Limit": PAGE,
        }
        for _ in range(100_000):
            page = self._dynamodb.query(**asked)
            yield [item["p"]["S"] for item in page["Items"]]
            if "LastEvaluatedKey" not in page:
                return
            asked["ExclusiveStartKey"] = page["LastEvaluatedKey"]

    def _read(self, job_ids: list[str]) -> list[Item]:
        chunks = [job_ids[at : at + KEYS] for at in range(0, len(job_ids), KEYS)]
        return [item for items in self._pool.map(self._read_chunk, chunks) for item in items]

    def _read_chunk(self, job_ids: list[str]) -> list[Item]:
        keys = [{"p": {"S": job_id}, "s": {"S": "J"}} for job_id in job_ids]
        found: list[Item] = []
        while keys:
            asked: Any = {JOBS_TABLE: {"Keys": keys, "ConsistentRead": True}}
            answer: Any = self._dynamodb.batch_get_item(RequestItems=asked)
            found += answer["Responses"][JOBS_TABLE]
            keys = answer.get("UnprocessedKeys", {}).get(JOBS_TABLE, {}).get("Keys", [])
        return found

    def _dispatch(self, items: list[Item]) -> int:
        chunks = [items[at : at + MESSAGES] for at in range(0, len(items), MESSAGES)]
        accepted = [item for sent in self._pool.map(self._send, chunks) for item in sent]
        self._mark_all(accepted)
        return len(accepted)

    def _mark_all(self, items: list[Item]) -> None:
        list(self._pool.map(self._mark, items))

    def _send(self, items: list[Item]) -> list[Item]:
        now_ms = time.time() * 1000
        entries: Any = [
            {
                "Id": str(place),
                "MessageBody": json.dumps({"job": item["p"]["S"], "generation": item["g"]["N"]}),
                "DelaySeconds": max(0, int((int(item["k"]["N"]) - now_ms) / 1000)),
            }
            for place, item in enumerate(items)
        ]
        answer: Any = self._sqs.send_message_batch(QueueUrl=self._url, Entries=entries)
        return [items[int(sent["Id"])] for sent in answer["Successful"]]

    def _mark(self, item: Item) -> None:
        now_ms = str(int(time.time() * 1000))
        self._dynamodb.update_item(
            TableName=JOBS_TABLE,
            Key={"p": item["p"], "s": item["s"]},
            ConditionExpression="t IN (:pending, :retrying) AND g = :g AND attribute_not_exists(q)",
            UpdateExpression="SET t = :enqueued, q = :now, h = list_append(h, :event)",
            ExpressionAttributeValues={
                ":pending": {"S": "PENDING"},
                ":retrying": {"S": "RETRYING"},
                ":g": item["g"],
                ":enqueued": {"S": "ENQUEUED"},
                ":now": {"N": now_ms},
                ":event": {"L": [{"S": f"sent at {now_ms}"}]},
            },
        )


class BatchedLoop(PlainLoop):
    """Marks by PartiQL, 25 to a call; what four tries did not do is left to the next tick."""

    def _pages(self, partition: str) -> Iterator[list[str]]:
        with suppress(ClientError):
            yield from super()._pages(partition)

    def _read_chunk(self, job_ids: list[str]) -> list[Item]:
        with suppress(ClientError):
            return super()._read_chunk(job_ids)
        return []

    def _send(self, items: list[Item]) -> list[Item]:
        accepted: list[Item] = []
        with suppress(ClientError):
            for _ in range(TRIES):
                accepted += super()._send(items)
                ids = {item["p"]["S"] for item in accepted}
                items = [item for item in items if item["p"]["S"] not in ids]
                if not items:
                    break
        return accepted

    def _mark_all(self, items: list[Item]) -> None:
        chunks = [items[at : at + STATEMENTS] for at in range(0, len(items), STATEMENTS)]
        list(self._pool.map(self._mark_chunk, chunks))

    def _mark_chunk(self, items: list[Item]) -> None:
        statements: Any = [_statement(item) for item in items]
        with suppress(ClientError):
            for _ in range(TRIES):
                answer: Any = self._dynamodb.batch_execute_statement(Statements=statements)
                statements = [
                    statement
                    for statement, said in zip(statements, answer["Responses"], strict=True)
                    if said.get("Error", {}).get("Code") == "ThrottlingError"
                ]
                if not statements:
                    return


def _statement(item: Item) -> Any:
    now_ms = str(int(time.time() * 1000))
    new = [{"S": "ENQUEUED"}, {"N": now_ms}, {"S": f"sent at {now_ms}"}]
    is_as_read = [item["p"], item["s"], {"S": "PENDING"}, {"S": "RETRYING"}, item["g"]]
    return {"Statement": MARK, "Parameters": [*new, *is_as_read]}
