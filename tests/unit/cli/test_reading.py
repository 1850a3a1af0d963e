"""What people type is read as they mean it, or refused with a sentence."""

from __future__ import annotations

import io
import sys
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
import typer

from hourhand.cli.quantities import NotAQuantity, Reader, count, share, size_bytes
from hourhand.cli.reading import (
    read_anchor,
    read_duration,
    read_json,
    read_tag,
    read_time,
    read_time_or_duration,
)


@pytest.fixture
def vienna(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Stand in a zone with summer time."""
    monkeypatch.setenv("TZ", "Europe/Vienna")
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("90", 90), ("90s", 90), ("5m", 300), ("1.5h", 5400), ("2 d", 172_800), ("250ms", 0.25)],
)
def test_a_duration_has_a_unit_or_is_in_seconds(text: str, seconds: float) -> None:
    assert read_duration(text) == seconds


@pytest.mark.parametrize("text", ["", "-5", "5 parsecs", "1e9", "nan", "inf", "5m3s", "9" * 400])
def test_what_is_no_duration_is_refused_with_what_is(text: str) -> None:
    with pytest.raises(typer.BadParameter, match="must be a duration such as 90s"):
        read_duration(text)


def test_a_time_without_an_offset_is_meant_where_the_machine_is(vienna: None) -> None:
    assert read_time("2027-07-01T09:00").astimezone(UTC) == datetime(2027, 7, 1, 7, tzinfo=UTC)
    assert read_time("2027-01-01 09:00").astimezone(UTC) == datetime(2027, 1, 1, 8, tzinfo=UTC)


@pytest.mark.parametrize("text", ["2027-07-01T09:00Z", "2027-07-01T11:00+02:00"])
def test_a_time_with_an_offset_is_meant_there(vienna: None, text: str) -> None:
    assert read_time(text) == datetime(2027, 7, 1, 9, tzinfo=UTC)


def test_an_anchor_without_an_offset_stays_local(vienna: None) -> None:
    assert read_anchor(" 2027-07-01T09:00") == "2027-07-01T09:00:00"
    assert read_anchor("2027-07-01T11:00+02:00") == "2027-07-01T09:00:00.000Z"
    with pytest.raises(typer.BadParameter, match="must be a time such as"):
        read_anchor("tomorrow")


@pytest.mark.parametrize("text", ["tomorrow", "", "2027-13-01", "0001-01-01T00:00"])
def test_what_is_no_time_is_refused_with_what_is(vienna: None, text: str) -> None:
    with pytest.raises(typer.BadParameter, match="must be a time such as 2027-01-31T09:00"):
        read_time(text)


def test_how_long_ago_is_a_duration_or_a_time() -> None:
    assert read_time_or_duration("2h") == timedelta(hours=2)
    assert read_time_or_duration("2027-07-01T09:00Z") == datetime(2027, 7, 1, 9, tzinfo=UTC)
    with pytest.raises(
        typer.BadParameter, match="must be a duration such as 90s, 5m or 2h, or a time"
    ):
        read_time_or_duration("yesterday")


def test_a_tag_is_parted_at_its_first_colon() -> None:
    assert read_tag("url:http://x") == ("url", "http://x")
    assert read_tag("empty:") == ("empty", "")
    for text in ("nocolon", ":value", ""):
        with pytest.raises(typer.BadParameter, match="must be key:value"):
            read_tag(text)


def test_a_payload_is_typed_or_in_a_file_or_on_stdin(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "payload.json"
    file.write_text('{"a": "ä"}', encoding="utf-8")
    monkeypatch.setattr(sys, "stdin", io.StringIO("[1, 2]"))
    assert read_json("12", "PAYLOAD") == 12
    assert read_json(f"@{file}", "PAYLOAD") == {"a": "ä"}
    assert read_json("-", "PAYLOAD") == [1, 2]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("hello", "the value is not valid JSON.*quotes of its own"),
        ("{customer: acme}", "names and strings need double quotes"),
        ('{"customer": acme}', "names and strings need double quotes"),
        ("[acme]", "names and strings need double quotes"),
        ("NaN", "NaN is not a JSON number"),
        ("[" * 100_000, "is not valid JSON"),
        ("@/nowhere/at/all", "cannot be read"),
    ],
)
def test_what_is_no_json_is_refused_with_the_reason(text: str, said: str) -> None:
    with pytest.raises(typer.BadParameter, match=said):
        read_json(text, "PAYLOAD")


@pytest.mark.parametrize(
    ("reader", "text", "value"),
    [
        (count, "250", 250),
        (count, "250,000", 250_000),
        (count, "250_000", 250_000),
        (count, "10k", 10_000),
        (count, "10M", 10_000_000),
        (count, "10 m", 10_000_000),
        (count, "1.5B", 1_500_000_000),
        (count, ".5M", 500_000),
        (share, "30%", 0.3),
        (share, "0%", 0),
        (share, "100 %", 1),
        (share, "0.5%", 0.005),
        (size_bytes, "200B", 200),
        (size_bytes, "2KB", 2048),
        (size_bytes, "2 kib", 2048),
        (size_bytes, "1.5MB", 1_572_864),
        (size_bytes, "1GB", 1_073_741_824),
    ],
)
def test_a_quantity_is_read_as_people_write_it(reader: Reader, text: str, value: float) -> None:
    assert reader(text) == pytest.approx(value)


@pytest.mark.parametrize(
    ("reader", "text", "allowed"),
    [
        (count, "ten", "10M"),
        (count, "10Q", "10M"),
        (count, "-5", "10M"),
        (count, "", "10M"),
        (count, "1e6", "10M"),
        (share, "30", "such as 30%"),
        (share, "0.3", "such as 30%"),
        (share, "101%", "at most 100%"),
        (size_bytes, "2048", "with its unit"),
        (size_bytes, "2K", "with its unit"),
        (size_bytes, "1.2.3MB", "with its unit"),
    ],
)
def test_what_is_none_is_refused_with_what_is_allowed(
    reader: Reader, text: str, allowed: str
) -> None:
    with pytest.raises(NotAQuantity, match=allowed) as refused:
        reader(text)
    assert repr(text) in str(refused.value)
