"""Limits: which jobs hold their slots and wait for them, and their numbers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hourhand.answers.limits import ChangedLimit, Limit, LimitSummary
from hourhand.client._operations._asking import ask_for, named, pages, target
from hourhand.client._operations._bulk import BulkProgress, BulkReport, change_in_calls
from hourhand.client._steps import Operation, Session, Stream
from hourhand.client._values import encoded

_LEAVE: Any = object()


def list_limits(
    session: Session, *, page_size: int = 50, limit: int | None = None
) -> Stream[LimitSummary]:
    """Iterate over the limits of all handlers, in the order of their names."""
    yield from pages(session, LimitSummary, ("limits",), "limits", page_size=page_size, limit=limit)


def get(session: Session, name: str, *, key: str | None = None) -> Operation[Limit]:
    """Return a limit with the jobs that hold its slots, and the first that wait.

    ``key``: one key of a limit that has keys; without it, such a limit shows no jobs. Raises
    `NotFound`, and `Invalid` for a key of a limit that has a single one.
    """
    at = target("limits", named("name", name), query={"key": key})
    return ask_for(Limit, session, "GET", at)


def put(
    session: Session,
    name: str,
    *,
    max: int | None = _LEAVE,  # noqa: A002 (the name of the field)
    overrides: Mapping[str, int | None] | None = None,
) -> Operation[ChangedLimit]:
    """Set numbers of a limit in the place of those in the code. Workers know them within 30 s.

    ``max``: the number of each key that has none of its own; 0 lets no job start, and ``None``
    restores the number in the code. ``overrides``: numbers of keys; ``None`` removes one. What is
    not given stays. Raises `NotFound`, `Invalid`, and `Conflict` if too many numbers are set.
    """
    fields: dict[str, Any] = {} if max is _LEAVE else {"max": max}
    if overrides is not None:
        fields["overrides"] = dict(overrides)
    at = target("limits", named("name", name))
    return ask_for(ChangedLimit, session, "PUT", at, encoded(fields, "overrides"))


def delete(session: Session, name: str) -> Operation[ChangedLimit]:
    """Remove all numbers that were set for a limit. Raises `NotFound`."""
    return ask_for(ChangedLimit, session, "DELETE", target("limits", named("name", name)))


def retime(
    session: Session,
    name: str,
    *,
    key: str | None = None,
    on_progress: BulkProgress | None = None,
) -> Operation[BulkReport]:
    """Give the jobs that wait for a rate new start times, after its number was changed.

    ``key``: whose jobs are meant, of a rate that has keys. ``on_progress`` is called with the
    report so far, after each call of the API. Raises `NotFound`, `Invalid` where a key is missing,
    and `Conflict` for a concurrency limit, whose jobs have no start times.
    """
    at = target("limits", named("name", name), "retime")
    body = {} if key is None else {"key": key}
    return change_in_calls(session, at, body, on_progress)


def free(session: Session, name: str, job_id: str) -> Operation[Limit]:
    """Free the slot that a DEAD job keeps under ``holds="success"``.

    Again: nothing changes. Raises `NotFound`, and `Conflict` for a job that is not DEAD.
    """
    at = target("limits", named("name", name), "free")
    return ask_for(Limit, session, "POST", at, encoded({"job_id": job_id}, "job_id"))
