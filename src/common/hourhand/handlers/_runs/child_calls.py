"""The children of a durable handler: calls that submit jobs and wait for them, and maps."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import partial
from typing import Any, Literal, overload

from hourhand.domain.errors import CannotStart
from hourhand.domain.jobs.job import ErrorInfo
from hourhand.domain.jobs.parents import ChildSpec
from hourhand.domain.jobs.waiting import WaitKind
from hourhand.domain.runs.answers import NOW, Failure, Suspension, Value
from hourhand.domain.runs.calls import (
    CancelChildren,
    ChildFailure,
    ChildIds,
    ChildrenTotal,
    ChildResults,
    EndOfWait,
    EndWait,
    FindJoined,
    JoinedAt,
    NextChildren,
    WaitUntil,
)
from hourhand.domain.runs.joins import MAX_CHILDREN, ChildrenCall, JoinedCall, is_decided
from hourhand.domain.runs.names import IN_TIME, MAP_END, MAX_NAME
from hourhand.handlers._errors import (
    ChildFailed,
    ChildTimeout,
    Deadlock,
    InvalidCall,
    MapFailed,
    TooManyChildren,
)
from hourhand.handlers._results import result_text
from hourhand.handlers._runs.calls import Ask, Branch, Course
from hourhand.handlers._runs.waits import optional_span
from hourhand.handlers._submission import SubmitOptions, handler_of_function

MAX_GATHERED = 100
"""Children of one ``gather``; `RunContext.map` takes more."""

EAGER_RESULTS = 1_000
"""Up to how many results ``map`` reads at once. The sequence of more reads them where asked."""

RESULTS_TOGETHER = 100
"""Results that are read at a time."""

SUBMIT_RESERVE_SECONDS = 30.0
"""What must be left of an invocation's time before the next children are submitted."""

CHILD_OPTIONS = sorted(
    SubmitOptions.__annotations__.keys() - {"id", "idempotency_key", "unique", "debounce"}
)
"""What a child may state beside handler and payload, as in a submission."""

_FAILED_IN_TIME = ErrorInfo(type="ChildFailed", message="A child failed in time.", retryable=False)

OnParentEnd = Literal["cancel", "abandon"]
Timeout = float | timedelta | None
GatherMode = Literal["all", "any", "settled"]


@dataclass(frozen=True, slots=True)
class Child:
    """A child job that was submitted. ``id``: the id of the job."""

    id: str
    path: str
    _result: Callable[[Timeout], Any]

    def result(self, timeout: Timeout = None) -> Any:
        """Wait for the child and return its result; an ``async`` handler awaits it.

        ``timeout``: how long to wait; then the child is cancelled, and `ChildTimeout` raised.
        Raises `ChildFailed` if the child ended DEAD, CANCELLED or EXPIRED.
        """
        return self._result(timeout)


class MapResults(list[Any]):
    """The results of a map, in the order of its items; ``None`` of children that failed.

    ``ids``: of all children. ``failed``: the indexes of those that failed.
    """

    def __init__(self, values: Iterable[Any], ids: list[str], failed: list[int]) -> None:
        """Take the values, and what is known of the children."""
        super().__init__(values)
        self.ids, self.failed = ids, failed

    def results(self) -> list[Any]:
        """Return all results as a list."""
        return list(self)


@dataclass(slots=True)
class LazyResults(Sequence[Any]):
    """The results of a large map, which are read a hundred at a time. See `MapResults`."""

    ids: list[str]
    failed: list[int]
    _read: Callable[[range], list[str | None]]
    _page: tuple[int, list[Any]] = field(default=(-1, []), init=False)

    def __len__(self) -> int:
        return len(self.ids)

    @overload
    def __getitem__(self, index: int) -> Any: ...
    @overload
    def __getitem__(self, index: slice) -> list[Any]: ...
    def __getitem__(self, index: int | slice) -> Any:
        if isinstance(index, slice):
            return [self[n] for n in range(*index.indices(len(self)))]
        number, place = divmod(range(len(self))[index], RESULTS_TOGETHER)
        if self._page[0] != number:
            first = number * RESULTS_TOGETHER
            texts = self._read(range(first, min(first + RESULTS_TOGETHER, len(self))))
            self._page = number, list(map(_value_of, texts))
        return self._page[1][place]

    def results(self) -> list[Any]:
        """Return all results as a list."""
        return list(self)


