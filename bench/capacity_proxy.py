"""Stands before an emulator and gives the shards of the ``run_at`` index a capacity.

It keeps the jobs' items itself, judges each condition on them, and takes the messages: the emulator
makes fewer writes a second than a shard takes. All other calls go to the emulator.

Each shard takes so many writes a second, and saves up one second's. A write beyond that is put off:
a statement of a batch by its own answer, a single write by the answer to its call. A write that
moves an entry takes two, as in DynamoDB: the old entry goes, and a new one comes.

    python -m bench.capacity_proxy ENDPOINT RATE
"""

from __future__ import annotations

import argparse
import json
import random
import re
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from bench.counting_proxy import Calls, PassingHandler, serving
from bench.dispatch.answers import Tables
from bench.dispatch.expressions import Plan, plan_of_statement, plan_of_update

COUNTS = "/counts"
_NAMED = re.compile(r"'(\w+)': \?")
PUT_OFF = "ProvisionedThroughputExceeded"


@dataclass(frozen=True, slots=True)
class Write:
    """One write of a job's item. ``partition``: of the index, if the write sets it."""

    job_id: str
    partition: str | None
    leaves: bool = False


@dataclass(slots=True)
class Shards:
    """What the shards took and put off; safe for threads. ``rate``: writes a second of each."""

    rate: float
    taken: int = 0
    put_off: int = 0
    _free: dict[str, tuple[float, float]] = field(default_factory=dict)
    _places: dict[str, str] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def take(self, write: Write) -> bool:
        """Take a write; return whether its shards had room for it."""
        with self._lock:
            if write.partition is None and not write.leaves:
                return True
            before = self._places.get(write.job_id)
            touched = [each for each in (before, write.partition) if each is not None]
            shards = [each.rpartition(".")[2] for each in touched]
            now = time.monotonic()
            for shard in shards:
                free, at = self._free.get(shard, (0.0, now))
                self._free[shard] = min(self.rate, free + (now - at) * self.rate), now
            if any(self._free[shard][0] < shards.count(shard) for shard in shards):
                self.put_off += 1
                return False
            for shard in shards:
                self._free[shard] = self._free[shard][0] - 1, now
            self.taken += len(shards)
            if write.partition is None:
                self._places.pop(write.job_id, None)
            else:
                self._places[write.job_id] = write.partition
            return True

    def take_counts(self) -> dict[str, int]:
        """Return what was taken and put off since the last time; use up what the shards saved."""
        with self._lock:
            self._free = dict.fromkeys(self._free, (0.0, time.monotonic()))
            counts = {"taken": self.taken, "put_off": self.put_off}
            self.taken = self.put_off = 0
            return counts


def write_of_statement(statement: Mapping[str, Any]) -> Write:
    """Return the write that a PartiQL statement makes."""
    text, values = statement["Statement"], statement["Parameters"]
    if text.startswith("INSERT"):
        named = dict(zip(_NAMED.findall(text), values, strict=True))
        return Write(named["p"]["S"], named.get("b", {}).get("S"))
    before, _, _ = text.partition(" WHERE ")
    return Write(values[before.count("?")]["S"], _set(before, values), 'REMOVE "b"' in before)


def _set(text: str, values: list[Any]) -> str | None:
    """Return the value that the changes of a statement give the attribute ``b``."""
    place = text.find('SET "b" = ?')
    return None if place < 0 else str(values[text[:place].count("?")]["S"])


def write_of_call(operation: str, asked: Mapping[str, Any]) -> Write | None:
    """Return the write that a call makes of one item of the jobs table."""
    if operation == "PutItem":
        item = asked["Item"]
        return Write(item["p"]["S"], item.get("b", {}).get("S"))
    if operation != "UpdateItem":
        return None
    update = asked["UpdateExpression"]
    found = re.search(r"\bb = (:v\d+)", update)
    partition = asked["ExpressionAttributeValues"][found[1]]["S"] if found else None
    removed = re.search(r"REMOVE (.*)", update)
    leaves = removed is not None and "b" in removed[1].replace(",", " ").split()
    return Write(asked["Key"]["p"]["S"], partition, leaves)


