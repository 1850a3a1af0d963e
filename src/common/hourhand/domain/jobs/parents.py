"""The link from a child job to the run that submitted it."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from hourhand.domain.ids import content_hash, short_digest

RUN = "run"
"""The actor of what a run does with its children."""

CHUNK = 100
"""The children of one join record. So no item of a run is written more often by its children."""

MAX_LEVELS = 20
"""How many runs may be above a child: each is the parent of the next one."""

PARENT_ENDED = "parent_ended"
"""The run of the child ended."""

NOT_NEEDED = "not_needed"
"""The call that submitted the child ended without it."""

_CANCELLED_BY_RUN = re.compile(rf"(?:{PARENT_ENDED}|{NOT_NEEDED}), round (\d+)")
_DAY = timedelta(days=1)
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True, kw_only=True)
class ParentLink:
    """Whose child a job is, and where its end is recorded.

    ``join_key`` names the call, in the ``segment`` of the run ``run_id``. ``index``: which of its
    children this is; ``chunk``: how many share a join record. ``is_abandoned``: the end of the run
    does not cancel it. ``reads_results``: its payload may name results of other children of the
    run. ``level``: how many runs are above it. ``kept_until``: the end of the run's journal, a
    midnight of UTC: a replay must not find a child deleted.
    """

    run_id: str
    segment: int
    join_key: str
    index: int
    chunk: int = CHUNK
    is_abandoned: bool = False
    reads_results: bool = False
    level: int = 1
    kept_until: datetime

    @property
    def position(self) -> int:
        """Its place within its join record."""
        return self.index % self.chunk

    @property
    def record_number(self) -> int:
        """Which of the join records of its call has its end."""
        return self.index // self.chunk


@dataclass(frozen=True, slots=True)
class ParentToFind:
    """A run that must be alive, in this segment, for a child to start.

    ``child_created_at``: a run that was created later has the id of a run that is gone.
    """

    run_id: str
    segment: int
    child_created_at: datetime


@dataclass(frozen=True, slots=True)
class ChildSpec:
    """A child as a submission states it: the fields of ``POST /jobs``.

    ``reads_results``: its payload names results of other children of the run, which its worker
    reads.
    """

    fields: Mapping[str, Any]
    reads_results: bool = False


def join_key(path: str, reset_round: int, created_ms: int) -> str:
    """Return the key of the children of one call.

    A call that was reset has other children. So has a later run of the same id, which
    ``created_ms`` distinguishes.
    """
    return short_digest("join", path, str(reset_round), str(created_ms))


def child_id(run_id: str, segment: int, key: str, index: int) -> str:
    """Return the one id of a child: a repeated submission meets the job that exists."""
    return "c." + content_hash("child", run_id, str(segment), key, str(index))


STORED = "$stored"
"""The one key of what stands in a payload for results of other children of the same run."""


def stored_result(key: str, total: int, *, is_list: bool) -> dict[str, Any]:
    """Return what stands in a payload for a large result of other children of the same run.

    ``key``: the join key of their call. ``is_list``: the results of a map, or that of one child.
    """
    return {STORED: {"key": key, "total": total, "is_list": is_list}}


def quoted(value: Any) -> Any:
    """Return a JSON value as it stands in a payload that may have stored results.

    An object of the caller that looks like a stored result is marked as none. `with_results`
    returns it as it was.
    """
    if isinstance(value, Mapping):
        inner = {name: quoted(each) for name, each in value.items()}
        return {STORED: {"quoted": inner[STORED]}} if inner.keys() == {STORED} else inner
    if isinstance(value, list):
        return [quoted(each) for each in value]
    return value


def with_results(value: Any, result_of: Callable[[Mapping[str, Any]], Any]) -> Any:
    """Return a JSON value whose stored results are replaced by ``result_of`` what names them."""
    if isinstance(value, Mapping):
        if value.keys() != {STORED}:
            return {name: with_results(each, result_of) for name, each in value.items()}
        match value[STORED]:
            case {"key": _, "total": _, "is_list": _} as stored:
                return result_of(stored)
            case {"quoted": inner}:
                return {STORED: with_results(inner, result_of)}
        # A person changed the payload.
        return value
    if isinstance(value, list):
        return [with_results(each, result_of) for each in value]
    return value


def midnight_after(instant: datetime) -> datetime:
    """Return the first midnight of UTC at or after ``instant``: it takes fewer bytes."""
    return _EPOCH + -((_EPOCH - instant) // _DAY) * _DAY


def cancel_reason(why: str, round_: int) -> str:
    """Return why a run cancels a child, as the child's history has it, with the run's round."""
    return f"{why}, round {round_}"


def cancelled_in_round(reason: str) -> int | None:
    """Return the round of the run in which it cancelled a child; ``None``: the run did not."""
    found = _CANCELLED_BY_RUN.fullmatch(reason)
    return None if found is None else int(found[1])
