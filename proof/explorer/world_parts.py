"""The world as small immutable parts, and the shipped memory adapters in between.

What a call does is never written down a second time: a part is put into the memory adapter that
passes the contract tests, the call is made, and the part is read back. So these functions know
the insides of the memory adapters, and nothing else here does.
"""

from __future__ import annotations

import itertools
from collections import defaultdict
from dataclasses import fields
from datetime import timedelta
from typing import Any, cast

from hourhand.memory import (
    MemoryClock,
    MemoryControlStore,
    MemoryIdempotencyStore,
    MemoryJobStore,
    MemoryObjectStore,
    MemoryQueues,
    MemoryScheduleStore,
    MemorySideItemStore,
    MemorySweepInvoker,
    QueuedMessage,
)
from hourhand.memory.indexes import (
    SCHEDULES,
    JobIndexes,
    ScheduleIndexes,
    Shown,
    shadow_of,
)

PORTS = (
    "jobs",
    "control",
    "queues",
    "keys",
    "side_items",
    "schedules",
    "objects",
    "invoker",
    "handler",
)
"""The parts of a world, in order. ``handler``: the runs that are under way."""

WORKER_VISIBILITY = timedelta(seconds=900)
"""As long as the function may run: Lambda asks for it, so a worker must shorten it itself."""

_MESSAGE = tuple(each.name for each in fields(QueuedMessage))
_PLAIN: dict[str, tuple[str, ...]] = {
    "control": (
        "_tenures",
        "_shard_map",
        "_watermark",
        "_tick",
        "_resweep",
        "_pauses",
        "_overrides",
    ),
    "keys": ("_records",),
    "side_items": ("_items", "_keep_until", "_order"),
    "schedules": ("_schedules", "_definitions", "_pages", "_backfills", "_calendars", "_walk"),
    "objects": ("_texts", "_finished"),
    "invoker": ("accepts", "invoked"),
}
_MAKERS: dict[str, Any] = {
    "control": MemoryControlStore,
    "keys": MemoryIdempotencyStore,
    "side_items": MemorySideItemStore,
    "schedules": MemoryScheduleStore,
    "objects": MemoryObjectStore,
    "invoker": MemorySweepInvoker,
}


def read_part(port: str, adapter: Any) -> Any:
    """Return what ``adapter`` holds, as a value that stays as it is."""
    if port == "jobs":
        return read_jobs(adapter)
    if port == "queues":
        return _read_queues(adapter)
    return tuple(_copied(getattr(adapter, name)) for name in _PLAIN[port])


def fill(port: str, part: Any, clock: MemoryClock) -> Any:
    """Return a memory adapter that holds ``part``; ``clock`` is the servers' own."""
    if port == "jobs":
        return fill_jobs(part, part)
    if port == "queues":
        return _fill_queues(part, clock)
    adapter = _MAKERS[port]()
    for name, value in zip(_PLAIN[port], part, strict=True):
        setattr(adapter, name, _copied(value))
    if port == "schedules":
        adapter._indexes = ScheduleIndexes(None, timedelta(0))
        for schedule in adapter._schedules.values():
            adapter._indexes.change(SCHEDULES, schedule.id, Shown(schedule.next_at))
    return adapter


def read_jobs(store: MemoryJobStore) -> Any:
    """Return jobs, texts and failures of a store."""
    jobs = tuple(sorted(store._jobs.values(), key=lambda job: job.id))
    texts = {job_id: dict(kept) for job_id, kept in store._texts.items() if kept}
    failures = {job_id: dict(kept) for job_id, kept in store._failures.items() if kept}
    return jobs, texts, failures


def fill_jobs(part: Any, shown: Any) -> MemoryJobStore:
    """Return a store that holds ``part``, and whose indexes show ``shown`` and no change."""
    jobs, texts, failures = part
    store = MemoryJobStore()
    store._jobs = {job.id: job for job in jobs}
    for job_id, kept in texts.items():
        store._texts[job_id] = dict(kept)
    for job_id, failed in failures.items():
        store._failures[job_id] = dict(failed)
    store._indexes = JobIndexes(None, timedelta(0))
    for job in shown[0]:
        store._indexes.change(job.id, shadow_of(job))
    if shown is not part:
        store.freeze_index()
    return store


def _read_queues(queues: MemoryQueues) -> Any:
    contents = queues._contents
    messages = tuple(
        tuple(getattr(held, name) for name in _MESSAGE)
        for _, held in sorted(contents.messages.items())
    )
    return messages, tuple(contents.dead_letters)


def _fill_queues(part: Any, clock: MemoryClock) -> MemoryQueues:
    messages, letters = part
    queues = MemoryQueues(clock, visibility=WORKER_VISIBILITY)
    contents = queues._contents
    for values in messages:
        held = QueuedMessage(**dict(zip(_MESSAGE, values, strict=True)))
        contents.messages[held.message_id] = held
    contents.dead_letters.extend(letters)
    return queues


def name_messages(queues: MemoryQueues, sender: str) -> None:
    """Let the next messages be named by who sends them: then the order of senders is no matter."""
    taken = queues._contents.messages
    names = (f"{sender}.{number}" for number in itertools.count(1))
    free = (name for name in names if f"message-{name}" not in taken)
    queues._contents.numbers = cast("Any", free)


def _copied(value: Any) -> Any:
    if isinstance(value, defaultdict):
        kept = {key: dict(inner) for key, inner in value.items() if inner}
        return defaultdict(value.default_factory, kept)
    if isinstance(value, dict):
        return dict(value)
    return list(value) if isinstance(value, list) else value
