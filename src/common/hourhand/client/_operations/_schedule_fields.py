"""The fields of a schedule, as callers give them and as they are sent."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import fields
from datetime import date, datetime, timedelta
from typing import Any, TypedDict

from hourhand.client._values import encoded, instant_text, invalid
from hourhand.domain.groups.overlap import OverlapChoice
from hourhand.domain.jobs.job import OnLostChoice, PriorityChoice
from hourhand.domain.jobs.retry import RetryPolicy
from hourhand.domain.schedules.rule import DstFoldChoice, DstGapChoice
from hourhand.domain.schedules.schedule import MisfireChoice


class ScheduleFields(TypedDict, total=False):
    """The fields of a schedule: see `docs/explanation/schedules.md`. Times are aware datetimes."""

    expression: str | list[str]
    timezone: str
    handler: str
    payload: Any
    anchor: datetime | str
    start_at: datetime | str
    end_at: datetime | str
    jitter_seconds: float
    misfire: MisfireChoice | Mapping[str, Any]
    expires_after_seconds: int
    overlap: OverlapChoice
    max_running: int
    buffer_limit: int
    dst_gap: DstGapChoice
    dst_fold: DstFoldChoice
    exclude: Iterable[Any]
    max_occurrences: int
    pause_on_failure: bool
    paused: bool
    note: str
    managed_by: str | None
    keep: Mapping[str, int]
    priority: PriorityChoice
    timeout_seconds: int
    retention_seconds: int
    on_lost: OnLostChoice
    retry: RetryPolicy | Mapping[str, Any]
    tenant: str
    tags: Mapping[str, str]


NULL_IS_A_VALUE = frozenset({"payload", "managed_by"})
"""In the other fields, null means that the field is not given."""


def merged(schedule: object, given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields given as a mapping and by name together; raise `Invalid` for one twice."""
    if schedule is not None and not isinstance(schedule, Mapping):
        kind = type(schedule).__name__
        raise invalid("schedule", f"must be a mapping of a schedule's fields, not {kind}")
    together: dict[str, Any] = {} if schedule is None else dict(schedule)
    for name, value in given.items():
        if name in together:
            raise invalid(name, "must not be given twice, in the mapping and by name")
        together[name] = value
    return together


def encoded_schedule(given: Mapping[str, Any]) -> bytes:
    """Return fields of a schedule as JSON; raise `Invalid` naming one that cannot be sent."""
    members = []
    for name, value in given.items():
        if not isinstance(name, str):
            raise invalid("schedule", f"must have names of fields as keys, not {name!r}")
        if value is not None or name in NULL_IS_A_VALUE:
            members.append(encoded(name, name) + b":" + encoded(_sent(name, value), name))
    return b"{" + b",".join(members) + b"}"


def _sent(name: str, value: Any) -> Any:
    if name == "payload":
        # A payload belongs to the handler: dates in it need no time zone.
        return value
    if isinstance(value, datetime):
        return instant_text(name, value)
    if isinstance(value, timedelta):
        return value.total_seconds()
    if isinstance(value, RetryPolicy):
        return {one.name: getattr(value, one.name) for one in fields(RetryPolicy)}
    if name == "exclude" and isinstance(value, Iterable) and not isinstance(value, (str, Mapping)):
        return [_excluded(one) for one in value]
    return value


def _excluded(one: Any) -> Any:
    if isinstance(one, Mapping):
        return {name: _end(value) for name, value in one.items()}
    return _end(one)


def _end(value: Any) -> Any:
    if isinstance(value, datetime):
        return instant_text("exclude", value)
    return value.isoformat() if isinstance(value, date) else value
