"""The policies of a job: as a submission, a schedule and ``@job`` state them, and as they hold."""

from __future__ import annotations

from dataclasses import dataclass, fields

from hourhand.domain.jobs.job import OnLost, Priority
from hourhand.domain.jobs.retry import RetryChanges, RetryPolicy

DEFAULT_TIMEOUT_SECONDS = 300
DEFAULT_RETENTION_SECONDS = 7 * 86_400


@dataclass(frozen=True, kw_only=True, slots=True)
class StatedPolicies:
    """Policies that a submission, a schedule or ``@job`` states; ``None`` for those left out."""

    timeout_seconds: int | None = None
    priority: Priority | None = None
    retry: RetryPolicy | RetryChanges | None = None
    on_lost: OnLost | None = None
    retention_seconds: int | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class HandlerPolicies(StatedPolicies):
    """The policies that ``@job`` states."""

    retry: RetryPolicy | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class ChosenPolicies(StatedPolicies):
    """The policies that a submission or a schedule states, before those of the handler."""

    retry: RetryChanges | None = None

    def resolved(self, handler: HandlerPolicies) -> Policies:
        """Take each policy from here, else from the handler, else the default."""
        retention_seconds = self.retention_seconds
        if retention_seconds is None:
            retention_seconds = handler.retention_seconds
        if retention_seconds is None:
            retention_seconds = DEFAULT_RETENTION_SECONDS
        return Policies(
            timeout_seconds=self.timeout_seconds
            or handler.timeout_seconds
            or DEFAULT_TIMEOUT_SECONDS,
            priority=self.priority or handler.priority or Priority.MEDIUM,
            retry=(self.retry or RetryChanges()).made_to(handler.retry or RetryPolicy()),
            on_lost=self.on_lost or handler.on_lost or OnLost.RETRY,
            retention_seconds=retention_seconds,
        )


@dataclass(frozen=True, kw_only=True, slots=True)
class Policies:
    """The policies of a job to be, which are fields of the job by the same names."""

    timeout_seconds: int
    priority: Priority
    retry: RetryPolicy
    on_lost: OnLost
    retention_seconds: int


POLICY_FIELDS = tuple(policy.name for policy in fields(Policies))
