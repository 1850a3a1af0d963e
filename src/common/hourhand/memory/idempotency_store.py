"""The idempotency table in memory."""

from __future__ import annotations

import threading
from datetime import datetime

from hourhand.memory.storable import require_storable_time
from hourhand.ports.idempotency_store import IdempotencyRecord


class MemoryIdempotencyStore:
    """Implements the port `IdempotencyStore`; safe for threads."""

    def __init__(self) -> None:
        """Start empty."""
        self._lock = threading.RLock()
        self._records: dict[str, IdempotencyRecord] = {}

    def begin(self, record: IdempotencyRecord, *, now: datetime) -> IdempotencyRecord | None:
        """Claim the key for an attempt; ``None`` when written, else the record that stands."""
        require_storable_time("keep_until", record.keep_until)
        with self._lock:
            stands = self._records.get(record.key)
            if stands is not None and not _gives_way(stands, record, now):
                return stands
            self._records[record.key] = record
            return None

    def finish(self, record: IdempotencyRecord) -> bool:
        """Store the result, if the record is still ours (job, creation, token). Whether it was."""
        require_storable_time("keep_until", record.keep_until)
        with self._lock:
            stands = self._records.get(record.key)
            if stands is None or _attempt_of(stands) != _attempt_of(record):
                return False
            self._records[record.key] = record
            return True

    def records(self) -> dict[str, IdempotencyRecord]:
        """Return every record by key: for a test's last look."""
        with self._lock:
            return dict(self._records)

    def delete_expired(self, now: datetime) -> int:
        """Delete every record whose ``keep_until`` is over at ``now``; return how many."""
        with self._lock:
            gone = [key for key, record in self._records.items() if record.keep_until < now]
            for key in gone:
                del self._records[key]
            return len(gone)


def _gives_way(stands: IdempotencyRecord, ours: IdempotencyRecord, now: datetime) -> bool:
    """Whether the record that ``stands`` may be replaced by the claim of ``ours``."""
    if stands.keep_until < now:
        return True
    if stands.job_id != ours.job_id:
        return False
    if stands.job_created_at != ours.job_created_at:
        return stands.job_created_at < ours.job_created_at
    return not stands.is_done and stands.token <= ours.token


def _attempt_of(record: IdempotencyRecord) -> tuple[str, datetime, int]:
    return record.job_id, record.job_created_at, record.token
