"""``hourhand stats``: queues, lateness and the scheduler."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich.console import RenderableType
from rich.text import Text

from hourhand.answers.system import Stats
from hourhand.cli.exits import NOT_FOUND, REFUSED
from hourhand.cli.options import DEFAULT_EVERY_SECONDS, EveryOption, WatchOption
from hourhand.cli.output.tables import Column, facts
from hourhand.cli.output.times import NOTHING, Times, duration
from hourhand.cli.session import Session
from hourhand.cli.verbs import verb

NOT_YET = "no tick yet"

COLUMNS = (
    Column("POOL", rank=2, is_flexible=True),
    Column("PRIORITY"),
    Column("WAITING", is_number=True),
    Column("RUNNING", is_number=True),
    Column("DELAYED", rank=1, is_number=True),
    Column("OLDEST DUE", is_number=True),
)


@verb(
    example="hourhand stats --watch",
    codes=dict.fromkeys((NOT_FOUND, REFUSED)),
    prints=(Stats,),
)
def stats(
    session: Session, watch: WatchOption = False, every: EveryOption = DEFAULT_EVERY_SECONDS
) -> None:
    """Show the queues, how late jobs start, and the state of the scheduler.

    The counts of the queues come from SQS, and are approximate. Lateness is measured on the jobs
    that started most recently; the output says on how many.
    """

    def look() -> Sequence[RenderableType]:
        found = session.client.stats()
        if not session.is_json:
            return _shown(session, found)
        session.print_json(found.raw)
        return []

    if watch:
        session.watch(every, look)
    session.print(*look())


def _shown(session: Session, found: Stats) -> list[RenderableType]:
    rows = (
        (
            queue.pool,
            queue.priority,
            _counted(queue.waiting),
            _counted(queue.running),
            _counted(queue.delayed),
            # 0 seconds: there is no such job.
            duration(queue.oldest_due_seconds) if queue.oldest_due_seconds else NOTHING,
        )
        for queue in found.queues
    )
    return [session.table(COLUMNS, rows), Text(), facts(_facts(found, session.times))]


def _counted(messages: int | None) -> str:
    return NOTHING if messages is None else f"{messages:,}"


def _facts(found: Stats, times: Times) -> Iterator[tuple[str, str]]:
    lateness = found.lateness
    if lateness.p50_ms is None or lateness.p99_ms is None:
        yield "lateness", "no recent job"
    else:
        p50, p99 = duration(lateness.p50_ms / 1000), duration(lateness.p99_ms / 1000)
        since = "" if lateness.since is None else f" since {times.full(lateness.since)}"
        yield "lateness", f"p50 {p50}, p99 {p99}, of {lateness.sample:,} jobs{since}"
    yield "leader", f"{found.leader or 'none'}, epoch {found.epoch}"
    yield "last tick", NOT_YET if found.last_tick_at is None else times.full(found.last_tick_at)
    yield "watermark", _watermark(found, times)
    yield "open buckets", f"{found.open_buckets:,}"
    yield "clock skew", f"{found.skew_ms:,} ms"


def _watermark(found: Stats, times: Times) -> str:
    """Return what the watermark means. Its age would look like lateness.

    The first tick sets it a day back, however new the installation is.
    """
    if found.watermark is None:
        return NOT_YET
    but = ", except in open buckets" if found.open_buckets else ""
    return f"no job due before {times.absolute(found.watermark)} waits for dispatch{but}"
