"""The bucket of payloads and results that are too large for the jobs table."""

from __future__ import annotations

from datetime import datetime
from typing import Protocol


class ObjectStore(Protocol):
    """The bucket for payloads and results that are too large for an item (claim check)."""

    def put(self, key: str, text: str) -> None:
        """Store a JSON text."""

    def get(self, key: str) -> str | None:
        """Return it, or ``None`` where it is gone."""

    def mark_finished(self, key: str, keep_until: datetime) -> None:
        """Let it expire: its job is final."""

    def mark_live(self, key: str) -> None:
        """Keep it: its job was redriven."""
