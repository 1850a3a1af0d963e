"""Branches of a durable run side by side: races of functions, and maps over a function."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextvars import copy_context
from dataclasses import dataclass, field
from typing import Any

from hourhand.domain.runs.answers import NOW, Failure, Value
from hourhand.domain.runs.calls import EndOfWait, EndWait
from hourhand.handlers._errors import (
    InvalidCall,
    MapFailed,
    StepFailed,
    Suspended,
    holds_suspension,
)
from hourhand.handlers._runs.calls import Branch
from hourhand.handlers._runs.child_calls import MapResults, whole_number
from hourhand.handlers._runs.state import PendingCall
from hourhand.handlers._runs.steps import plain_step

MAX_THREADS = 16
"""The items of a map over a function that are worked off at a time."""

MAX_BRANCHES = 16
"""Branches of one race: each takes a thread of a sync handler."""


@dataclass(frozen=True, slots=True)
class _End:
    """How a branch ended; with `Suspended`, it has not: it waits, or comes to a new call."""

    value: Any = None
    error: BaseException | None = None

    @property
    def is_open(self) -> bool:
        return holds_suspension(self.error)


@dataclass(slots=True)
class Race:
    """A race of functions, each of which gets a branch of its own.

    First each branch is replayed without a new call. One that ends so has won before: its worker
    was lost before it recorded the winner. The branches that lost are replayed as well, since a
    compensation needs what their steps registered.
    """

    branch: Branch
    path: str
    functions: Sequence[Callable[[Any], Any]]
    context_of: Callable[[Branch], Any]
    _ends: dict[int, _End] = field(default_factory=dict, init=False)
    _branches: dict[int, Branch] = field(default_factory=dict, init=False)

    def run(self) -> Any:
        """Run the race in threads, and return what the winner returned."""
        chosen = self._chosen(self.branch.answer_now(EndOfWait(self.path)))
        for index in range(len(self.functions)):
            self._ends[index] = self._ended(index, self._branch(index, is_lost=True))
        if chosen is None and (first := self._first()) is not None:
            chosen = self._chosen(self.branch.answer_now(self._winning(first)))
        if left := self._left(chosen):
            with ThreadPoolExecutor(len(left)) as pool:
                running = {
                    pool.submit(copy_context().run, self._ended, n, self._branch(n)): n
                    for n in left
                }
                for one in as_completed(running):
                    index, self._ends[running[one]] = running[one], one.result()
                    if chosen is None and self._ends[index].error is None:
                        chosen = self._chosen(self.branch.answer_now(self._winning(index)))
                        self._lose(chosen)
        return self._result(chosen)

    async def run_async(self) -> Any:
        """Run the race in tasks, and return what the winner returned."""
        chosen = self._chosen(await self.branch.answer_async(EndOfWait(self.path)))
        for index in range(len(self.functions)):
            self._ends[index] = await self._ended_async(index, self._branch(index, is_lost=True))
        if chosen is None and (first := self._first()) is not None:
            chosen = self._chosen(await self.branch.answer_async(self._winning(first)))
        pending = {
            asyncio.create_task(self._ended_async(n, self._branch(n))): n
            for n in self._left(chosen)
        }
        while pending:
            done, _ = await asyncio.wait(pending, return_when=asyncio.FIRST_COMPLETED)
            for index, end in [(pending.pop(one), one.result()) for one in done]:
                self._ends[index] = end
                if chosen is None and end.error is None:
                    chosen = self._chosen(await self.branch.answer_async(self._winning(index)))
                    self._lose(chosen)
        return self._result(chosen)

    def _branch(self, index: int, *, is_lost: bool = False) -> Branch:
        self._branches[index] = branch = self.branch.open(f"{self.path}:{index}")
        branch.has_lost = is_lost
        return branch

    def _ended(self, index: int, branch: Branch) -> _End:
        try:
            return _End(self.functions[index](self.context_of(branch)))
        except (Exception, Suspended) as error:  # noqa: BLE001 - the race judges it
            return _End(error=error)

    async def _ended_async(self, index: int, branch: Branch) -> _End:
        try:
            value = self.functions[index](self.context_of(branch))
            return _End(await value if inspect.isawaitable(value) else value)
        except asyncio.CancelledError:
            raise
        except BaseException as error:
            if not isinstance(error, Exception) and not holds_suspension(error):
                raise
            return _End(error=error)

    def _winning(self, index: int) -> EndWait:
        return EndWait(self.path, Value(str(index)))

    def _chosen(self, end: Value | Failure | None) -> int | None:
        return int(end.text) if isinstance(end, Value) else None

    def _first(self) -> int | None:
        return next((n for n, end in sorted(self._ends.items()) if end.error is None), None)

    def _left(self, chosen: int | None) -> list[int]:
        """Return the branches that have to go on."""
        indexes = self._ends if chosen is None else [chosen]
        return [n for n in indexes if self._ends[n].is_open]

    def _lose(self, chosen: int | None) -> None:
        """Let no branch but the winner make another call, and forget what they wait for."""
        for index, branch in self._branches.items():
            branch.has_lost = index != chosen
        self.branch.state.drop_lost()

    def _result(self, chosen: int | None) -> Any:
        if chosen is not None and not (end := self._ends[chosen]).is_open:
            self.branch.state.drop_lost()
            if end.error is None:
                return end.value
            raise end.error
        if chosen is not None and not self.branch.state.unwindings:
            # Another worker recorded a winner that lost here: a replay goes on with it.
            raise self.branch.unwind(NOW)
        if any(end.is_open for end in self._ends.values()):
            raise self.branch.suspended_with_branches()
        error = self._ends[0].error
        assert error is not None, "without a winner every branch failed"
        raise error


def race(
    branch: Branch,
    path: str,
    functions: Sequence[Any],
    context_of: Callable[[Branch], Any],
) -> Any:
    """Race functions of a branch's context. Raises `InvalidCall` for what is no list of them."""
    if not all(map(callable, functions)):
        raise InvalidCall(
            'gather takes children of ctx.submit, or with mode="any" functions that take a branch: '
            "give it the function, and not its call."
        )
    if len(functions) > MAX_BRANCHES:
        raise InvalidCall(f"A race has at most {MAX_BRANCHES} branches, not {len(functions)}.")
    entered = Race(branch, path, functions, context_of)
    if branch.state.is_async:
        return PendingCall(entered.run_async, path, branch.state)
    return entered.run()


