"""The ids of jobs that are derived from an idempotency key, or from a schedule and a time.

They are derived with a secret of the installation, so that a caller that may read jobs and guesses
a key, or knows a schedule, cannot name the job of another caller.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime

from hourhand.domain.ids import job_id_for_key, occurrence_job_id
from hourhand.ports.control_store import ControlStore
from hourhand.ports.randomness import Randomness


@dataclass(slots=True)
class DerivedIds:
    """Derives ids. Reads the secret when the first id is derived, once in a process.

    The first process of an installation creates it. Of two that do so at once, both use the one
    that was stored first.
    """

    control: ControlStore
    randomness: Randomness
    known_secret: bytes | None = field(default=None, repr=False)

    def secret(self) -> bytes:
        """Return the installation's secret. Raises `Unavailable`."""
        if self.known_secret is None:
            stored = self.control.read_secret()
            self.known_secret = stored or self.control.create_secret(self.randomness.secret())
        return self.known_secret

    def of_key(self, tenant: str | None, idempotency_key: str) -> str:
        """Return the id of the job under a key. Raises `Unavailable`."""
        return job_id_for_key(self.secret(), tenant, idempotency_key)

    def of_occurrence(self, schedule_id: str, nominal: datetime, salt: str = "") -> str:
        """Return the id of a schedule's job, see `occurrence_job_id`. Raises `Unavailable`."""
        return occurrence_job_id(self.secret(), schedule_id, nominal, salt)
