"""The checks of the scheduler: its last tick, its clock, its watermark, and dead jobs."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any, TypeVar

from hourhand.aws.batches import Bulk
from hourhand.aws.clients import OLDEST_TEXT, is_too_old
from hourhand.aws.control_store import DynamoControlStore
from hourhand.aws.job_indexes import JobIndexes
from hourhand.aws.table_schema import CONTROL, JOBS
from hourhand.cli.doctor.asking import Aws
from hourhand.cli.doctor.deployment import Deployment
from hourhand.cli.doctor.findings import Finding, Look, failed, ok, warning
from hourhand.cli.doctor.queues import STANDSTILL
from hourhand.domain.ticks.timings import Timings
from hourhand.domain.ticks.watermark import MAX_OPEN_BUCKETS, Watermark, watermark_lag
from hourhand.domain.times import to_ms
from hourhand.ports.control_store import TickRecord
from hourhand.ports.job_store import Listing
from hourhand.services.jobs.puts import THROTTLED_SHARD

TICK = "last tick"
SKEW = "scheduler's clock"
BOTOCORE = "scheduler's botocore"
WATERMARK = "watermark"
DEAD = "dead jobs"
SHARDS = "throttled shards"

OLDEST_TICK = timedelta(minutes=3)
"""A tick may be 20 s late or lost; two lost ticks in a row are a failure."""

EARLIEST_TICK = timedelta(minutes=-1)
"""AWS gives its time to a second, and a scheduler corrects its clock by it."""

OVERDUE = timedelta(seconds=60)
"""From then on the scheduler sends a job's message again: `Timings.redispatch_first`."""

LAGGING = timedelta(minutes=15)
"""A bucket closes within about three minutes of its end if clocks and index are in order."""

COUNTED_DEAD = 100

THROTTLED_SINCE = timedelta(hours=1)
MAX_LOG_PAGES = 5
"""Calls that search the log of a function."""

_BEGINNING = datetime(2020, 1, 1, tzinfo=UTC)
"""No job is older than Hourhand."""

T = TypeVar("T")


def ticking_looks(aws: Aws, deployment: Deployment) -> Iterator[Look]:
    """Yield the checks of the scheduler."""
    yield Look(TICK, partial(_tick, aws, deployment), is_essential=True)
    yield Look(WATERMARK, partial(_watermark, aws, deployment))
    yield Look(DEAD, partial(_dead, aws, deployment))
    yield Look(SHARDS, partial(_shards, aws, deployment))


def _tick(aws: Aws, deployment: Deployment) -> Iterator[Finding]:
    record = _look_into_control(aws, deployment, DynamoControlStore.read_tick)
    return judge_tick(record, aws.clock.now(), Timings())


def _watermark(aws: Aws, deployment: Deployment) -> Iterator[Finding]:
    state = _look_into_control(aws, deployment, DynamoControlStore.read_watermark)
    yield judge_watermark(state, aws.clock.now())


def _look_into_control(
    aws: Aws, deployment: Deployment, read: Callable[[DynamoControlStore], T]
) -> T:
    table = deployment.table(CONTROL.name)
    return aws.look(
        "dynamodb",
        "GetItem",
        f"table {table}",
        lambda client: read(DynamoControlStore(client, table)),
    )


def _dead(aws: Aws, deployment: Deployment) -> Iterator[Finding]:
    table = deployment.table(JOBS.name)
    page = aws.look(
        "dynamodb",
        "Query",
        f"the indexes of table {table}",
        lambda client: JobIndexes(Bulk(client), table).list_jobs(
            Listing.UNRESOLVED,
            newest=None,
            created_before=aws.clock.now() + timedelta(days=1),
            created_after=_BEGINNING,
            limit=COUNTED_DEAD,
        ),
    )
    newest = page.jobs[0].job_id if page.jobs else None
    yield judge_dead(len(page.jobs), newest, more=page.next is not None)


def _shards(aws: Aws, deployment: Deployment) -> Iterator[Finding]:
    lines: list[Mapping[str, Any]] = []
    for function in ("api", "worker"):
        group = f"/aws/lambda/{deployment.function(function)}"
        asked: dict[str, Any] = {
            "logGroupName": group,
            "startTime": to_ms(aws.clock.now() - THROTTLED_SINCE),
            "filterPattern": f'"{THROTTLED_SHARD}"',
            "expected": {"ResourceNotFoundException"},
        }
        for _ in range(MAX_LOG_PAGES):
            page = aws.ask("logs", "FilterLogEvents", f"log group {group}", **asked)
            lines += [json.loads(event["message"]) for event in page.get("events", [])]
            if "nextToken" not in page:
                break
            asked["nextToken"] = page["nextToken"]
    yield judge_shards(Counter(line.get("shard") for line in lines))


def judge_shards(throttled: Counter[int | None]) -> Finding:
    """Judge which shards DynamoDB throttled, by the lines of the log that name them."""
    if not throttled:
        return ok(SHARDS, f"none in the last {THROTTLED_SINCE.total_seconds() / 60:.0f} min")
    shard, calls = throttled.most_common(1)[0]
    return warning(
        SHARDS,
        f"DynamoDB throttled new jobs in shard {shard} in {calls} calls of the last hour",
        "If this lasts, add shards: `hourhand shards show`, then `hourhand shards set N`.",
    )