# --- courses ---


def submit(branch: Branch, submission: NextChildren, *, is_bounded: bool = True) -> Course:
    """Submit one child, and return it."""
    branch.require_running()
    path = submission.path
    yield Ask(lambda: _next_children(branch, submission, is_bounded=is_bounded))
    ids = yield ChildIds(path)

    def result(timeout: Timeout) -> Any:
        branch.require_own()
        longest = optional_span("timeout", timeout)
        return branch.carry_out(path, _result_in_time(branch, path, longest))

    return Child(ids[0], path, result)


def submit_and_wait(branch: Branch, submission: NextChildren, timeout: timedelta | None) -> Course:
    """Submit one child, wait for it, and return its result."""
    yield from submit(branch, submission)
    return (yield from _result_in_time(branch, submission.path, timeout))


def gather(
    branch: Branch,
    path: str,
    children: Sequence[Child],
    mode: GatherMode,
    timeout: timedelta | None,
) -> Course:
    """Wait for several children, and return their results."""
    if not children:
        return _nothing([])
    paths = [one.path for one in children]
    course = {"all": _gather_all, "any": _gather_any, "settled": _settle}[mode]
    return _in_time(branch, path, paths, timeout, course(branch, path, paths), mode=mode)


def map_children(branch: Branch, submission: NextChildren, timeout: timedelta | None) -> Course:
    """Run a child for each item, and return the results. Raises `MapFailed` for too few items."""
    path, call = submission.path, submission.children
    if call.total < (call.min_success or 0):
        raise MapFailed(
            path, f"{call.min_success} children must succeed, and the map has {call.total} items."
        )
    if not call.total:
        return _nothing(MapResults([], [], []))
    course, submits = _map(branch, submission), submit_next(branch, submission)
    return _in_time(branch, path, [path], timeout, course, submits=submits)


def submit_next(branch: Branch, submission: NextChildren) -> Course:
    """Submit children while their call has room; return how far it is."""
    while True:
        branch.require_running()
        joined: JoinedCall = yield Ask(lambda: _next_children(branch, submission))
        if not joined.has_room or is_decided(submission.children, joined.succeeded, joined.failed):
            return joined
        if branch.remaining_seconds < min(SUBMIT_RESERVE_SECONDS, branch.limit_seconds / 4):
            raise branch.unwind(NOW)


def _nothing(value: Any) -> Course:
    yield Ask(lambda: None)
    return value


def _result_in_time(branch: Branch, path: str, timeout: timedelta | None) -> Course:
    return _in_time(branch, path, [path], timeout, _result_of(branch, path))


def _in_time(
    branch: Branch,
    path: str,
    paths: Sequence[str],
    timeout: timedelta | None,
    course: Course,
    *,
    mode: GatherMode = "settled",
    submits: Course | None = None,
) -> Course:
    """Follow ``course`` if its children end in time; if they do not, cancel them and raise.

    Either is recorded, so that a replay and another owner go the same way. An end with a
    failure is recorded as one: after a redrive the run waits for it again.
    """
    if timeout is not None:
        in_time = path + IN_TIME
        end: Value | Failure | datetime | None = yield EndOfWait(in_time)
        if end is None:
            if submits is not None:
                yield from submits
            joined = yield from _joined(paths)
            if not _are_decided(joined, mode):
                late = f"not ended within {timeout.total_seconds():g} s"
                error = _recorded(ChildTimeout(path, ChildTimeout.__name__, late))
                end = yield WaitUntil(in_time, timeout, Failure(error))
                if isinstance(end, datetime):
                    _require_over(branch, joined, paths, end)
            else:
                has_failed = any(state.failed for state in joined)
                kept = Failure(_FAILED_IN_TIME) if has_failed else Value("null")
                end = yield EndWait(in_time, kept)
        if isinstance(end, Failure) and end.error.type == ChildTimeout.__name__:
            for one in paths:
                yield CancelChildren(one)
            raise _as_recorded(end.error)
    return (yield from course)


