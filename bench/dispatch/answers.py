"""What the stand-in answers: the items, their conditions and the queues."""

from __future__ import annotations

import hashlib
import random
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from typing import Any

import orjson

from bench.dispatch.expressions import Plan, plan_of_statement, plan_of_update
from bench.dispatch.load import Load
from hourhand.aws.layout.jobs import job_to_item

Item = dict[str, Any]
MESSAGES_PER_BATCH = 10
STATEMENTS_PER_BATCH = 25
KEYS_PER_BATCH = 100


class Refusal(Exception):
    """AWS refuses a call."""

    def __init__(self, code: str, message: str, **more: Any) -> None:
        super().__init__(code)
        self.body = {"__type": f"aws#{code}", "message": message, **more}


def invalid(message: str) -> Refusal:
    return Refusal("ValidationException", message)


@dataclass(slots=True)
class Tables:
    """The jobs table, its ``run_at`` index, and what was sent."""

    items: dict[str, Item]
    texts: dict[str, bytes]
    index: dict[str, list[tuple[int, str]]]
    partial: float
    randomness: random.Random
    sent: Counter[str] = field(default_factory=Counter)
    marked: int = 0
    plans: dict[str, Plan] = field(default_factory=dict)

    @classmethod
    def of(
        cls, jobs: int, shards: int, now_ms: int, partial: float, randomness: random.Random
    ) -> Tables:
        """Return the tables that hold a load, none of it sent."""
        items: dict[str, Item] = {}
        index: dict[str, list[tuple[int, str]]] = defaultdict(list)
        for job in Load(jobs, shards, now_ms).each():
            item: Any = job_to_item(job)
            items[job.id] = item
            index[item["b"]["S"]].append((int(item["k"]["N"]), job.id))
        for entries in index.values():
            entries.sort()
        texts = {job_id: orjson.dumps(item) for job_id, item in items.items()}
        return cls(items, texts, dict(index), partial, randomness)

    def statistics(self) -> dict[str, Any]:
        """Say what became of the jobs."""
        return {
            "sent": len(self.sent),
            "messages": self.sent.total(),
            "marked": self.marked,
        }

    # --- DynamoDB ---

    def query(self, asked: Any) -> bytes:
        """Answer with a page of the ``run_at`` index."""
        if asked.get("IndexName") != "run_at":
            raise invalid("only the index run_at is known")
        partition = asked["ExpressionAttributeValues"][":bucket"]["S"]
        entries = self.index.get(partition, [])
        start = 0
        if "ExclusiveStartKey" in asked:
            key = asked["ExclusiveStartKey"]
            start = entries.index((int(key["k"]["N"]), key["p"]["S"])) + 1
        page = entries[start : start + asked.get("Limit", 1000)]
        keys = [_entry(partition, due_ms, job_id) for due_ms, job_id in page]
        answer: dict[str, Any] = {"Count": len(keys), "Items": keys, "ScannedCount": len(keys)}
        if start + len(page) < len(entries):
            answer["LastEvaluatedKey"] = keys[-1]
        return orjson.dumps(answer)

    def batch_get(self, asked: Any) -> bytes:
        """Answer with items, now and then with keys left unread."""
        ((table, request),) = asked["RequestItems"].items()
        keys = request["Keys"]
        if len(keys) > KEYS_PER_BATCH:
            raise invalid("more than 100 keys")
        left = [key for key in keys if self._fails()]
        missed = {key["p"]["S"] for key in left}
        found = [self._text(k["p"]["S"]) for k in keys if k["p"]["S"] not in missed]
        unread = {table: {"Keys": left, "ConsistentRead": True}} if left else {}
        return b'{"Responses":{%s:[%s]},"UnprocessedKeys":%s}' % (
            orjson.dumps(table),
            b",".join(found),
            orjson.dumps(unread),
        )

    def _text(self, job_id: str) -> bytes:
        """Return an item as JSON: kept, until it is written."""
        text = self.texts.get(job_id)
        if text is None:
            text = self.texts[job_id] = orjson.dumps(self.items[job_id])
        return text

    def update(self, asked: Any) -> Any:
        """Make one conditional write."""
        expressions = asked["ConditionExpression"] + "|" + asked["UpdateExpression"]
        plan = self.plans.get(expressions)
        if plan is None:
            plan = plan_of_update(asked["ConditionExpression"], asked["UpdateExpression"])
            self.plans[expressions] = plan
        values = asked["ExpressionAttributeValues"]
        item = self.items[asked["Key"]["p"]["S"]]
        if not plan.holds(item, values):
            raise Refusal(
                "ConditionalCheckFailedException", "The conditional request failed", Item=item
            )
        self._write(plan, item, values)
        return {"Attributes": item} if asked.get("ReturnValues") == "ALL_NEW" else {}

    def batch_execute(self, asked: Any) -> Any:
        """Make up to twenty-five conditional writes, each with its own answer."""
        if len(asked["Statements"]) > STATEMENTS_PER_BATCH:
            raise invalid("more than 25 statements")
        return {"Responses": [self._execute(statement) for statement in asked["Statements"]]}

    def _execute(self, asked: Any) -> Any:
        text = asked["Statement"]
        plan = self.plans.get(text)
        if plan is None:
            plan = self.plans[text] = plan_of_statement(text)
        values = {str(place): value for place, value in enumerate(asked["Parameters"])}
        if self._fails():
            return {"Error": {"Code": "ThrottlingError", "Message": "Rate exceeded"}}
        item = self.items[values[plan.key]["S"]]
        if not plan.holds(item, values):
            return {"Error": {"Code": "ConditionalCheckFailed", "Message": "no", "Item": item}}
        self._write(plan, item, values)
        return {"TableName": "bench-jobs"}

    def _write(self, plan: Plan, item: Item, values: dict[str, Any]) -> None:
        plan.apply(item, values)
        self.texts.pop(item["p"]["S"], None)
        self.marked += 1

    # --- SQS ---

    def send_batch(self, asked: Any) -> Any:
        """Take up to ten messages; now and then, not all of them."""
        entries = asked["Entries"]
        if len(entries) > MESSAGES_PER_BATCH:
            raise invalid("more than 10 messages")
        accepted: list[Any] = []
        failed: list[Any] = []
        for entry in entries:
            if self._fails():
                failed.append({"Id": entry["Id"], "Code": "InternalError", "SenderFault": False})
            else:
                accepted.append({"Id": entry["Id"], **self._take(entry["MessageBody"])})
        return {"Successful": accepted, **({"Failed": failed} if failed else {})}

    def send(self, asked: Any) -> Any:
        """Take one message."""
        return self._take(asked["MessageBody"])

    def _take(self, body: str) -> Any:
        self.sent[orjson.loads(body)["job"]] += 1
        digest = hashlib.md5(body.encode(), usedforsecurity=False).hexdigest()
        return {"MessageId": "12345678-1234-1234-1234-123456789012", "MD5OfMessageBody": digest}

    def _fails(self) -> bool:
        return bool(self.partial) and self.randomness.random() < self.partial


def _entry(partition: str, due_ms: int, job_id: str) -> Item:
    return {
        "b": {"S": partition},
        "k": {"N": str(due_ms)},
        "p": {"S": job_id},
        "s": {"S": "J"},
    }
