"""Cursors: opaque, tied to their filters."""

from __future__ import annotations

import base64
import json

import pytest

from hourhand.domain.errors import InvalidInput
from hourhand.ports.job_store import ListingPosition
from hourhand.services.cursors import read_cursor, write_cursor

POSITION = ListingPosition(1_767_603_600_000, "abcdefghij")


def _encode(value: object) -> str:
    return base64.urlsafe_b64encode(json.dumps(value).encode()).decode().rstrip("=")


def test_a_cursor_leads_back_to_its_place() -> None:
    assert read_cursor(write_cursor(POSITION, "f"), "f") == POSITION


def test_a_cursor_of_other_filters_is_refused() -> None:
    with pytest.raises(InvalidInput) as refused:
        read_cursor(write_cursor(POSITION, "f"), "g")
    assert [error.field for error in refused.value.errors] == ["cursor"]


def _with_check(created_ms: object, tie: object, version: object = 1) -> str:
    *_, check = json.loads(base64.urlsafe_b64decode(write_cursor(POSITION, "f") + "=="))
    return _encode([version, created_ms, tie, check])


@pytest.mark.parametrize(
    "cursor",
    [
        "",
        "x",
        "not a cursor",
        "ü",
        "A" * 201,
        _encode(5),
        _encode(None),
        _encode([1, 2]),
        _encode({"a": 1, "b": 2, "c": 3, "d": 4}),
        _with_check(POSITION.created_ms, POSITION.tie, version=2),
        _with_check(str(POSITION.created_ms), POSITION.tie),
        _with_check(True, POSITION.tie),
        _with_check(POSITION.created_ms, 5),
        _with_check(POSITION.created_ms + 1, POSITION.tie),
        _with_check(POSITION.created_ms, "bcdefghijk"),
        base64.urlsafe_b64encode(b"[" * 140).decode(),
        base64.urlsafe_b64encode(b"\xff\xfe\xfd").decode(),
    ],
)
def test_what_we_did_not_write_is_refused_naming_the_field(cursor: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        read_cursor(cursor, "f")
    assert [error.field for error in refused.value.errors] == ["cursor"]
