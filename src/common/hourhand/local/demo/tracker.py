"""What the demo watches while it runs: processes, batches, attempts, ticks and metrics."""

from __future__ import annotations

import json
import threading
from collections import Counter, defaultdict
from dataclasses import dataclass, field

from hourhand.local.news import (
    BatchBegun,
    BatchEnded,
    ChildDied,
    Logged,
    Measured,
    News,
    Ticked,
)

ATTEMPT_ENDED = "An attempt ended."


@dataclass(frozen=True, kw_only=True, slots=True)
class Casualty:
    """A process that died, and the jobs whose messages it held then."""

    name: str
    pid: int
    at_monotonic: float
    job_ids: tuple[str, ...]


@dataclass(slots=True)
class Tracker:
    """Adds up what the cloud tells, from whichever thread."""

    outcomes: Counter[str] = field(default_factory=Counter)
    ended_jobs: set[str] = field(default_factory=set)
    casualties: list[Casualty] = field(default_factory=list)
    ticks: list[Ticked] = field(default_factory=list)
    measured: dict[str, list[float]] = field(default_factory=lambda: defaultdict(list))
    _held: dict[int, tuple[str, ...]] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def tell(self, news: News) -> None:
        """Note what happened."""
        with self._lock:
            self._note(news)

    def total(self, metric: str) -> int:
        """Return the sum of everything measured under ``metric``."""
        with self._lock:
            return int(sum(self.measured[metric]))

    def retries(self) -> int:
        """Return how many attempts ended in anything but success."""
        with self._lock:
            return sum(n for outcome, n in self.outcomes.items() if outcome != "SUCCEEDED")

    def leading_ticks(self) -> list[Ticked]:
        """Return the ticks that led."""
        with self._lock:
            return [tick for tick in self.ticks if tick.report and tick.report["led"]]

    def _note(self, news: News) -> None:
        match news:
            case BatchBegun():
                self._held[news.pid] = tuple(json.loads(body)["job"] for body in news.bodies)
            case BatchEnded(crash=None):
                self._held.pop(news.pid, None)
            case ChildDied():
                self.casualties.append(
                    Casualty(
                        name=news.name,
                        pid=news.pid,
                        at_monotonic=news.at_monotonic,
                        job_ids=self._held.pop(news.pid, ()),
                    )
                )
            case Ticked():
                self.ticks.append(news)
            case Measured():
                for name, values in news.values.items():
                    self.measured[name].extend(values)
            case Logged():
                self._note_line(news)
            case _:
                pass

    def _note_line(self, line: Logged) -> None:
        if line.sentence != ATTEMPT_ENDED:
            return
        self.outcomes[line.fields["outcome"]] += 1
        if line.fields["outcome"] == "SUCCEEDED":
            self.ended_jobs.add(line.fields["job_id"])
