"""The handlers that exist, and their policies."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from hourhand.domain.jobs.job import Priority
from hourhand.domain.jobs.retry import RetryPolicy


@dataclass(frozen=True, kw_only=True, slots=True)
class DeclaredSchedule:
    """The schedule that ``@job`` declares beside its handler; a tuple of expressions is a union."""

    expression: str | tuple[str, ...]
    timezone: str = "UTC"

    @property
    def expressions(self) -> tuple[str, ...]:
        """One expression, or several."""
        return (self.expression,) if isinstance(self.expression, str) else self.expression


@dataclass(frozen=True, kw_only=True, slots=True)
class HandlerInfo:
    """A registered handler, with the policies and the schedule that its ``@job`` states."""

    name: str
    description: str = ""
    timeout_seconds: int | None = None
    priority: Priority | None = None
    retry: RetryPolicy | None = None
    on_lost: str | None = None
    retention_seconds: int | None = None
    schedule: DeclaredSchedule | None = None


class HandlerDirectory(Protocol):
    """The handlers that exist, without importing them (a manifest made at packing)."""

    def find(self, name: str) -> HandlerInfo | None:
        """Return the handler of that name."""

    def all(self) -> Sequence[HandlerInfo]:
        """Return every handler, by name."""
