"""The handlers that exist, and their policies."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any, Protocol

from hourhand.domain.jobs.policies import HandlerPolicies
from hourhand.domain.jobs.run_times import DEFAULT_RUN
from hourhand.domain.limits.debounce import Debounce
from hourhand.domain.limits.declarations import Limit
from hourhand.domain.limits.unique_keys import Unique
from hourhand.domain.runs.built_in import BUILT_IN


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
    """A registered handler: what its ``@job`` states, and the payloads that it takes.

    ``payload_schema`` is the JSON Schema of its payload, for readers. ``payload_check`` is what a
    submission is checked with (`hourhand.handlers`), absent where nothing is checked.
    ``payload_examples`` are payloads that the handler accepts. ``limits`` are those of its jobs, in
    the order of the decorator. ``unique``, ``debounce``: which of its jobs are one and
    the same. ``run_timeout_seconds``: how long a run may take, of a durable handler alone.
    """

    name: str
    description: str = ""
    policies: HandlerPolicies = field(default_factory=HandlerPolicies)
    payload_schema: Mapping[str, Any] | None = None
    payload_examples: tuple[Any, ...] = ()
    payload_check: Mapping[str, Any] | None = None
    schedule: DeclaredSchedule | None = None
    limits: tuple[Limit, ...] = ()
    unique: Unique | None = None
    debounce: Debounce | None = None
    run_timeout_seconds: int | None = None

    @property
    def is_durable(self) -> bool:
        """Whether its jobs are durable runs."""
        return self.run_timeout_seconds is not None


BUILT_IN_HANDLERS: Mapping[str, HandlerInfo] = {
    name: HandlerInfo(name=name, run_timeout_seconds=int(DEFAULT_RUN.total_seconds()))
    for name in BUILT_IN
}
"""Those that are in no directory: every worker has them, and no caller can name them."""


class HandlerDirectory(Protocol):
    """The handlers that exist, without importing them (a manifest made at packing)."""

    @property
    def advice(self) -> str:
        """What to do about a missing handler, as a sentence; empty in a deployment."""

    def find(self, name: str) -> HandlerInfo | None:
        """Return the handler of that name."""

    def all(self) -> Sequence[HandlerInfo]:
        """Return every handler, by name."""


def run_timeout(handlers: HandlerDirectory, name: str) -> timedelta | None:
    """Return how long a run of a handler may take; ``None`` if it is not durable."""
    info = BUILT_IN_HANDLERS.get(name) or handlers.find(name)
    if info is None or info.run_timeout_seconds is None:
        return None
    return timedelta(seconds=info.run_timeout_seconds)
