"""What a call does to the world: worked out once by the memory adapters, then looked up."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

from hourhand.domain.jobs.job import Job
from hourhand.domain.ticks.buckets import bucket_of
from hourhand.memory import START, MemoryClock
from hourhand.ports.job_store import IndexPage
from hourhand.settings import DispatchMode
from proof.explorer.rules import Bounds, Writer, judge_jobs, judge_write
from proof.explorer.rules_of_graphs import judge_batches, judge_decisions
from proof.explorer.rules_of_leaders import APART, judge_leases, judge_watermark
from proof.explorer.rules_of_limits import judge_rates, judge_slots, judge_unique
from proof.explorer.rules_of_records import judge_keys, judge_texts
from proof.explorer.rules_of_runs import judge_family, judge_runs
from proof.explorer.rules_of_schedules import judge_changes
from proof.explorer.scenario import Scenario
from proof.explorer.script import MILLISECOND, Answer, Call
from proof.explorer.values import Interner
from proof.explorer.world_parts import PORTS, fill, fill_jobs, name_messages, read_part
from tests.world.faults import READS

JOBS, CONTROL, QUEUES, KEYS, SCHEDULES, OBJECTS = (
    PORTS.index(port) for port in ("jobs", "control", "queues", "keys", "schedules", "objects")
)
SIDE_ITEMS = PORTS.index("side_items")
HANDLER = PORTS.index("handler")
INVOKER = PORTS.index("invoker")

_QUIET_PORTS = frozenset({"schedules", "side_items", "objects", "keys"})
"""Ports that many scenarios never write: then their reads need no turn of their own."""

_RARE = {"shard_map": 1, "resweep": 4, "pauses": 5, "overrides": 6}
"""Records of the control table that few scenarios write, by their place in that part."""

_TIMED = frozenset({"queues"})


class Widened(Exception):
    """Something was written that was taken for still: the exploration begins anew without that."""


def true_time(now_ms: int) -> datetime:
    """Return the true time, so many ms after `START`."""
    return START + now_ms * MILLISECOND


class Effects:
    """Makes calls on parts of the world, each distinct one once.

    ``moving`` holds what was found to change: ports, buckets with their shards, the shard map.
    All else is still, so that a read of it has one answer, whoever does what: it needs no turn.
    """

    def __init__(
        self,
        answers: Callable[[], Interner],
        parts: tuple[Any, ...],
        bounds: Bounds,
        scenario: Scenario,
    ) -> None:
        """Take the numbers of answers, and the parts of the world at the beginning."""
        self.calls = Interner()
        self.parts = tuple(Interner() for _ in PORTS)
        self.first = tuple(
            numbers.number(part) for numbers, part in zip(self.parts, parts, strict=True)
        )
        self.moving: set[Any] = set()
        self.applied = 0
        self._answers = answers
        self._bounds = bounds
        self._scenario = scenario
        self._skews_of_holders: dict[str, timedelta] = {}
        self._memo: dict[tuple[Any, ...], tuple[int, int, tuple[str, ...]]] = {}

    def forget(self) -> None:
        """Forget what was looked up: before another exploration with more that moves."""
        self._memo.clear()

    def fixed(self, call: Call) -> Answer | None:
        """Return the answer of a call that nobody's doings can change."""
        record_counts = self._scenario.dispatch is DispatchMode.ECONOMY
        if call.method in {"read_tick", "write_tick"} and not record_counts:
            # Unless marks are spared, the record of the last tick is for people alone.
            return Answer(None)
        if call.port == "jobs" and call.method == "read_bucket":
            place = tuple(call.args)
            return None if place in self.moving else Answer(IndexPage(()))
        if call.port == "jobs" and call.method == "read_buckets":
            places = call.args[0]
            is_moving = any(tuple(place) in self.moving for place in places)
            return None if is_moving else Answer([IndexPage(())] * len(places))
        if call.method not in READS:
            return None
        is_still = call.port in _QUIET_PORTS and call.port not in self.moving
        record = call.method.removeprefix("read_")
        if record in _RARE and record not in self.moving:
            is_still = True
        if not is_still:
            return None
        port = PORTS.index(call.port)
        adapter = self._fill(port, self.first[port], self.first[port], 0)
        return self._make(adapter, call)

    def apply(
        self,
        call_number: int,
        port: int,
        part: int,
        shown: int,
        now_ms: int,
        writer: Writer,
        label: str,
    ) -> tuple[int, int, tuple[str, ...]]:
        """Make a call; return its answer, the part as it is then, and what that broke."""
        call: Call = self.calls.value(call_number)
        key: tuple[Any, ...]
        if call.method in READS:
            key = (call_number, port, part, shown, now_ms if call.port in _TIMED else 0)
        else:
            key = (call_number, port, part, now_ms, writer.worker)
        found = self._memo.get(key)
        if found is None:
            found = self._apply(call, port, part, shown, now_ms, writer, label)
            self._memo[key] = found
        return found

    def value(self, port: int, part: int) -> Any:
        """Return a part of the world."""
        return self.parts[port].value(part)

    def jobs(self, part: int) -> tuple[Job, ...]:
        """Return the jobs of a part of the world."""
        jobs: tuple[Job, ...] = self.parts[JOBS].value(part)[0]
        return jobs

    def _apply(
        self,
        call: Call,
        port: int,
        part: int,
        shown: int,
        now_ms: int,
        writer: Writer,
        label: str,
    ) -> tuple[int, int, tuple[str, ...]]:
        self.applied += 1
        adapter = self._fill(port, part, shown, now_ms)
        if call.method == "send":
            name_messages(adapter, label)
        answer = self._answers().number(self._make(adapter, call))
        if call.method in READS:
            return answer, part, ()
        after = self.parts[port].number(read_part(PORTS[port], adapter))
        if after == part:
            return answer, part, ()
        self._widen(port, after)
        return answer, after, tuple(self._judge(call, port, part, after, now_ms, writer))

    def _fill(self, port: int, part: int, shown: int, now_ms: int) -> Any:
        value = self.parts[port].value(part)
        if port == JOBS:
            return fill_jobs(value, self.parts[port].value(shown))
        return fill(PORTS[port], value, MemoryClock(true_time(now_ms)))

    def _make(self, adapter: Any, call: Call) -> Answer:
        try:
            return Answer(getattr(adapter, call.method)(*call.args, **dict(call.kwargs)))
        except Exception as error:  # noqa: BLE001 - it is the caller's to deal with
            return Answer(error=error)

    def _judge(
        self, call: Call, port: int, part: int, after: int, now_ms: int, writer: Writer
    ) -> list[str]:
        if port == KEYS:
            return list(judge_keys(self.value(KEYS, part)[0], self.value(KEYS, after)[0]))
        if port == SCHEDULES:
            old, new = (self.value(SCHEDULES, number)[0] for number in (part, after))
            changed = [(old[name], new[name]) for name in old if name in new]
            now = true_time(now_ms)
            return [told for pair in changed for told in judge_changes(*pair, now)]
        if port == SIDE_ITEMS:
            old, new = (self.value(SIDE_ITEMS, number)[0] for number in (part, after))
            told = [*judge_runs(old, new), *judge_decisions(old, new)]
            return [*told, *judge_slots(old, new, self._scenario.largest_limit)]
        if port == CONTROL:
            return self._judge_control(call, part, after, now_ms, writer)
        return self._judge_jobs(call, part, after, now_ms, writer) if port == JOBS else []

    def _judge_control(
        self, call: Call, part: int, after: int, now_ms: int, writer: Writer
    ) -> list[str]:
        leases, _, watermark, *_ = self.value(CONTROL, part)
        new_leases, _, new_watermark, *_ = self.value(CONTROL, after)
        told = list(judge_watermark(watermark, new_watermark))
        if call.method.endswith("_lease"):
            holder = call.args[1] if call.method == "acquire_lease" else call.args[0].holder
            self._skews_of_holders[holder] = writer.skew
            shown = true_time(now_ms) + writer.skew
            # Who stood still since it read its clock takes every newer lease for one that lasts
            # too long (ADR 14). Then two lead, which costs reads, and no more.
            stood_still = shown - dict(call.kwargs).get("now", shown) > APART
            needs_admission = self._bounds.are_kept and not stood_still
            skews = self._skews_of_holders if needs_admission else None
            told += judge_leases(leases, new_leases, holder, true_time(now_ms), skews)
        return told

    def _judge_jobs(
        self, call: Call, part: int, after: int, now_ms: int, writer: Writer
    ) -> list[str]:
        move = call.args[0].name if call.method == "transition" else call.method
        now = true_time(now_ms)
        before_by_id = {job.id: job for job in self.jobs(part)}
        after_by_id = {job.id: job for job in self.jobs(after)}
        told = list(judge_jobs(self.jobs(after), now))
        told += judge_texts(self.jobs(after), self.value(JOBS, after)[1])
        told += judge_rates(self.jobs(after), self._scenario.declared)
        told += judge_unique(self.jobs(after), self._scenario.key, now)
        told += judge_family(before_by_id, after_by_id)
        told += judge_batches(before_by_id, after_by_id)
        for job_id in before_by_id.keys() | after_by_id.keys():
            before, new = before_by_id.get(job_id), after_by_id.get(job_id)
            if before != new:
                judged = judge_write(before, new, writer, now, self._bounds, move)
                told += [f"job {job_id}: {sentence}" for sentence in judged]
        return told

    def _widen(self, port: int, after: int) -> None:
        """Take note of what moves; begin anew if that is news."""
        moving: set[Any] = set()
        if port == JOBS:
            for job in self.jobs(after):
                if job.due_at is not None:
                    moving.add((bucket_of(job.due_at), job.shard))
        elif port == CONTROL:
            first, new = self.value(port, self.first[port]), self.value(port, after)
            moving |= {name for name, place in _RARE.items() if first[place] != new[place]}
        elif PORTS[port] in _QUIET_PORTS:
            moving.add(PORTS[port])
        if not moving <= self.moving:
            self.moving |= moving
            raise Widened