def _result_of(branch: Branch, path: str) -> Course:
    joined: JoinedCall = yield JoinedAt(path)
    _require_over(branch, [joined], [path])
    if joined.failed:
        raise (yield from _failure_of(path))
    texts = yield ChildResults(path, range(1))
    return _value_of(texts[0])


def _failure_of(path: str, index: int = 0) -> Course:
    failure: Failure = yield ChildFailure(path, index)
    return _child_failed(path, failure.error.type, failure.error.message)


def _gather_all(branch: Branch, path: str, paths: Sequence[str]) -> Course:
    recorded = yield EndOfWait(path)
    if isinstance(recorded, Failure):
        raise _as_recorded(recorded.error)
    joined = yield from _joined(paths)
    failed = next((one for one, state in zip(paths, joined, strict=True) if state.failed), None)
    if failed is not None:
        error: ChildFailed = yield from _failure_of(failed)
        end = yield EndWait(path, Failure(_recorded(error)))
        raise _as_recorded(end.error)
    _require_over(branch, joined, paths)
    results = []
    for one in paths:
        results.append((yield from _result_of(branch, one)))
    return results


def _gather_any(branch: Branch, path: str, paths: Sequence[str]) -> Course:
    end: Value | Failure | None = yield EndOfWait(path)
    if end is None:
        joined = yield from _joined(paths)
        first = next((n for n, state in enumerate(joined) if state.succeeded), None)
        if first is not None:
            end = yield EndWait(path, Value(str(first)))
        else:
            _require_over(branch, joined, paths)
            error: ChildFailed = yield from _failure_of(paths[0])
            end = yield EndWait(path, Failure(_recorded(error)))
    if isinstance(end, Failure):
        raise _as_recorded(end.error)
    chosen = int(end.text)
    for one in (*paths[:chosen], *paths[chosen + 1 :]):
        yield CancelChildren(one)
    return (yield from _result_of(branch, paths[chosen]))


def _settle(branch: Branch, _path: str, paths: Sequence[str]) -> Course:
    joined = yield from _joined(paths)
    _require_over(branch, joined, paths)
    outcomes: list[Any] = []
    for one, state in zip(paths, joined, strict=True):
        outcome = _failure_of(one) if state.failed else _result_of(branch, one)
        outcomes.append((yield from outcome))
    return outcomes


def _map(branch: Branch, submission: NextChildren) -> Course:
    path, call = submission.path, submission.children
    end_path = f"{path}{MAP_END}"
    end: Value | Failure | None = yield EndOfWait(end_path)
    if end is None:
        joined: JoinedCall = yield from _submit_all(branch, submission)
        if call.most_failures is not None and joined.failed > call.most_failures:
            first = next(joined.failed_indexes())
            error: ChildFailed = yield from _failure_of(path, first)
            end = yield EndWait(end_path, Failure(_map_error(joined, call, error)))
        elif not joined.is_over:
            # Others may yet succeed before they are cancelled: a replay returns the same.
            end = yield EndWait(end_path, _ended(joined))
    if end is not None:
        yield CancelChildren(path)
    if isinstance(end, Failure):
        raise MapFailed(path, end.error.message)
    joined = yield JoinedAt(path)
    ids = yield ChildIds(path)
    failed: list[int] = json.loads((end or _ended(joined)).text)
    left_out = frozenset(failed)
    if call.total > EAGER_RESULTS:
        return LazyResults(ids, failed, lambda some: _read_now(branch, path, some, left_out))
    values: list[Any] = []
    for start in range(0, call.total, RESULTS_TOGETHER):
        some = range(start, min(start + RESULTS_TOGETHER, call.total))
        texts = yield ChildResults(path, some)
        values += map(_value_of, _without(texts, some, left_out))
    return MapResults(values, ids, failed)


