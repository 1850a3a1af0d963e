"""What the first ticks after an outage of a day ask, in virtual time, until all is dispatched.

Nobody swept for a day, in which as many jobs came due as a busy installation has. The real
scheduler sweeps over counted memory stores; the workers make the real moves on them.
"""

from __future__ import annotations

import gc
import time
from collections import Counter
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta

from bench.growth.rig import FUNCTION_SECONDS, SECONDS_A_REQUEST, Killed, Rig, Work
from hourhand.domain.jobs.job import Content, Lease
from hourhand.domain.jobs.transitions import claim, complete
from hourhand.domain.ticks.buckets import bucket_of
from hourhand.domain.times import floor_ms
from hourhand.memory import MemoryJobStore
from hourhand.ports.job_store import Applied

BEFORE = datetime(2026, 1, 5, 9, 0, tzinfo=UTC)
OUTAGE = timedelta(days=1)
OVERDUE = 20_000
MAX_TICKS = 15
TICKS_AFTER = 3
"""For so many more the messages are counted, unless the watermark catches up before."""

CAUGHT_UP_BUCKETS = 4
"""So few minutes behind the time, the watermark is where it is on any day."""

KILLED_AFTER_SECONDS = 25.0
DONE = Content(size_bytes=4, text="null")


@dataclass(frozen=True, slots=True)
class Case:
    """What is there after the outage.

    ``has_workers``: what a tick sent is done by the next one. ``kills_first``: the first tick is
    killed `KILLED_AFTER_SECONDS` after it began, before its next mark, and gives nothing back.
    """

    name: str
    has_workers: bool = True
    kills_first: bool = False
    overdue: int = OVERDUE


CASES = (
    Case("outage of a day"),
    Case("· its first leader killed", kills_first=True),
    Case("· no worker meanwhile", has_workers=False),
)


@dataclass(frozen=True, slots=True)
class Swept:
    """What it took until every overdue job was sent, and the tick that the watermark caught up at.

    ``work.messages`` are those until then, at least.
    """

    work: Work
    ticks_to_catch_up: int
    sent_after_seconds: tuple[float, ...]


def sweep(case: Case) -> Swept:
    """Let a day pass without a tick, then tick each minute until the watermark caught up."""
    rig = Rig(BEFORE, MemoryJobStore())
    began_outage = rig.clock.now()
    for number in range(case.overdue):
        due_at = began_outage + timedelta(minutes=6) + number * OUTAGE / case.overdue
        rig.store(f"job-{number:05}", floor_ms(due_at), began_outage)
    rig.clock.advance(OUTAGE + timedelta(minutes=6))
    rig.wait_for_next_minute()
    gc.collect()
    gc.freeze()
    try:
        return _sweep_until_caught_up(rig, case)
    finally:
        gc.unfreeze()


def _sweep_until_caught_up(rig: Rig, case: Case) -> Swept:
    ledger, first_tick_at, tick = rig.ledger, rig.clock.now(), 0
    work: Work | None = None
    began = time.process_time()
    by_others = 0.0
    while work is None or (tick < work.ticks + TICKS_AFTER and not _is_caught_up(rig)):
        tick += 1
        if tick > MAX_TICKS:
            raise RuntimeError(f"{case.name}: {len(ledger.sent)} of {case.overdue} sent")
        _tick(rig, kill=case.kills_first and tick == 1)
        if work is None and len(ledger.sent) == case.overdue:
            work = Work(
                name=case.name,
                due=case.overdue,
                ticks=tick,
                requests=Counter(ledger.requests),
                entries_read=ledger.entries_read,
                items_read=ledger.items_read,
                cpu_seconds=time.process_time() - began - by_others - ledger.cpu_seconds,
                virtual_seconds=(max(ledger.sent.values()) - first_tick_at).total_seconds(),
                messages=0,
            )
        between_ticks = time.process_time()
        rig.wait_for_next_minute()
        if case.has_workers:
            work_off(rig)
        by_others += time.process_time() - between_ticks
    sent = sorted((at - first_tick_at).total_seconds() for at in ledger.sent.values())
    return Swept(replace(work, messages=ledger.messages), tick, tuple(sent))


def _tick(rig: Rig, *, kill: bool) -> None:
    if not kill:
        rig.tick(FUNCTION_SECONDS)
        return
    rig.ledger.requests_left = round(KILLED_AFTER_SECONDS / SECONDS_A_REQUEST)
    try:
        rig.tick(FUNCTION_SECONDS)
    except Killed:
        pass
    else:
        raise RuntimeError("the first tick ended before it was to be killed")
    finally:
        rig.ledger.requests_left, rig.ledger.is_dead = None, False


def work_off(rig: Rig) -> int:
    """Do every job whose message waits, and delete the messages; return how many were done."""
    now = rig.clock.now()
    finished = 0
    for held in rig.queues.messages():
        claimed = rig.jobs.transition(
            claim(
                held.message,
                now=now,
                wait=rig.timings.early_wait,
                lease=Lease(
                    owner="worker", until=now + rig.timings.job_lease, claim_id=held.message_id
                ),
            )
        )
        # A second message of a job that is done is dropped, as a worker drops it.
        if isinstance(claimed, Applied):
            rig.jobs.transition(
                complete(claimed.job, now=now, actor="worker", result=DONE, progress=None)
            )
            finished += 1
    rig.queues.purge()
    return finished


def _is_caught_up(rig: Rig) -> bool:
    watermark = rig.control.read_watermark()
    assert watermark is not None
    return watermark.low >= bucket_of(rig.clock.now()) - CAUGHT_UP_BUCKETS
