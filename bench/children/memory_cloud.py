"""A run with many children on the memory cloud, in virtual time, with the writes of each item.

The stage is that of `bench.limits.memory_cloud`: the real services over the stores in memory,
request by request, with a tick each minute.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from bench.limits.memory_cloud import (
    LOAD_FROM,
    LONGEST_SECONDS,
    MINUTE,
    STEP_SECONDS,
    Load,
    MemoryCloud,
)
from bench.runs.units import DAY, Body, worker_of
from bench.write_units import Run
from hourhand.api.requests.jobs import JobSubmission
from hourhand.domain.jobs.job import ErrorInfo, Job, Outcome
from hourhand.memory.adapters import wrapped
from hourhand.ports.handler_directory import HandlerInfo
from hourhand.ports.handler_runner import Finished, HandlerRunner, Pulse
from hourhand.wiring.adapters import Adapters

RUN, CHILD = "fan-out", "child"
ItemName = tuple[str, str]
"""The partition key of an item and its sort key, which is left empty for the hot item of a job."""

_KEYS: Mapping[str, Callable[[Any], Iterable[ItemName]]] = {
    "put": lambda job: [(job.id, "")],
    "put_many": lambda jobs: [(job.id, "") for job in jobs],
    "transition": lambda move: [(move.job_id, "")],
    "transition_many": lambda moves: [(move.job_id, "") for move in moves],
    "write_item": lambda update: [(update.key.partition, update.key.sort)],
}
"""Which items a call of a store writes, refused writes included."""


class _CountedStore:
    """A store whose writes are counted by item."""

    def __init__(self, store: Any, writes: Counter[ItemName]) -> None:
        self._store, self._writes = store, writes

    def __getattr__(self, method: str) -> Any:
        call, keys = getattr(self._store, method), _KEYS.get(method)
        if keys is None:
            return call

        def counted(written: Any) -> Any:
            self._writes.update(keys(written))
            return call(written)

        return counted


@dataclass(frozen=True, slots=True)
class _FamilyRunner:
    """Runs the run in the calling thread; a child takes its time and returns its payload."""

    cloud: FanOutCloud
    of_run: Run
    child: HandlerRunner

    def run(self, job: Job, text: str, error: ErrorInfo | None, pulse: Pulse) -> Finished:
        """Implement the port `HandlerRunner`."""
        self.cloud.starts[job.id] += 1
        if job.parent is None:
            return self.of_run(job, pulse)
        self.child.run(job, text, error, pulse)
        return Finished(outcome=Outcome.SUCCEEDED, result_text=text)


class FanOutCloud(MemoryCloud):
    """An installation with one run, whose children are the jobs of the load.

    ``starts``: how often the handler of each job was called. ``writes``: those of each item.
    """

    def __init__(self, load: Load, body: Body) -> None:
        """Wire everything; nothing happens yet."""
        self.starts: Counter[str] = Counter()
        self.writes: Counter[ItemName] = Counter()
        self._body = body
        self._run_id = ""
        super().__init__(load)

    def play_run(self) -> Job:
        """Let the run submit its children, and return it at its end."""
        self._source.begin()
        self.fleet.warm(self.load.workers)
        self.time.start(LOAD_FROM, self._submit_run)
        for minute in range(int(LONGEST_SECONDS / MINUTE)):
            self.time.start(minute * MINUTE, partial(self._tick, minute))
        while not self._has_ended() and self.time.monotonic() < LONGEST_SECONDS:
            self.time.run_until(self.time.monotonic() + STEP_SECONDS)
        # The last children are finished: their entries are removed.
        self.time.run_until(self.time.monotonic() + STEP_SECONDS)
        self.time.close()
        return self.jobs.jobs()[self._run_id]

    def _has_ended(self) -> bool:
        return bool(self._run_id) and self.jobs.jobs()[self._run_id].status.is_final

    def _submit_run(self) -> None:
        request = JobSubmission.parse({"handler": RUN})
        self._run_id = self._api.submission.submit(request, actor="bench").job.id

    def _handler_infos(self) -> tuple[HandlerInfo, ...]:
        return HandlerInfo(name=RUN, run_timeout_seconds=DAY), HandlerInfo(name=CHILD)

    def _adapters(self) -> Adapters:
        return wrapped(
            super()._adapters(),
            ("jobs", "side_items"),
            lambda store, _: _CountedStore(store, self.writes),
        )

    def _runner(self) -> HandlerRunner:
        of_run = worker_of(self._body, self.waiting_clock)
        return _FamilyRunner(self, of_run, super()._runner())