def _submit_all(branch: Branch, submission: NextChildren) -> Course:
    """Submit children until their call is over or decided; suspend while they run."""
    joined: JoinedCall = yield from submit_next(branch, submission)
    if joined.is_over or is_decided(submission.children, joined.succeeded, joined.failed):
        return joined
    raise branch.unwind(Suspension(WaitKind.CHILDREN, submission.path))


def _next_children(
    branch: Branch, submission: NextChildren, *, is_bounded: bool = True
) -> JoinedCall:
    path, run = submission.path, branch.run
    if is_bounded and run.answer(FindJoined(path)) is None:
        require_few(path, run.answer(ChildrenTotal()) + submission.children.total)
    try:
        return run.answer(submission)
    except CannotStart as refused:
        raise Deadlock(path, Deadlock.__name__, refused.detail) from None


def _joined(paths: Sequence[str]) -> Course:
    states = []
    for one in paths:
        states.append((yield JoinedAt(one)))
    return states


def _require_over(
    branch: Branch,
    joined: Sequence[JoinedCall],
    paths: Sequence[str],
    until: datetime | None = None,
) -> None:
    """Suspend unless all children of these calls have ended."""
    if not all(state.is_over for state in joined):
        name = paths[0] if len(paths) == 1 else ""
        raise branch.unwind(Suspension(WaitKind.CHILDREN, name, until))


def _read_now(
    branch: Branch, path: str, indexes: range, left_out: frozenset[int]
) -> list[str | None]:
    read = partial(branch.run.answer, ChildResults(path, indexes))
    return _without(branch.ask(read), indexes, left_out)


# --- arguments ---


def one_child(
    branch: Branch,
    name: str | None,
    handler: str | Callable[..., Any],
    payload: Any,
    options: Mapping[str, Any],
    on_parent_end: OnParentEnd = "cancel",
) -> NextChildren:
    """Return the call that submits one child, under ``name`` or that of its handler."""
    named = required_name(handler)
    path = branch.bind(name or call_name(named))
    spec = child_spec(named, payload, options)
    call = ChildrenCall(total=1, handler=named, is_abandoned=is_abandoned(on_parent_end))
    return NextChildren(path, call, lambda _: spec)


def are_functions(children: Sequence[Any], mode: str) -> bool:
    """Whether ``gather`` is to race functions. Raises `InvalidCall` for what it does not take."""
    if mode not in {"all", "any", "settled"}:
        raise InvalidCall(f"mode must be all, any or settled, not {mode!r}.")
    if mode == "any" and children and not any(isinstance(one, Child) for one in children):
        return True
    if len(children) > MAX_GATHERED or not all(isinstance(one, Child) for one in children):
        raise InvalidCall(f"gather takes at most {MAX_GATHERED} children of ctx.submit.")
    return False


def required_name(handler: str | Callable[..., Any]) -> str:
    """Return the name of a handler. Raises `InvalidCall` for a function that is none."""
    name = handler if isinstance(handler, str) else handler_of_function(handler)
    if not name:
        raise InvalidCall(f"A child needs the name of a handler, or a @job function: {handler!r}.")
    return name


def call_name(handler: str) -> str:
    """Return the name that a call has by default: that of its handler."""
    return re.sub(r"[^A-Za-z0-9_-]", "-", handler)[:MAX_NAME]


def is_abandoned(on_parent_end: str) -> bool:
    """Whether a child goes on after its run. Raises `InvalidCall`."""
    if on_parent_end not in {"cancel", "abandon"}:
        raise InvalidCall(f"on_parent_end must be cancel or abandon, not {on_parent_end!r}.")
    return on_parent_end == "abandon"


