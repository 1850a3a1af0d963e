"""Debounced jobs: the submissions of a key that come shortly after one another are one job.

A debounced job is a unique one until it begins: a further submission replaces its payload and its
time in one write (`hourhand.domain.limits.unique_keys`). Its message, which comes at the old time,
moves it. Each replaced payload is superseded by one that runs.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Literal, TypeAlias

from hourhand.domain.errors import FieldError, InvalidDebounce
from hourhand.domain.jobs.job import Job
from hourhand.domain.limits.keys import InvalidLimit, KeyFields, parse_key_path
from hourhand.domain.limits.unique_keys import OnConflict, Unique, Until, digest_of_key

MAX_WAIT_SECONDS = 86_400


class Mode(StrEnum):
    """Which payload a debounced job runs with."""

    LAST = "last"
    FIRST = "first"


ModeChoice: TypeAlias = Mode | Literal["last", "first"]


@dataclass(frozen=True, slots=True)
class Debounce:
    """A job of a key runs once no further submission of the key came for ``wait`` seconds.

    ``key``: as that of `Unique`. ``max_wait``: it runs at the latest so many seconds after the
    first submission; without it, submissions may put it off without end. ``mode``: ``last`` (the
    default) runs with the newest payload, ``first`` with the first. Both waits are 1..86,400 s.
    Raises `InvalidDebounce`, which names the wrong option.
    """

    key: str
    wait: float = field(kw_only=True)
    max_wait: float | None = field(default=None, kw_only=True)
    mode: ModeChoice = field(default=Mode.LAST, kw_only=True)

    def __post_init__(self) -> None:
        """Check each option, and that no two contradict each other."""
        try:
            parse_key_path(self.key)
        except InvalidLimit as error:
            message = error.detail.removeprefix("key ").removesuffix(".")
            raise _invalid("key", message) from None
        _require_seconds("wait", self.wait)
        if self.max_wait is not None:
            _require_seconds("max_wait", self.max_wait)
            if self.max_wait < self.wait:
                raise _invalid("max_wait", f"must be at least wait, {self.wait} s")
        if self.mode not in set(Mode):
            raise _invalid("mode", f"must be {', '.join(Mode)}, not {self.mode!r}")
        object.__setattr__(self, "mode", Mode(self.mode))

    @property
    def unique(self) -> Unique:
        """What decides which job a submission meets."""
        return Unique(self.key, until=Until.START, on_conflict=OnConflict.REPLACE)

    def digest_of(self, handler: str, job: KeyFields) -> str:
        """Return what identifies the key of a job. Raises `MissingKey`."""
        return digest_of_key("debounce", handler, self.key, job)

    def run_at(self, standing: Job | None, now: datetime) -> datetime:
        """Return when the job of a submission runs now; ``standing``: the one that waits."""
        at = now + timedelta(seconds=self.wait)
        if standing is None or self.max_wait is None:
            return at
        latest = standing.created_at + timedelta(seconds=self.max_wait)
        return max(now, min(at, latest))


def _require_seconds(name: str, value: object) -> None:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    # NaN compares as false, so it is refused as well.
    if not isinstance(value, int | float) or not is_number or not 1 <= value <= MAX_WAIT_SECONDS:
        allowed = f"a number of seconds from 1 to {MAX_WAIT_SECONDS:,}"
        raise _invalid(name, f"must be {allowed}, not {value!r}")


def _invalid(name: str, message: str) -> InvalidDebounce:
    problem = FieldError(f"debounce.{name}", message)
    return InvalidDebounce(f"debounce.{name} {message}.", errors=(problem,))
