"""Unique jobs: at most one job of a key is *in scope* at a time.

The jobs of a key are numbered; the number is the *incarnation*. The id of a job follows from the
key and its incarnation, so the put of the job itself decides which of two submissions creates it.
The unique-key record only says which incarnation is the newest, and no lock can be left behind. A
job that ended is superseded before the next is put, so that no redrive brings it back beside it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any, Literal, TypeAlias

from hourhand.domain.conditions import Absent, Compares, either
from hourhand.domain.errors import FieldError, InvalidUnique, MissingKey
from hourhand.domain.ids import short_digest
from hourhand.domain.jobs.job import Job
from hourhand.domain.limits.keys import InvalidLimit, KeyFields, key_json, parse_key_path
from hourhand.domain.side_items import (
    UNIQUE_KEY_PREFIX,
    UNIQUE_KEY_SORT,
    SideItem,
    SideItemUpdate,
    SideKey,
)

MAX_UNIQUE_SECONDS = 30 * 86_400
"""The longest that a key stays unique for a number of seconds."""

SHORTEST_RETENTION_SECONDS = 86_400
"""A unique job is kept at least so long: longer than any submission of its key may take."""

RECORD_KEPT = timedelta(days=400)
"""How long a unique-key record is kept after its newest job is due and its retention is over.

A handler may snooze its job by a year: the record must outlive that job."""

UNIQUE_DIGEST_CHARACTERS = 26
"""130 bits: two keys with one digest would drop a job."""

_NEWEST = "newest"


class Until(StrEnum):
    """Until when a job keeps its unique key."""

    START = "start"
    END = "end"
    SUCCESS = "success"


class OnConflict(StrEnum):
    """What becomes of a submission whose key another job has."""

    RETURN = "return"
    REJECT = "reject"
    REPLACE = "replace"


UntilChoice: TypeAlias = Until | Literal["start", "end", "success"] | int
OnConflictChoice: TypeAlias = OnConflict | Literal["return", "reject", "replace"]


@dataclass(frozen=True, slots=True)
class Unique:
    """At most one job of a key is in scope: a second submission gets that job, or is refused.

    ``key``: ``payload.day``, ``payload``, ``tags.x``, ``tenant``, ``handler`` or a word. ``until``:
    when the key is free again, ``start``, ``end`` (the default) or ``success`` of the job, or a
    number of seconds after its submission. ``on_conflict``: ``return`` the job that has the key
    (the default), ``reject``, or ``replace`` its payload and time, which needs ``until="start"``.
    Raises `InvalidUnique`, which names the wrong option.
    """

    key: str
    until: UntilChoice = field(default=Until.END, kw_only=True)
    on_conflict: OnConflictChoice = field(default=OnConflict.RETURN, kw_only=True)

    def __post_init__(self) -> None:
        """Check each option, and that no two contradict each other."""
        try:
            parse_key_path(self.key)
        except InvalidLimit as error:
            message = error.detail.removeprefix("key ").removesuffix(".")
            raise _invalid("key", message) from None
        object.__setattr__(self, "until", _until(self.until))
        if self.on_conflict not in set(OnConflict):
            allowed = ", ".join(OnConflict)
            raise _invalid("on_conflict", f"must be {allowed}, not {self.on_conflict!r}")
        object.__setattr__(self, "on_conflict", OnConflict(self.on_conflict))
        if self.on_conflict is OnConflict.REPLACE and self.until is not Until.START:
            raise _invalid(
                "on_conflict", "can be replace only with until='start': a job that runs stays"
            )

    @property
    def shortest_retention_seconds(self) -> int:
        """How long the job is kept at least: the key is free once it is deleted."""
        seconds = self.until if isinstance(self.until, int) else 0
        return max(seconds, SHORTEST_RETENTION_SECONDS)

    def digest_of(self, handler: str, job: KeyFields) -> str:
        """Return what identifies the key of a job. Raises `MissingKey`."""
        return digest_of_key("unique", handler, self.key, job)

    def has_key(self, job: Job | None, now: datetime) -> bool:
        """Whether a job of the key is in scope: no other one may be created."""
        if job is None:
            return False
        match self.until:
            case Until.START:
                return job.status.is_waiting and job.token == 0
            case Until.END:
                return not job.status.is_final
            case Until.SUCCESS:
                return not job.status.is_final or job.is_unresolved
        return now < job.created_at + timedelta(seconds=int(self.until))


def digest_of_key(label: str, handler: str, key: str, job: KeyFields) -> str:
    """Return what identifies the value of a key path. Keys belong to a handler and a tenant.

    Raises `MissingKey` for a job without the field.
    """
    path = parse_key_path(key)
    value: Any = path.value_of(job)
    if value is None and path.divides:
        problem = FieldError(label, f"the job has no {key}")
        raise MissingKey(f"The job lacks the key {key}.", errors=(problem,))
    presence = "0" if job.tenant is None else "1"
    parts = (label, handler, presence, job.tenant or "", key_json(value))
    return short_digest(*parts, characters=UNIQUE_DIGEST_CHARACTERS)


def unique_record(digest: str) -> SideKey:
    """Return the key of a unique-key record."""
    return SideKey(f"{UNIQUE_KEY_PREFIX}{digest}", UNIQUE_KEY_SORT)


def newest_incarnation(item: SideItem | None) -> int:
    """Return the newest incarnation of a key, as its record says; 0 for none."""
    return (item.number(_NEWEST) or 0) if item is not None else 0


def advance_record(digest: str, incarnation: int, keep_until: datetime) -> SideItemUpdate:
    """Return the write that says that an incarnation was created. It never goes back."""
    return SideItemUpdate(
        key=unique_record(digest),
        expect=(either(Absent(_NEWEST), Compares(_NEWEST, "<=", incarnation)),),
        sets={_NEWEST: incarnation},
        keep_until=keep_until,
    )


def record_kept_until(job: Job, due_at: datetime) -> datetime:
    """Return until when the record of a job is kept that is due at a time."""
    return due_at + timedelta(seconds=job.retention_seconds) + RECORD_KEPT


def _until(given: object) -> UntilChoice:
    for choice in Until:
        if given == choice:
            return choice
    is_whole = isinstance(given, int) and not isinstance(given, bool)
    if isinstance(given, int) and is_whole and 1 <= given <= MAX_UNIQUE_SECONDS:
        return given
    allowed = f"{', '.join(Until)} or whole seconds from 1 to {MAX_UNIQUE_SECONDS:,}"
    raise _invalid("until", f"must be {allowed}, not {given!r}")


def _invalid(name: str, message: str) -> InvalidUnique:
    return InvalidUnique(
        f"unique.{name} {message}.", errors=(FieldError(f"unique.{name}", message),)
    )
