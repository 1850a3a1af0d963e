"""A process that calls AWS: each request takes its round trip, and the process may die at one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, TypeVar, cast

from bench.lateness.assumptions import CLIENT_SECONDS, ROUND_TRIP_SECONDS
from bench.lateness.virtual_time import VirtualTime
from hourhand.aws.clients import MAX_CONNECTIONS
from hourhand.ports import Found
from hourhand.testing import Crash

P = TypeVar("P")

ITEMS_A_REQUEST = {"queues.send": 10, "jobs.get_many": 100, "jobs.transition_many": 25}
"""Of the calls that take many (SQS and DynamoDB API references)."""

SWEEP_BEGINS, LAST = "jobs.read_bucket", "control.release_lease"
"""What a sweep does first; what a leader does last, where one that is doomed dies at the latest."""

REQUESTS_A_CALL = {"queues.probe_time": 3, "queues.view": 3, "jobs.count_dead": 8}
"""Of the calls that make more than one: the probe is sent, received and deleted."""


class Process:
    """Wraps the ports of one process. It is killed at a request of its sweep: number ``dies_at``.

    What a request does is done at the end of its round trip, and not at all by one at which the
    process dies. Requests follow one another, but for those that a call of many is made of: they
    are made side by side, as our adapters do. Our own time for each is never shared.
    """

    def __init__(self, time: VirtualTime, dies_at: int | None = None) -> None:
        """Start it; no request was made yet."""
        self.requests = 0
        self._swept = 0
        self._time = time
        self._dies_at = dies_at

    def remote(self, port: P, name: str) -> P:
        """Return ``port`` as this process reaches it."""
        return cast("P", _RemotePort(port, name, self))

    def make_requests(self, name: str, works: Sequence[Callable[[], Any]]) -> list[Any]:
        """Make requests side by side: return what they answer, a round trip later.

        Raises `Crash` in a process that dies here, or did before.
        """
        self.requests += len(works)
        self._swept += len(works) if self._swept or name == SWEEP_BEGINS else 0
        surviving = len(works)
        if self._dies_at is not None and (self._swept >= self._dies_at or name == LAST):
            surviving = max(0, self._dies_at - 1 - (self._swept - len(works)))
            surviving = 0 if name == LAST else surviving
        if surviving:
            self._time.sleep(ROUND_TRIP_SECONDS + surviving * CLIENT_SECONDS)
        answers = [work() for work in works[:surviving]]
        if surviving < len(works):
            raise Crash(f"killed at {name}, after {surviving} of {len(works)} requests")
        return answers


class _RemotePort:
    """A port at the other end of a wire."""

    def __init__(self, port: Any, name: str, process: Process) -> None:
        self._port, self._name, self._process = port, name, process

    def __getattr__(self, method: str) -> Any:
        name, target = f"{self._name}.{method}", getattr(self._port, method)
        of_many = name in ITEMS_A_REQUEST
        call = self._in_parts(name, target) if of_many else self._whole(name, target)
        self.__dict__[method] = call
        return call

    def _whole(self, name: str, target: Callable[..., Any]) -> Callable[..., Any]:
        make_requests, before = self._process.make_requests, REQUESTS_A_CALL.get(name, 1) - 1

        def call(*arguments: Any, **named: Any) -> Any:
            for _ in range(before):
                make_requests(name, [_nothing])
            return make_requests(name, [partial(target, *arguments, **named)])[0]

        return call

    def _in_parts(self, name: str, target: Callable[..., Any]) -> Callable[..., Any]:
        make_requests, size = self._process.make_requests, ITEMS_A_REQUEST[name]

        def call(items: Sequence[Any]) -> Any:
            works = [partial(target, items[at : at + size]) for at in range(0, len(items), size)]
            answers = []
            for first in range(0, len(works), MAX_CONNECTIONS):
                answers += make_requests(name, works[first : first + MAX_CONNECTIONS])
            return _joined(answers)

        return call


def _nothing() -> None:
    """Be a request that only takes its time."""


def _joined(answers: list[Any]) -> Any:
    """Return the answers to the parts of a call as the one to the whole of it."""
    if answers and isinstance(answers[0], Found):
        # What one part left to a newer version, the whole leaves to it.
        known = {key: value for answer in answers for key, value in answer.items()}
        return Found(known, next((one.left for one in answers if one.left is not None), None))
    return [one for answer in answers for one in answer]
