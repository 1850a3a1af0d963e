"""Changes of a job: at least one field, and only one may be removed."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from hourhand.api.requests._limits import MAX_PAYLOAD_BYTES
from hourhand.api.requests.jobs import JobPatch
from hourhand.domain.errors import InvalidInput, TooLarge
from hourhand.domain.jobs.job import Priority


def test_what_is_given_is_told_apart_from_what_is_not() -> None:
    patch = JobPatch.parse({"priority": "low", "payload": None, "expires_at": None})
    assert patch.changes_expiry
    assert (patch.priority, patch.payload_text, patch.expires_at) == (Priority.LOW, "null", None)


def test_a_payload_that_was_not_sent_stays() -> None:
    patch = JobPatch.parse({"run_at": "2026-11-21T09:00:00Z"})
    assert patch.payload_text is None
    assert not patch.changes_expiry
    assert patch.run_at == datetime(2026, 11, 21, 9, tzinfo=UTC)


@pytest.mark.parametrize(
    ("raw", "field", "message"),
    [
        ({}, "body", "must have at least one of run_at, delay_seconds"),
        ([], "body", "must be a JSON object"),
        ({"run_at": None}, "run_at", "must not be null"),
        ({"delay_seconds": None}, "delay_seconds", "must not be null"),
        ({"priority": None, "payload": 1}, "priority", "must not be null"),
        ({"handler": "other"}, "handler", "is not a known field"),
        ({"tags": {}}, "tags", "is not a known field"),
        ({"delay_seconds": -1}, "delay_seconds", "at least 0"),
        ({"run_at": "2026-11-21T09:00:00Z", "delay_seconds": 1}, "delay_seconds", "run_at"),
        ({"payload": float("nan")}, "payload", "must be JSON"),
    ],
)
def test_a_wrong_change_names_the_field(raw: Any, field: str, message: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        JobPatch.parse(raw)
    faults = {fault.field: fault.message for fault in caught.value.errors}
    assert message in faults[field]


def test_a_payload_that_is_too_large_is_refused() -> None:
    with pytest.raises(TooLarge):
        JobPatch.parse({"payload": "x" * MAX_PAYLOAD_BYTES})
