"""What callers send about schedules: notes, backfills, previews and pages."""

from __future__ import annotations

from dataclasses import asdict
from datetime import UTC, datetime
from typing import Any

import pytest
from pydantic import BaseModel

from hourhand.api.requests.schedule_operations import (
    BackfillInput,
    NoteInput,
    PageRequest,
    PreviewInput,
)
from hourhand.domain.errors import HourhandError, InvalidInput, NotSupportedYet, TooLarge
from hourhand.domain.groups.overlap import OverlapPolicy
from hourhand.domain.schedules.schedule import BackfillOrder, Reprocess

RANGE = {"from": "2026-01-01T00:00:00+01:00", "to": "2026-01-02T00:00:00Z"}


def refusal(model: Any, raw: object) -> HourhandError:
    with pytest.raises(HourhandError) as caught:
        model.parse(raw)
    return caught.value


def test_a_note_may_be_left_out() -> None:
    assert NoteInput.parse({}).note is None
    assert NoteInput.parse({"note": None}).note is None
    assert NoteInput.parse({"note": "n" * 1000}).note == "n" * 1000


def test_a_backfill_has_defaults_for_all_but_its_range() -> None:
    for raw in (RANGE, {**dict.fromkeys(("overlap", "order", "max_active", "dry_run")), **RANGE}):
        parsed = BackfillInput.parse(raw)
        assert parsed.start == datetime(2025, 12, 31, 23, tzinfo=UTC)
        assert parsed.end == datetime(2026, 1, 2, tzinfo=UTC)
        assert (parsed.overlap, parsed.order) == (OverlapPolicy.BUFFER_ALL, BackfillOrder.OLDEST)
        assert (parsed.max_active, parsed.reprocess) == (None, Reprocess.NONE)
        assert (parsed.dry_run, parsed.note) == (False, "")


def test_every_field_of_a_backfill_is_taken() -> None:
    chosen = {
        "overlap": "allow",
        "order": "newest",
        "max_active": 100,
        "reprocess": "failed",
        "dry_run": True,
        "note": "again",
    }
    parsed = BackfillInput.parse({**RANGE, **chosen})
    assert asdict(parsed).items() >= chosen.items()


@pytest.mark.parametrize(
    ("model", "raw", "field", "message"),
    [
        (NoteInput, {"note": "n" * 1001}, "note", "at most 1000"),
        (NoteInput, {"reason": "x"}, "reason", "The fields are note"),
        (NoteInput, [], "body", "JSON object"),
        (BackfillInput, {"to": RANGE["to"]}, "from", "is required"),
        (BackfillInput, {"from": RANGE["from"]}, "to", "is required"),
        (BackfillInput, {**RANGE, "from": "2026-01-01"}, "from", "RFC 3339"),
        (BackfillInput, {**RANGE, "from": None}, "from", "RFC 3339"),
        (BackfillInput, {**RANGE, "from": "0001-01-01T00:00:00Z"}, "from", "1970 or later"),
        (BackfillInput, {**RANGE, "start": RANGE["from"]}, "start", "The fields are from, to"),
        (BackfillInput, {**RANGE, "overlap": "queue"}, "overlap", "'buffer_all'"),
        (BackfillInput, {**RANGE, "order": "random"}, "order", "'oldest' or 'newest'"),
        (BackfillInput, {**RANGE, "max_active": 0}, "max_active", "at least 1"),
        (BackfillInput, {**RANGE, "max_active": 101}, "max_active", "at most 100"),
        (BackfillInput, {**RANGE, "reprocess": "some"}, "reprocess", "'none', 'failed' or 'all'"),
        (BackfillInput, {**RANGE, "dry_run": 1}, "dry_run", "true or false"),
        (BackfillInput, [], "body", "JSON object"),
        (PreviewInput, {}, "schedule", "is required"),
        (PreviewInput, {"schedule": "@daily"}, "schedule", "JSON object"),
        (PreviewInput, {"schedule": {}}, "schedule.expression", "is required"),
        (PreviewInput, {"schedule": {"expression": ["x"]}}, "schedule.expression[0]", "In 'x'"),
        (
            PreviewInput,
            {"schedule": {"expression": "@daily", "exclude": [{"from": 1, "to": "2026-01-01"}]}},
            "schedule.exclude[0].from",
            "must be a date",
        ),
        (
            PreviewInput,
            {"schedule": {"expression": "@daily", "timezone": "Mars"}},
            "schedule.timezone",
            "no time zone",
        ),
        (
            PreviewInput,
            {"schedule": {"expression": "@daily", "id": "x"}},
            "schedule.id",
            "is not a field of the body",
        ),
        (PreviewInput, {"schedule": {"expression": "@daily"}, "count": 0}, "count", "at least 1"),
        (
            PreviewInput,
            {"schedule": {"expression": "@daily"}, "count": 1001},
            "count",
            "at most 1,000",
        ),
        (
            PreviewInput,
            {"schedule": {"expression": "@daily"}, "after": "2026-01-01"},
            "after",
            "RFC 3339",
        ),
        (
            PreviewInput,
            {"expression": "@daily", "schedule": {"expression": "@daily"}},
            "expression",
            "The fields are schedule, count, after",
        ),
        (PreviewInput, 5, "body", "JSON object"),
    ],
)
def test_a_wrong_field_is_named_with_what_is_allowed(
    model: type[BaseModel], raw: object, field: str, message: str
) -> None:
    error = refusal(model, raw)
    assert isinstance(error, InvalidInput)
    (fault,) = error.errors
    assert (fault.field, message in fault.message) == (field, True)


def test_a_preview_needs_no_handler() -> None:
    parsed = PreviewInput.parse({"schedule": {"expression": "rate(1 day)"}})
    assert (parsed.definition.expressions, parsed.definition.handler) == (("rate(1 day)",), "")
    assert (parsed.count, parsed.after) == (10, None)


def test_a_preview_takes_what_a_schedule_takes() -> None:
    whole = {
        "schedule": {"expression": "@daily", "handler": "greet", "timezone": "Asia/Kathmandu"},
        "count": 1000,
        "after": "2026-01-01T00:00:00Z",
    }
    parsed = PreviewInput.parse(whole)
    assert (parsed.definition.handler, parsed.definition.timezone) == ("greet", "Asia/Kathmandu")
    assert (parsed.count, parsed.after) == (1000, datetime(2026, 1, 1, tzinfo=UTC))


def test_the_faults_of_a_previewed_schedule_are_of_the_same_kind() -> None:
    later = refusal(PreviewInput, {"schedule": {"expression": "@daily", "pool": "gpu"}})
    large = refusal(PreviewInput, {"schedule": {"expression": "@daily", "payload": "x" * 256_000}})
    assert isinstance(later, NotSupportedYet)
    assert isinstance(large, TooLarge)
    fields = [fault.field for error in (later, large) for fault in error.errors]
    assert fields == ["schedule.pool", "schedule.payload"]


def test_a_page_holds_fifty_unless_asked() -> None:
    assert PageRequest.parse({}).limit == 50
    assert PageRequest.parse({"limit": "200", "cursor": "c"}).limit == 200


@pytest.mark.parametrize(
    ("query", "field"),
    [
        ({"limit": "0"}, "limit"),
        ({"limit": "201"}, "limit"),
        ({"cursor": ""}, "cursor"),
        ({"status": "active"}, "status"),
    ],
)
def test_a_wrong_page_names_its_field(query: dict[str, str], field: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        PageRequest.parse(query)
    assert [fault.field for fault in caught.value.errors] == [field]
