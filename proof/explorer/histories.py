"""Where actors are: their operation and its answers so far, each distinct history worked out once.

A history is a node of a tree. Very many states of the whole share few histories, so nearly every
step of an actor is a look-up, and the real code runs only for a history that is new.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from hourhand.domain.errors import HourhandError
from proof.explorer.process import ScriptedProcess, worker_name
from proof.explorer.scenario import Scenario
from proof.explorer.script import Answer, Call, Pending, Script
from proof.explorer.values import Interner

ANY_TIME = -1


@dataclass(frozen=True, slots=True)
class Root:
    """An operation of one process. ``label`` is for people; ``number`` is the process's own.

    ``subject``: what it was given, as a number.
    """

    label: str
    number: int
    act: Callable[[ScriptedProcess], object]
    subject: int = -1

    @property
    def worker(self) -> str:
        """The name by which the process owns jobs."""
        return worker_name(self.number)


@dataclass(slots=True)
class History:
    """An actor in the middle of its operation, or at its end.

    ``call``: the number of the call that it makes next; ``None``: it ended, with ``result`` or
    ``error``. ``at_ms``: when it went on after the last answer. ``reads_clock``: whether it read
    its clock since. ``complaints``: what it told of that must not happen.
    """

    number: int
    root: Root
    at_ms: int
    parent: History | None
    answer: int
    call: int | None
    result: Any
    error: BaseException | None
    reads_clock: bool
    complaints: tuple[str, ...]
    children: dict[tuple[int, int], History]

    @property
    def has_ended(self) -> bool:
        """Whether the operation is over."""
        return self.call is None


class Histories:
    """Every history that was met, by number. Runs the real code for those that are new."""

    def __init__(
        self, scenario: Scenario, calls: Interner, fixed: Callable[[Call], Answer | None]
    ) -> None:
        """Take the numbers of calls, and what answers the calls that nobody can change."""
        self.answers = Interner()
        self.runs = 0
        self._scenario = scenario
        self._calls = calls
        self._fixed = fixed
        self._all: list[History] = []
        self._roots: dict[tuple[str, int, int], History] = {}

    def __getitem__(self, number: int) -> History:
        """Return the history of that number."""
        return self._all[number]

    def __len__(self) -> int:
        """Return how many were met."""
        return len(self._all)

    def begin(self, root: Root, now_ms: int) -> History:
        """Return the history of an operation that begins now, up to its first call."""
        key = (root.label, root.subject, now_ms)
        found = self._roots.get(key)
        if found is None:
            found = self._run(root, now_ms, None, -1)
            self._roots[key] = found
        return found

    def after(self, history: History, answer: int, now_ms: int) -> History:
        """Return the history in which the last call had this answer, and the actor goes on now."""
        children = history.children
        # Who did not look at its clock goes on in the same way whenever that is.
        found = children.get((answer, now_ms)) or children.get((answer, ANY_TIME))
        if found is None:
            found = self._run(history.root, now_ms, history, answer)
            children[answer, now_ms if found.reads_clock else ANY_TIME] = found
        return found

    def belated(self, history: History, now_ms: int) -> History:
        """Return the same history, but that the actor stood still before it read its clock."""
        assert history.parent is not None
        return self.after(history.parent, history.answer, now_ms)

    def _run(self, root: Root, now_ms: int, parent: History | None, answer: int) -> History:
        self.runs += 1
        steps: list[tuple[Answer, int]] = []
        if parent is not None:
            steps.append((self.answers.value(answer), now_ms))
        before = parent
        while before is not None and before.parent is not None:
            steps.append((self.answers.value(before.answer), before.at_ms))
            before = before.parent
        steps.reverse()
        script = Script(before.at_ms if before is not None else now_ms, steps, self._fixed)
        process = ScriptedProcess(self._scenario, script, root.label, root.number)
        result, error = None, None
        try:
            result = root.act(process)
        except Pending:
            pass
        except Exception as raised:  # noqa: BLE001 - judged below, told by the rules
            error = raised
        call = None if script.next_call is None else self._calls.number(script.next_call)
        if call is None and error is not None and not isinstance(error, HourhandError):
            script.complaints.append(f"{root.label} raised {type(error).__name__}: {error}")
        history = History(
            number=len(self._all),
            root=root,
            at_ms=now_ms,
            parent=parent,
            answer=answer,
            call=call,
            result=result,
            error=error,
            reads_clock=script.reads_clock,
            complaints=tuple(script.complaints),
            children={},
        )
        self._all.append(history)
        return history
