"""A job as it is submitted, and what changes of one that has not started."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime

from hourhand.domain.jobs.job import Priority
from hourhand.domain.jobs.policies import ChosenPolicies
from hourhand.domain.jobs.waiting import ChosenLimit
from hourhand.domain.limits.debounce import Debounce
from hourhand.domain.limits.unique_keys import Unique


@dataclass(frozen=True, kw_only=True, slots=True)
class NewJob(ChosenPolicies):
    """A job as it is submitted. ``None`` means: not given; the handler's policy or default holds.

    ``payload_text`` is canonical JSON. ``body_hash``: what two submissions share exactly if the
    same was sent.
    """

    handler: str
    payload_text: str = "null"
    run_at: datetime | None = None
    delay_seconds: float | None = None
    idempotency_key: str | None = None
    id: str | None = None
    expires_at: datetime | None = None
    tenant: str | None = None
    tags: Mapping[str, str] = field(default_factory=dict)
    concurrency_key: str | None = None
    limits: tuple[ChosenLimit, ...] | None = None
    unique: Unique | None = None
    debounce: Debounce | None = None
    body_hash: str = ""

    @property
    def has_callers_name(self) -> bool:
        """Whether it can be repeated: it brings an id or a key of its own."""
        return self.id is not None or self.idempotency_key is not None

    def due_after(self, seconds: float) -> NewJob:
        """Return the submission with this delay."""
        return replace(self, delay_seconds=seconds)

    def as_change(
        self, *, run_at: datetime | None = None, keeps_payload: bool = False
    ) -> JobChange:
        """Return the change by which a waiting job becomes the one that is submitted.

        ``run_at``: its time, in place of that of the submission. ``keeps_payload``: the payload
        stays. The expiry is that of the submission, or none: the old one belongs to another time.
        """
        run_at = run_at or self.run_at
        return JobChange(
            run_at=run_at,
            delay_seconds=None if run_at is not None else self.delay_seconds or 0.0,
            priority=self.priority,
            payload_text=None if keeps_payload else self.payload_text,
            expires_at=self.expires_at,
            changes_expiry=True,
            body_hash=self.body_hash,
        )


@dataclass(frozen=True, kw_only=True, slots=True)
class JobChange:
    """What changes of a job that is not running. ``None`` means: that stays.

    ``payload_text`` is canonical JSON. ``changes_expiry``: ``expires_at`` holds also as ``None``,
    which removes it. ``body_hash``: the submission that the job becomes.
    """

    run_at: datetime | None = None
    delay_seconds: float | None = None
    priority: Priority | None = None
    payload_text: str | None = None
    expires_at: datetime | None = None
    changes_expiry: bool = False
    body_hash: str | None = None