class Jobs:
    """The jobs' hot items, by id; safe for threads. Each answer is DynamoDB's: status and body."""

    def __init__(self, shards: Shards) -> None:
        self.items: dict[str, Any] = {}
        self._shards = shards
        self._lock = threading.Lock()
        self._plans: dict[str, Plan] = {}

    def batch(self, asked: Any) -> tuple[int, Any]:
        """Make the statements of a batch, as far as their shards have room."""
        return 200, {"Responses": [self._execute(each) for each in asked["Statements"]]}

    def _execute(self, statement: Any) -> Any:
        write, text = write_of_statement(statement), statement["Statement"]
        if not text.startswith("INSERT"):
            plan = self._plan(text, lambda: plan_of_statement(text))
            values = {str(at): value for at, value in enumerate(statement["Parameters"])}
            error, item = self._update(write, plan, values)
        else:
            named = dict(zip(_NAMED.findall(text), statement["Parameters"], strict=True))
            error, item = self._put(write, named)
        if error is None:
            return {}
        code = "DuplicateItem" if text.startswith("INSERT") and item else error
        return {"Error": {"Code": code, "Message": code, **({"Item": item} if item else {})}}

    def put(self, asked: Any) -> tuple[int, Any]:
        write = write_of_call("PutItem", asked)
        assert write is not None
        return _whole(*self._put(write, asked["Item"]))

    def update(self, asked: Any) -> tuple[int, Any]:
        write = write_of_call("UpdateItem", asked)
        assert write is not None
        condition, update = asked["ConditionExpression"], asked["UpdateExpression"]
        plan = self._plan(f"{condition}|{update}", lambda: plan_of_update(condition, update))
        error, item = self._update(write, plan, asked["ExpressionAttributeValues"])
        return _whole(error, item) if error else (200, {"Attributes": item})

    def get(self, asked: Any) -> tuple[int, Any]:
        item = self.items.get(asked["Key"]["p"]["S"])
        return 200, {"Item": item} if item else {}

    def batch_get(self, asked: Any) -> tuple[int, Any]:
        ((table, request),) = asked["RequestItems"].items()
        ids = [key["p"]["S"] for key in request["Keys"]]
        return 200, {"Responses": {table: [self.items[i] for i in ids if i in self.items]}}

    def _plan(self, key: str, make: Callable[[], Plan]) -> Plan:
        if key not in self._plans:
            self._plans[key] = make()
        return self._plans[key]

    def _put(self, write: Write, item: Any) -> tuple[str | None, Any]:
        with self._lock:
            current = self.items.get(write.job_id)
            if current is not None:
                return "ConditionalCheckFailed", current
            if not self._shards.take(write):
                return PUT_OFF, None
            self.items[write.job_id] = item
            return None, item

    def _update(self, write: Write, plan: Plan, values: Any) -> tuple[str | None, Any]:
        with self._lock:
            item = self.items[write.job_id]
            if not plan.holds(item, values):
                return "ConditionalCheckFailed", item
            if not self._shards.take(write):
                return PUT_OFF, None
            plan.apply(item, values)
            return None, item


def _whole(error: str | None, item: Any) -> tuple[int, Any]:
    if error is None:
        return 200, {}
    more = {"Item": item} if item else {}
    return 400, {"__type": f"com.amazonaws.dynamodb.v20120810#{error}Exception", **more}


class _CapacityHandler(PassingHandler):
    jobs: Jobs
    shards: Shards
    queues: Tables

    def answer(self, operation: str, body: bytes) -> tuple[int, Mapping[str, str], bytes]:
        if self.path == COUNTS:
            return 200, {}, json.dumps(self.shards.take_counts()).encode()
        if operation == "SendMessageBatch":
            answer = json.dumps(self.queues.send_batch(json.loads(body))).encode()
            return 200, {"Content-Type": "application/x-amz-json-1.0"}, answer
        kept = {
            "BatchExecuteStatement": self.jobs.batch,
            "BatchGetItem": self.jobs.batch_get,
            "GetItem": self.jobs.get,
            "PutItem": self.jobs.put,
            "UpdateItem": self.jobs.update,
        }.get(operation)
        asked = json.loads(body) if kept is not None else {}
        if kept is None or not _is_of_jobs(asked):
            return super().answer(operation, body)
        status, answered = kept(asked)
        return status, {"Content-Type": "application/x-amz-json-1.0"}, json.dumps(answered).encode()


def _is_of_jobs(asked: Mapping[str, Any]) -> bool:
    """Whether a call is one of hot items of the jobs table."""
    if "Statements" in asked:
        return True
    if "RequestItems" in asked:
        ((table, request),) = asked["RequestItems"].items()
        return str(table).endswith("-jobs") and all(k["s"]["S"] == "J" for k in request["Keys"])
    key = asked.get("Key", asked.get("Item", {}))
    return str(asked["TableName"]).endswith("-jobs") and key["s"] == {"S": "J"}


@contextmanager
def capacity_proxy(endpoint: str, rate: float) -> Iterator[str]:
    """Yield the address of a proxy before ``endpoint``, in a process of its own."""
    program = [sys.executable, "-m", "bench.capacity_proxy", endpoint, str(rate)]
    pipe = subprocess.PIPE
    with subprocess.Popen(program, stdin=pipe, stdout=pipe, text=True) as proxy:
        assert proxy.stdin is not None
        assert proxy.stdout is not None
        try:
            yield proxy.stdout.readline().strip()
        finally:
            proxy.stdin.close()


def main() -> None:
    """Serve until the standard input closes, having printed the address."""
    parser = argparse.ArgumentParser(prog="python -m bench.capacity_proxy")
    parser.add_argument("endpoint")
    parser.add_argument("rate", type=float, help="writes a second that each shard takes")
    options = parser.parse_args()
    shards = Shards(options.rate)
    queues = Tables({}, {}, {}, 0.0, random.Random(1))
    fields = {"calls": Calls(), "jobs": Jobs(shards), "shards": shards, "queues": queues}
    with serving(options.endpoint, _CapacityHandler, fields) as address:
        print(address, flush=True)
        sys.stdin.read()


if __name__ == "__main__":
    main()
