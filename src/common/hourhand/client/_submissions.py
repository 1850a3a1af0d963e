"""A job to submit, and the result of its submission."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from datetime import datetime, timedelta
from typing import Any, Literal

from hourhand.answers.jobs import Job
from hourhand.client._errors import ClientError
from hourhand.client._json import encoded, invalid, seconds, time_text
from hourhand.domain.errors import unknown_field
from hourhand.domain.jobs.job import OnLostChoice, PriorityChoice
from hourhand.domain.jobs.retry import RetryPolicy
from hourhand.domain.limits.debounce import Debounce
from hourhand.domain.limits.unique_keys import Unique

Fate = Literal["submitted", "not submitted", "unknown"]
"""``unknown``: the last answer was lost. The same id or key makes it safe to submit again."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Submission:
    """A job to be submitted. ``None`` means: not given; the handler's policy or default holds.

    ``run_at`` and ``expires_at`` are aware datetimes; ``delay`` is a number of seconds or a
    timedelta. ``retry`` is a `hourhand.Retry`, or a mapping of some of its fields. ``limits``:
    shared limits by ``name``, each with a ``key`` if another is wanted, in place of the handler's.
    """

    handler: str
    payload: Any = None
    run_at: datetime | None = None
    delay: float | timedelta | None = None
    priority: PriorityChoice | None = None
    idempotency_key: str | None = None
    concurrency_key: str | None = None
    limits: Sequence[Mapping[str, str]] | None = None
    unique: Unique | Mapping[str, Any] | None = None
    debounce: Debounce | Mapping[str, Any] | None = None
    id: str | None = None
    timeout_seconds: int | None = None
    expires_at: datetime | None = None
    retention_seconds: int | None = None
    on_lost: OnLostChoice | None = None
    tenant: str | None = None
    tags: Mapping[str, str] | None = None
    retry: RetryPolicy | Mapping[str, Any] | None = None

    @property
    def has_name(self) -> bool:
        """Whether it can be sent again without being submitted twice."""
        return self.id is not None or self.idempotency_key is not None

    def named(self, new_id: Callable[[], str]) -> Submission:
        """Return it with a new id, unless it has a name already."""
        return self if self.has_name else replace(self, id=new_id())

    def body(self) -> bytes:
        """Return it as JSON; raise `Invalid` naming a field that cannot be sent."""
        return encoded_fields({one: getattr(self, one) for one in _FIELDS})


@dataclass(frozen=True, kw_only=True, slots=True)
class Submitted:
    """The result of the submission at place ``index`` (the first is 0) of many.

    Either ``job`` or ``error`` is there. ``submission`` has the id that it was sent with; it is
    ``None`` where what was given could not be read as one.
    """

    index: int
    submission: Submission | None
    job: Job | None = None
    error: ClientError | None = None

    @property
    def fate(self) -> Fate:
        """Whether it is submitted, is not, or that is unknown."""
        if self.error is None:
            return "submitted"
        return "unknown" if self.error.may_have_happened else "not submitted"


@dataclass(frozen=True, kw_only=True, slots=True)
class SubmitProgress:
    """The progress of `submit_many`; ``total`` is ``None`` if the iterable has no length."""

    done: int
    failed: int
    total: int | None


_FIELDS = tuple(one.name for one in fields(Submission))


def submission_of(given: object) -> Submission:
    """Return what was given, a `Submission` or a mapping of the API's fields.

    In a mapping, ``delay_seconds`` may stand for ``delay``, and times may be texts as the API
    takes them. Raises `Invalid` for a field that is not known, and where no handler is named.
    """
    if isinstance(given, Submission):
        return given
    if not isinstance(given, Mapping):
        kind = type(given).__name__
        raise invalid("submission", f"must be a Submission or a mapping of its fields, not {kind}")
    named = dict(given)
    if "delay_seconds" in named:
        if "delay" in named:
            raise invalid("delay", "must not be given together with delay_seconds")
        named["delay"] = named.pop("delay_seconds")
    unknown = [str(name) for name in named if name not in _FIELDS]
    if unknown:
        raise invalid(unknown[0], unknown_field(unknown[0], _FIELDS))
    if "handler" not in named:
        raise invalid("handler", "is required")
    return Submission(**named)


def encoded_fields(given: Mapping[str, Any], *, nulls: Collection[str] = ()) -> bytes:
    """Return fields of a job as a JSON object; ``nulls`` names those that are sent as null.

    Others that are ``None`` are left out. Raises `Invalid` naming a field that cannot be sent.
    """
    members = [
        f'"{_name(name)}":'.encode() + _encoded_field(name, value)
        for name, value in given.items()
        if value is not None or name in nulls
    ]
    return b"{" + b",".join(members) + b"}"


def _name(field: str) -> str:
    return "delay_seconds" if field == "delay" else field


def _encoded_field(name: str, value: Any) -> bytes:
    if name in _TIMES and value is not None:
        value = time_text(name, value)
    elif name == "delay":
        value = seconds(name, value)
    elif isinstance(value, Debounce):
        waits = {"wait_seconds": value.wait, "max_wait_seconds": value.max_wait}
        value = {"key": value.key, "mode": value.mode, **waits}
    elif isinstance(value, Unique):
        value = {one.name: getattr(value, one.name) for one in fields(Unique)}
    elif isinstance(value, RetryPolicy):
        value = {one.name: getattr(value, one.name) for one in fields(RetryPolicy)}
    return encoded(value, name)


_TIMES = frozenset({"run_at", "expires_at"})