def map_function(
    branch: Branch,
    path: str,
    function: Callable[[Any], Any],
    items: Sequence[Any],
    concurrency: int | None,
    tolerate: int | None,
) -> Any:
    """Call a function with each item, as a step of its own. Raises `MapFailed`.

    A step that must wait, for its retry or for another invocation, suspends the run once the others
    that began have ended.
    """
    threads = whole_number("concurrency", concurrency, MAX_THREADS) or MAX_THREADS
    given = branch, path, function, items, threads, tolerate
    if branch.state.is_async:
        return PendingCall(lambda: _map_async(*given), path, branch.state)
    return _map_in_threads(*given)


def _map_in_threads(
    branch: Branch,
    path: str,
    function: Callable[[Any], Any],
    items: Sequence[Any],
    threads: int,
    tolerate: int | None,
) -> MapResults:
    def step(index: int) -> Any:
        if branch.suspending or branch.state.unwinding is not None:
            return Suspended("another item unwinds the run")
        # A context of its own: it belongs to its thread.
        own = branch.below(f"{path}:")
        try:
            return own.carry_out_now(plain_step(own, f"{path}:{index}", function, items[index]))
        except (StepFailed, Suspended) as end:
            return end

    with ThreadPoolExecutor(threads) as pool:
        # Each in a context of its own: one is not entered twice at a time.
        begun = [pool.submit(copy_context().run, step, index) for index in range(len(items))]
        ended = [one.result() for one in begun]
    return _results(branch, path, ended, tolerate)


async def _map_async(
    branch: Branch,
    path: str,
    function: Callable[[Any], Any],
    items: Sequence[Any],
    tasks: int,
    tolerate: int | None,
) -> MapResults:
    room = asyncio.Semaphore(tasks)

    async def step(index: int) -> Any:
        async with room:
            if branch.state.unwinding is not None:
                return Suspended("another item unwinds the run")
            own = branch.below(f"{path}:")
            course = plain_step(own, f"{path}:{index}", function, items[index])
            try:
                return await own.carry_out_async(course)
            except (StepFailed, Suspended) as end:
                return end

    ended = await asyncio.gather(*(step(index) for index in range(len(items))))
    return _results(branch, path, ended, tolerate)


def _results(branch: Branch, path: str, ended: Sequence[Any], tolerate: int | None) -> MapResults:
    if any(isinstance(end, Suspended) for end in ended):
        raise branch.suspended_with_branches()
    failed = [n for n, end in enumerate(ended) if isinstance(end, StepFailed)]
    if tolerate is not None and len(failed) > tolerate:
        raise MapFailed(path, f"{len(failed)} of {len(ended)} items failed. {ended[failed[0]]}")
    values = (None if isinstance(end, StepFailed) else end for end in ended)
    return MapResults(values, [], failed)
