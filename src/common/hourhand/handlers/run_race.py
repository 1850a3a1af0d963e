"""Races of branches: the first one that succeeds wins, and the journal says which it was."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextvars import copy_context
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from hourhand.domain.durable.calls import NOW, Failure, Value
from hourhand.domain.durable.run_calls import EndOfWait, EndWait, OpenBranch
from hourhand.handlers._errors import InvalidCall, Suspended, holds_suspension

if TYPE_CHECKING:
    from hourhand.handlers.run_context import RunContext

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

    context: RunContext
    path: str
    functions: Sequence[Callable[[RunContext], Any]]
    _ends: dict[int, _End] = field(default_factory=dict, init=False)
    _branches: dict[int, RunContext] = field(default_factory=dict, init=False)

    def run(self) -> Any:
        """Run the race in threads, and return what the winner returned."""
        context = self.context
        chosen = self._chosen(context.ask_now(EndOfWait(self.path)))
        for index in range(len(self.functions)):
            self._ends[index] = _ended(self.functions[index], self._branch(index, is_lost=True))
        if chosen is None and (first := self._first()) is not None:
            chosen = self._chosen(context.ask_now(self._winning(first)))
        if left := self._left(chosen):
            with ThreadPoolExecutor(len(left)) as pool:
                running = {
                    pool.submit(copy_context().run, _ended, self.functions[n], self._branch(n)): n
                    for n in left
                }
                for one in as_completed(running):
                    index, self._ends[running[one]] = running[one], one.result()
                    if chosen is None and self._ends[index].error is None:
                        chosen = self._chosen(context.ask_now(self._winning(index)))
                        self._lose(chosen)
        return self._result(chosen)

    async def run_async(self) -> Any:
        """Run the race in tasks, and return what the winner returned."""
        context = self.context
        chosen = self._chosen(await context.ask_async(EndOfWait(self.path)))
        for index in range(len(self.functions)):
            branch = self._branch(index, is_lost=True)
            self._ends[index] = await _ended_async(self.functions[index], branch)
        if chosen is None and (first := self._first()) is not None:
            chosen = self._chosen(await context.ask_async(self._winning(first)))
        pending = {
            asyncio.create_task(_ended_async(self.functions[n], self._branch(n))): n
            for n in self._left(chosen)
        }
        while pending:
            done, _ = await asyncio.wait(pending, return_when=asyncio.FIRST_COMPLETED)
            for index, end in [(pending.pop(one), one.result()) for one in done]:
                self._ends[index] = end
                if chosen is None and end.error is None:
                    chosen = self._chosen(await context.ask_async(self._winning(index)))
                    self._lose(chosen)
        return self._result(chosen)

    def _branch(self, index: int, *, is_lost: bool = False) -> RunContext:
        path = f"{self.path}:{index}"
        self.context.run.answer(OpenBranch(path))
        self._branches[index] = branch = self.context.below(f"{path}/")
        branch.has_lost = is_lost
        return branch

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
        self.context.state.drop_lost()

    def _result(self, chosen: int | None) -> Any:
        if chosen is not None and not (end := self._ends[chosen]).is_open:
            self.context.state.drop_lost()
            if end.error is None:
                return end.value
            raise end.error
        if chosen is not None and not self.context.state.unwindings:
            # Another worker recorded a winner that lost here: a replay goes on with it.
            raise self.context.unwind(NOW)
        if any(end.is_open for end in self._ends.values()):
            raise self.context.suspended_with_branches()
        error = self._ends[0].error
        assert error is not None, "without a winner every branch failed"
        raise error


def race(context: RunContext, path: str, functions: Sequence[Any]) -> Race:
    """Return a race. Raises `InvalidCall` for what is no list of functions."""
    if not all(map(callable, functions)):
        raise InvalidCall(
            'gather takes children of ctx.submit, or with mode="any" functions that take a branch: '
            "give it the function, and not its call."
        )
    if len(functions) > MAX_BRANCHES:
        raise InvalidCall(f"A race has at most {MAX_BRANCHES} branches, not {len(functions)}.")
    return Race(context, path, functions)


def _ended(function: Callable[[RunContext], Any], branch: RunContext) -> _End:
    try:
        return _End(function(branch))
    except (Exception, Suspended) as error:  # noqa: BLE001 - the race judges it
        return _End(error=error)


async def _ended_async(function: Callable[[RunContext], Any], branch: RunContext) -> _End:
    try:
        value = function(branch)
        return _End(await value if inspect.isawaitable(value) else value)
    except asyncio.CancelledError:
        raise
    except BaseException as error:
        if not isinstance(error, Exception) and not holds_suspension(error):
            raise
        return _End(error=error)
