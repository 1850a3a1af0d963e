"""How long a first tick, or a resweep, takes to read a day of empty buckets.

The plan of a new installation's first tick is read twice over the same stand-in for DynamoDB:
bucket by bucket, and with the older buckets side by side, as the scheduler does it.
"""

from __future__ import annotations

import json
import time
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from datetime import UTC, datetime
from statistics import median
from typing import Any

import boto3
from botocore.config import Config
from botocore.credentials import Credentials

from bench.dispatch.load import JOBS_TABLE
from bench.dispatch.run import LATENCY_MS, OURS, stand_in
from bench.targets import Target, all_ok, at_most
from hourhand.aws.batches import Bulk
from hourhand.aws.job_store import DynamoJobStore
from hourhand.aws.lean import lean_or_same
from hourhand.domain.ticks.timings import Timings
from hourhand.domain.ticks.watermark import Place, first_watermark, plan_sweep
from hourhand.services.ticks.sweep import PAGE_ENTRIES

ROUNDS = 3
"""Each way is timed so often, in turn; the middle one counts."""

MAX_SHARE = 0.25
"""What reading side by side may take of the time of reading one after the other."""

Turns = list[tuple[Place, ...]]
Read = Callable[[DynamoJobStore, Turns], int]


def first_turns() -> Turns:
    """Return what the first tick of all reads, turn by turn, with one shard."""
    now, timings = datetime.now(UTC), Timings()
    state = first_watermark(now, 1, timings)
    plan = plan_sweep(state, now, now + timings.look_ahead, timings)
    return list(plan.turns(dict.fromkeys(plan.buckets, (0,))))


def one_by_one(store: DynamoJobStore, turns: Turns) -> int:
    """Read every bucket by a call of its own; return how many were read."""
    for turn in turns:
        for place in turn:
            store.read_bucket(*place, position=None, limit=PAGE_ENTRIES)
    return sum(map(len, turns))


def side_by_side(store: DynamoJobStore, turns: Turns) -> int:
    """Read as the scheduler does; return how many were read."""
    read = 0
    for turn in turns:
        if len(turn) == 1:
            store.read_bucket(*turn[0], position=None, limit=PAGE_ENTRIES)
            read += 1
        else:
            pages = store.read_buckets(turn, limit=PAGE_ENTRIES)
            read += sum(page is not None for page in pages)
    return read


WAYS: dict[str, Read] = {"one by one": one_by_one, "side by side": side_by_side}


@contextmanager
def lean_store(endpoint: str) -> Iterator[DynamoJobStore]:
    """Open a store as the scheduler has it."""
    client = boto3.client(
        "dynamodb",
        endpoint_url=endpoint,
        region_name="eu-central-1",
        aws_access_key_id="AKID",
        aws_secret_access_key="secret",  # noqa: S106 (a stand-in's)
        config=Config(retries={"mode": "standard", "total_max_attempts": 1}),
    )
    # It has those of boto3's methods that a sweep calls; the type is boto3's, as in `bulk_of`.
    lean: Any = lean_or_same(client, lambda: Credentials("AKID", "secret"), certificates="")
    with closing(client), closing(lean):
        yield DynamoJobStore(client, JOBS_TABLE, bulk=Bulk(lean))


def requests_of(endpoint: str) -> int:
    """Return how many queries the stand-in has answered."""
    with urllib.request.urlopen(f"{endpoint}/statistics") as answer:  # noqa: S310 (loopback)
        told: int = json.load(answer)["calls"].get("Query", 0)
    return told


def run() -> dict[str, Any]:
    """Read the same plan in both ways, in turn."""
    # The stand-in's jobs are due in another year: every bucket of the plan is empty.
    long_ago_ms = round(datetime(2020, 1, 1, tzinfo=UTC).timestamp() * 1000)
    turns = first_turns()
    seconds: dict[str, list[float]] = {way: [] for way in WAYS}
    requests: dict[str, int] = {}
    with stand_in(OURS, long_ago_ms) as endpoint, lean_store(endpoint) as store:
        one_by_one(store, turns[:1])
        for _ in range(ROUNDS):
            for way, read in WAYS.items():
                before, began = requests_of(endpoint), time.perf_counter()
                if read(store, turns) != sum(map(len, turns)):
                    raise RuntimeError(f"{way}: not every bucket was read")
                seconds[way].append(time.perf_counter() - began)
                requests[way] = requests_of(endpoint) - before
    middle = {way: median(each) for way, each in seconds.items()}
    must: list[Target] = [
        at_most(
            "the first tick's buckets side by side against one by one: time",
            round(middle["side by side"] / middle["one by one"], 3),
            MAX_SHARE,
            " x",
        ),
        at_most("the same: requests", requests["side by side"] / requests["one by one"], 1.0, " x"),
    ]
    return {
        "asks": "How long does the first tick of a new installation, or a tick of a resweep, read?",
        "columns": ["a day of buckets", "requests", "seconds", "of one by one"],
        "rows": [
            [
                way,
                requests[way],
                round(middle[way], 2),
                round(middle[way] / middle["one by one"], 3),
            ]
            for way in WAYS
        ],
        "notes": [
            f"A stub of DynamoDB on loopback responds to each query after {LATENCY_MS:g} ms; "
            "every bucket is empty. Both variants read current buckets one by one.",
        ],
        "must": must,
        "ok": all_ok(must),
    }