def child_spec(handler: str, payload: Any, options: Mapping[str, Any]) -> ChildSpec:
    """Return a child as a submission states it. Raises `InvalidCall` and `ResultNotJson`."""
    unknown = sorted(options.keys() - set(CHILD_OPTIONS))
    if unknown:
        allowed = ", ".join(CHILD_OPTIONS)
        raise InvalidCall(f"A child has no option {unknown[0]!r}. Allowed: {allowed}.")
    given = {name: value for name, value in options.items() if value is not None}
    if "delay" in given:
        delay = given.pop("delay")
        given["delay_seconds"] = delay.total_seconds() if isinstance(delay, timedelta) else delay
    fields = {"handler": handler, "payload": payload, **given}
    # One by one: the error names what is not JSON.
    return ChildSpec(
        {name: json.loads(result_text(value, what=name)) for name, value in fields.items()}
    )


def tolerated(tolerate: float | None, total: int) -> int | None:
    """Return how many children may fail: a number, or a share of all. Raises `InvalidCall`."""
    if tolerate is None:
        return None
    is_share = isinstance(tolerate, float)
    if isinstance(tolerate, bool) or tolerate < 0 or (is_share and tolerate > 1):
        raise InvalidCall(
            f"tolerate must be a whole number from 0, or a share from 0.0 to 1.0, not {tolerate!r}."
        )
    return int(tolerate * total) if is_share else int(tolerate)


def whole_number(name: str, value: int | None, most: int) -> int | None:
    """Return an argument that is a whole number from 1 to ``most``. Raises `InvalidCall`."""
    if value is None:
        return None
    if type(value) is not int or not 1 <= value <= most:
        raise InvalidCall(f"{name} must be a whole number from 1 to {most:,}, not {value!r}.")
    return value


def require_few(path: str, total: int) -> None:
    """Raise `TooManyChildren` if a run would have so many children after its call ``path``."""
    if total > MAX_CHILDREN:
        raise TooManyChildren(
            f"With {path}, the run would have {total:,} children in all; at most "
            f"{MAX_CHILDREN:,} are allowed."
        )


def map_items(items: Iterable[Any]) -> list[Any]:
    """Return the items of a map. Raises `TooManyChildren`, and `InvalidCall` for what has none."""
    if not isinstance(items, Iterable):
        raise InvalidCall(f"The items of a map must be a list or another iterable, not {items!r}.")
    listed = list(items)
    require_few("this map", len(listed))
    return listed


def _are_decided(joined: Sequence[JoinedCall], mode: GatherMode) -> bool:
    enough = {"all": any(one.failed for one in joined), "any": any(one.succeeded for one in joined)}
    return enough.get(mode, False) or all(
        state.is_over or is_decided(state.call, state.succeeded, state.failed) for state in joined
    )


def _value_of(text: str | None) -> Any:
    return None if text is None else json.loads(text)


def _ended(joined: JoinedCall) -> Value:
    """Return as JSON the indexes of the children that have not succeeded."""
    return Value(json.dumps([n for n in range(joined.call.total) if joined.end_of(n) != 0]))


def _without(
    texts: Sequence[str | None], indexes: range, left_out: frozenset[int]
) -> list[str | None]:
    """Return the results without those of children that succeeded too late."""
    pairs = zip(indexes, texts, strict=True)
    return [None if index in left_out else text for index, text in pairs]


def _recorded(error: ChildFailed) -> ErrorInfo:
    return ErrorInfo(type=error.error_type, message=f"{error.path}: {error.error_message}")


def _child_failed(path: str, error_type: str, message: str) -> ChildFailed:
    kinds = {kind.__name__: kind for kind in (ChildTimeout, Deadlock)}
    return kinds.get(error_type, ChildFailed)(path, error_type, message)


def _as_recorded(error: ErrorInfo) -> ChildFailed:
    path, _, message = error.message.partition(": ")
    return _child_failed(path, error.type, message)


def _map_error(joined: JoinedCall, call: ChildrenCall, first: ChildFailed) -> ErrorInfo:
    required = "" if call.min_success is None else f": {call.min_success} must succeed"
    return ErrorInfo(
        type=MapFailed.__name__,
        message=f"{joined.failed} of {call.total} children of {call.handler} failed, and "
        f"{call.most_failures} may{required}. The first: {first.error_type}: {first.error_message}",
    )