def judge_tick(record: TickRecord | None, now: datetime, timings: Timings) -> Iterator[Finding]:
    """Judge when the scheduler last did its work, how late jobs were then, and its clock."""
    if record is None:
        yield failed(
            TICK,
            "no tick has run yet",
            "Run this check again two minutes after the first deployment. If no tick has run "
            "then, check the scheduler's log, the tick rule and the queue tick-failures.",
        )
        return
    age = now - record.at
    seen = f"{age.total_seconds():.0f} s ago, led by {record.holder} (epoch {record.epoch})"
    if age < EARLIEST_TICK:
        yield failed(
            TICK,
            f"is {-age.total_seconds():.0f} s in the future, recorded by {record.holder}: a "
            "clock is wrong",
            "If this machine's clock agrees with AWS's (above), the scheduler's clock is wrong: "
            "check its skew and its log. Until it is fixed, this record does not show whether "
            "ticks run.",
        )
    elif age > OLDEST_TICK:
        yield failed(
            TICK,
            f"{seen}: the scheduler does not tick",
            "Check the tick rule, the queue tick-failures, and the scheduler's log and throttles.",
        )
    else:
        yield ok(TICK, seen)
    yield from _judge_overdue(record)
    yield _judge_skew(timedelta(milliseconds=record.skew_ms), timings)
    yield from judge_botocore(record.botocore)


def _judge_overdue(record: TickRecord) -> Iterator[Finding]:
    overdue = {p: s for p, s in record.oldest_due_seconds.items() if s > OVERDUE.total_seconds()}
    if overdue:
        told = ", ".join(f"{p} {s:.0f} s" for p, s in sorted(overdue.items()))
        is_late = max(overdue.values()) > STANDSTILL.total_seconds()
        judged = failed if is_late else warning
        yield judged(
            TICK,
            f"the last tick found due jobs that do not start: {told}",
            "Check the event sources and the worker's log and throttles. If all workers are busy, "
            "increase worker_concurrency (-c worker_concurrency=N).",
        )


def _judge_skew(skew: timedelta, timings: Timings) -> Finding:
    seen = f"was off by {skew.total_seconds():.1f} s"
    fix = (
        "Lambda sets the clock of the function's host, so the skew ends when Lambda starts the "
        "function on another host. If it stays, deploy any change of the function, which starts "
        "it on new hosts, and open a case with AWS."
    )
    if abs(skew) > timings.skew_refuses:
        return failed(SKEW, f"{seen}, so it refuses to lead", fix)
    if abs(skew) > timings.skew_widens:
        return warning(SKEW, f"{seen}; it corrects for this, but closes no bucket", fix)
    return ok(SKEW, seen)


def judge_botocore(version: str) -> Iterator[Finding]:
    """Judge the botocore that the scheduler found in Lambda's runtime, or in a layer.

    Nothing is found where the tick was written by a release that did not record it.
    """
    if is_too_old(version):
        yield warning(
            BOTOCORE,
            f"is {version}, older than {OLDEST_TEXT}; the functions work on it, but slower",
            "Remove boto3 and botocore from the functions' layers, or deploy with a newer runtime "
            "(-c python=3.14).",
        )
    elif version:
        yield ok(BOTOCORE, f"is {version}; the oldest that is supported is {OLDEST_TEXT}")


def judge_watermark(state: Watermark | None, now: datetime) -> Finding:
    """Judge whether the sweep gets to the end of what it has to read."""
    if state is None:
        return warning(
            WATERMARK,
            "there is no watermark yet",
            "The first tick that completes its sweep sets it.",
        )
    lag = watermark_lag(state, now)
    seen = f"{lag.total_seconds() / 60:.0f} min behind now, {len(state.open)} older buckets open"
    if state.low < state.resweeps_until:
        left = state.resweeps_until - state.low
        return warning(
            WATERMARK,
            f"a resweep is under way, with {left:,} minutes left to read; {seen}",
            "Run this check again in a few minutes: `hourhand resweep` shows the progress. It "
            f"ends once no more than {MAX_OPEN_BUCKETS} minutes hold jobs that are not final.",
        )
    if lag > LAGGING:
        return warning(
            WATERMARK,
            seen,
            "A new installation, or one that was stopped, catches up within minutes: run this "
            "check again. If the watermark does not advance, check the scheduler's clock above "
            f"and its log for a skew, a tick that never ends, or more than {MAX_OPEN_BUCKETS} "
            "minutes with jobs that are not final.",
        )
    return ok(WATERMARK, seen)


def judge_dead(count: int, newest: str | None, *, more: bool) -> Finding:
    """Judge whether there are DEAD jobs that were neither redriven nor discarded."""
    if newest is None:
        return ok(DEAD, "no dead job is unresolved")
    found = f"{count} or more" if more else f"{count}"
    return warning(
        DEAD,
        f"{found} unresolved; one of the newest is {newest}",
        f"Read its error (`hourhand jobs show {newest}`), then redrive it or discard it: "
        "`hourhand dead-letters redrive` and `hourhand dead-letters discard`, also by filters.",
    )
