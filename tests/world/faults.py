"""Ports that fail on purpose at a chosen call: throttled, with a lost answer, or by a crash."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import partial
from typing import Any, Self, TypeVar, cast

from hourhand.domain.errors import Unavailable
from hourhand.testing import Crash

P = TypeVar("P")

READS = frozenset(
    {
        *("get", "get_many", "get_details", "get_text", "read_bucket", "list_jobs"),
        *("read_buckets", "count_dead"),
        *("read_lease", "read_shard_map", "read_watermark", "read_resweep", "read_tick"),
        "read_pauses",
        "read_overrides",
        *("read_secret", "read_callers"),
        *("view", "counts", "probe_time", "find", "all", "advice", "id", "is_live"),
        *(
            "get_definition",
            "get_definitions",
            "read_due",
            "list_schedules",
            "read_journal",
            "read_events",
            "get_backfill",
            "list_backfills",
        ),
        *("get_walk", "get_calendar", "get_calendars", "list_calendars"),
        *("read_item", "read_items", "query_items", "count_items"),
        *("now", "monotonic", "sleep", "correct", "job_id", "nonce", "fraction", "secret"),
        *("info", "warning", "count", "observe", "gauge", "flush"),
    }
)
"""The methods of ports that leave nothing in any store or queue.

A crash right before one of them is a crash right after the write before it.
"""


class When(StrEnum):
    """On which side of a call something happens."""

    BEFORE = "before"
    AFTER = "after"


@dataclass(frozen=True, slots=True)
class Call:
    """One call of a wrapped port.

    ``number`` counts the calls of all ports wrapped by the same `Faults`, from 1; ``nth`` those
    of this method of this port.
    """

    port: str
    method: str
    number: int
    nth: int


_Proceed = Callable[..., Any]
_Act = Callable[..., Any]


@dataclass(frozen=True, slots=True)
class _Fault:
    """What happens at the calls that match, in place of the plain call."""

    matches: Callable[[Call], bool]
    act: _Act


class Faults:
    """The plan of what goes wrong for one process, and the log of the calls that it made.

    Wrap the ports of a process with the same `Faults`. Methods in ``ignoring`` are not counted
    and not harmed: with `READS` the calls are the writes alone. After a crash every further call
    of the process (in a ``finally``, say) crashes too and does nothing.
    Methods are named as ``put``, or as ``jobs.put`` for a port wrapped under the name ``jobs``;
    ``nth`` counts the calls of a method of one port, from 1.
    """

    def __init__(self, *, ignoring: Collection[str] = ()) -> None:
        """Plan nothing yet."""
        self.calls: list[Call] = []
        self.is_crashed = False
        self._ignoring = frozenset(ignoring)
        self._faults: list[_Fault] = []
        self._named: list[str] = []
        self._known: frozenset[str] | None = None
        self._counts: Counter[tuple[str, str]] = Counter()
        self._lock = threading.RLock()

    def wrap(self, port: P, name: str | None = None) -> P:
        """Return ``port`` with these faults; ``name`` (default: its class's) identifies it."""
        return cast("P", _FaultyPort(port, name or type(port).__name__, self))

    def allow_only(self, ports: Mapping[str, type]) -> None:
        """Refuse a fault that names no method of these ports, because no call would meet it.

        ``ports`` has the protocol of each port, by the name under which it is wrapped. Raises
        `ValueError` for a fault that is planned already; planning a later one raises it, too.
        """
        self._known = frozenset(
            name
            for port, protocol in ports.items()
            for method in vars(protocol)
            if not method.startswith("_")
            for name in (method, f"{port}.{method}")
        )
        for method in self._named:
            self._require_known(method)

    # --- the plan; each part returns the plan, for the next part ---

    def crash(self, number: int, when: When) -> Self:
        """Let the process die right before or after its call of that number."""

        def die(proceed: _Proceed, *args: Any, **kwargs: Any) -> Any:
            if when is When.AFTER:
                proceed(*args, **kwargs)
            self.is_crashed = True
            raise Crash(f"{when} call {number}")

        self._faults.append(_Fault(lambda call: call.number == number, die))
        return self

    def crash_within(self, method: str, items: int, *, nth: int = 1) -> Self:
        """Let the process die in a call that takes a list, when ``items`` of it were applied."""

        def die(proceed: _Proceed, batch: Any, *args: Any, **kwargs: Any) -> Any:
            proceed(batch[:items], *args, **kwargs)
            self.is_crashed = True
            raise Crash(f"within {method}, after {items} items")

        return self._plan(method, nth, 1, die)

    def throttle(self, method: str, *, nth: int = 1, times: int = 1) -> Self:
        """Raise `Unavailable` instead of making the call."""
        return self.fail(
            method, Unavailable(f"{method} was throttled on purpose."), nth=nth, times=times
        )

    def fail(self, method: str, error: Exception, *, nth: int = 1, times: int = 1) -> Self:
        """Raise ``error`` instead of making the call, such as one that no adapter translated."""

        def refuse(_proceed: _Proceed, *_args: Any, **_kwargs: Any) -> Any:
            raise error

        return self._plan(method, nth, times, refuse)

    def lose_answer(self, method: str, *, nth: int = 1, times: int = 1) -> Self:
        """Make the call, then raise `Unavailable`: it was applied, but its answer is lost."""

        def lose(proceed: _Proceed, *args: Any, **kwargs: Any) -> Any:
            proceed(*args, **kwargs)
            raise Unavailable(f"The answer of {method} was lost on purpose.")

        return self._plan(method, nth, times, lose)

    def interrupt(
        self, method: str, action: Callable[[], object], *, nth: int = 1, when: When = When.BEFORE
    ) -> Self:
        """Do ``action`` beside the call: another actor's step, or time that passes."""

        def step_in(proceed: _Proceed, *args: Any, **kwargs: Any) -> Any:
            if when is When.BEFORE:
                action()
                return proceed(*args, **kwargs)
            result = proceed(*args, **kwargs)
            action()
            return result

        return self._plan(method, nth, 1, step_in)

    def _plan(self, method: str, nth: int, times: int, act: _Act) -> Self:
        self._require_known(method)
        self._named.append(method)
        self._faults.append(_Fault(_calls_of(method, nth, times), act))
        return self

    def _require_known(self, method: str) -> None:
        if self._known is not None and method not in self._known:
            raise ValueError(f"No port has a method {method}, so no call would meet this fault.")

    # --- the calls ---

    def make_call(
        self, port: str, method: str, target: _Proceed, args: tuple[Any, ...], kwargs: Any
    ) -> Any:
        """Make one call of a wrapped port, with what was planned for it."""
        with self._lock:
            if self.is_crashed:
                raise Crash(f"{port}.{method} was called by a dead process")
            if method in self._ignoring:
                return target(*args, **kwargs)
            self._counts[port, method] += 1
            call = Call(port, method, len(self.calls) + 1, self._counts[port, method])
            self.calls.append(call)
        proceed = target
        for fault in self._faults:
            if fault.matches(call):
                proceed = partial(fault.act, proceed)
        return proceed(*args, **kwargs)


class _FaultyPort:
    """Passes everything on to a port, and its calls through `Faults`."""

    def __init__(self, port: object, name: str, faults: Faults) -> None:
        self._port = port
        self._name = name
        self._faults = faults

    def __getattr__(self, attribute: str) -> Any:
        target = getattr(self._port, attribute)
        if not callable(target):
            return target

        def call(*args: Any, **kwargs: Any) -> Any:
            return self._faults.make_call(self._name, attribute, target, args, kwargs)

        return call


def _calls_of(method: str, nth: int, times: int) -> Callable[[Call], bool]:
    def matches(call: Call) -> bool:
        is_named = method in {call.method, f"{call.port}.{call.method}"}
        return is_named and nth <= call.nth < nth + times

    return matches
