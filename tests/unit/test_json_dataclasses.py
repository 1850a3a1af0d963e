"""Dataclasses as JSON and back, in the two forms that there are."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta, timezone
from enum import StrEnum
from types import SimpleNamespace
from typing import Annotated, Any

import pytest

from hourhand.answers.answered import Answered
from hourhand.json_dataclasses import (
    JsonName,
    Misfit,
    from_json,
    from_record,
    read_record,
    record_text,
    to_json,
    to_record,
)

AT = datetime(2026, 1, 5, 9, 0, 0, 250_000, UTC)
AT_MS = 1_767_603_600_250


class Colour(StrEnum):
    RED = "red"
    BLUE = "blue"


class Part(Answered):
    """A part of an answer."""

    size: float
    at: datetime | None


class Whole(Answered):
    """An answer with every kind of field."""

    name: str
    colour: Annotated[str, Colour]
    count: int
    is_new: bool
    start: Annotated[datetime, JsonName("from"), "When it begins."]
    part: Part | None
    parts: tuple[Part, ...]
    tags: Mapping[str, str]
    words: tuple[str, ...]
    value: Any
    remarks: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Span:
    first: date
    last: date


@dataclass(frozen=True, slots=True)
class Word:
    text: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Inner:
    colour: Colour
    limit: int | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Record:
    at: datetime
    inner: Inner
    exclude: tuple[Span | Word, ...]
    spans: Mapping[int, Span] = field(default_factory=dict)
    shares: Mapping[Colour, float] = field(default_factory=dict)
    size: float = 1.5
    until: datetime | None = None
    last: Span | Word | None = None


WHOLE = Whole(
    name="n",
    colour=Colour.RED,
    count=2,
    is_new=False,
    start=AT,
    part=Part(size=3.0, at=None),
    parts=(Part(size=0.5, at=AT),),
    tags={"a": "b"},
    words=("x", "y"),
    value={"any": [1, None]},
)
TOLD: dict[str, Any] = {
    "name": "n",
    "colour": "red",
    "count": 2,
    "is_new": False,
    "from": "2026-01-05T09:00:00.250Z",
    "part": {"size": 3, "at": None},
    "parts": [{"size": 0.5, "at": "2026-01-05T09:00:00.250Z"}],
    "tags": {"a": "b"},
    "words": ["x", "y"],
    "value": {"any": [1, None]},
}
RECORD = Record(
    at=AT,
    inner=Inner(colour=Colour.BLUE),
    exclude=(Span(date(2026, 1, 1), date(2026, 1, 2)), Word("@daily")),
    spans={7: Span(date(2026, 2, 1), date(2026, 2, 2))},
    shares={Colour.RED: 0.25},
    last=Word("w"),
)
KEPT = {
    "at": AT_MS,
    "inner": {"colour": "blue"},
    "exclude": [{"Span": ["2026-01-01", "2026-01-02"]}, {"Word": ["@daily"]}],
    "spans": {"7": ["2026-02-01", "2026-02-02"]},
    "shares": {"red": 0.25},
    "size": 1.5,
    "last": {"Word": ["w"]},
}


def test_an_answer_is_written_with_all_its_fields_in_their_order() -> None:
    assert json.dumps(to_json(Whole, WHOLE)) == json.dumps(TOLD)


def test_an_answer_is_read_as_it_was_written() -> None:
    read = from_json(Whole, TOLD)
    assert read == WHOLE
    assert (read.raw, read.parts[0].raw) == (TOLD, TOLD["parts"][0])


def test_another_class_is_the_source_of_fields_of_the_same_name_and_the_caller_of_others() -> None:
    source = SimpleNamespace(size=2.0, at=AT, secret="s")
    assert to_json(Part, source) == {"size": 2, "at": "2026-01-05T09:00:00.250Z"}
    assert to_json(Part, source, at=None) == {"size": 2, "at": None}
    whole = to_json(Whole, WHOLE, start=AT + timedelta(days=1), part=source, parts=[{"size": 1}])
    assert whole["from"] == "2026-01-06T09:00:00.250Z"
    assert (whole["part"]["size"], whole["parts"]) == (2, [{"size": 1}])


def test_a_field_that_the_answer_has_not_is_a_mistake() -> None:
    with pytest.raises(AssertionError, match="Part has not all of"):
        to_json(Part, WHOLE.part, width=1)


def test_a_field_with_a_default_is_left_out_where_it_is_empty() -> None:
    assert "remarks" not in to_json(Whole, WHOLE)
    assert to_json(Whole, WHOLE, remarks=["r"])["remarks"] == ["r"]
    assert from_json(Whole, {**TOLD, "remarks": ["r"]}).remarks == ("r",)


def test_what_a_newer_server_adds_is_ignored_and_its_names_are_let_through() -> None:
    read = from_json(Whole, {**TOLD, "colour": "green", "shape": "round"})
    assert (read.colour, read.raw["shape"]) == ("green", "round")


def test_what_an_older_server_lacks_is_none_where_that_is_allowed() -> None:
    older = {name: value for name, value in TOLD.items() if name not in {"part", "value"}}
    read = from_json(Whole, older)
    assert (read.part, read.value) == (None, None)


def test_a_time_is_read_with_its_own_offset() -> None:
    read = from_json(Part, {"size": 1, "at": "2026-01-05T10:00:00.250+01:00"})
    assert read.at == AT
    assert read.at is not None
    assert read.at.tzinfo == timezone(timedelta(hours=1))


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"name": 5}, "answer.name should be a string, and is of type int"),
        ({"count": 1.5}, "answer.count should be a whole number, and is of type float"),
        ({"count": True}, "answer.count should be a whole number, and is of type bool"),
        ({"count": None}, "answer.count should be a whole number, and is of type NoneType"),
        ({"is_new": 0}, "answer.is_new should be true or false, and is of type int"),
        ({"from": "today"}, "answer.from should be a time with an offset, and is of type str"),
        ({"from": 5}, "answer.from should be a time with an offset, and is of type int"),
        ({"from": "2026-01-05"}, "answer.from should be a time with an offset, and is of type str"),
        ({"part": []}, "answer.part should be an object, and is of type list"),
        ({"part": {"size": "1"}}, "answer.part.size should be a number, and is of type str"),
        ({"part": {"at": None}}, "it lacks answer.part.size"),
        ({"parts": {}}, "answer.parts should be an array, and is of type dict"),
        ({"parts": [{}]}, "it lacks answer.parts[0].size"),
        ({"words": ["x", 5]}, "answer.words[1] should be a string, and is of type int"),
        ({"tags": {"a": 5}}, "answer.tags.a should be a string, and is of type int"),
    ],
)
def test_what_does_not_fit_an_answer_is_named_with_its_place(change: Any, said: str) -> None:
    with pytest.raises(Misfit) as raised:
        from_json(Whole, {**TOLD, **change})
    assert str(raised.value) == said


def test_a_record_is_short_and_equal_values_have_one_text() -> None:
    assert to_record(Record, RECORD) == {**KEPT, "spans": {7: ["2026-02-01", "2026-02-02"]}}
    assert json.loads(record_text(Record, RECORD)) == KEPT
    assert record_text(Record, RECORD) == json.dumps(KEPT, sort_keys=True, separators=(",", ":"))


def test_a_record_is_read_as_it_was_written() -> None:
    read = read_record(Record, record_text(Record, RECORD))
    assert read == RECORD
    assert read.inner.colour is Colour.BLUE
    assert list(read.shares) == [Colour.RED]


def test_what_an_older_record_lacks_is_the_default_and_what_a_newer_one_adds_is_ignored() -> None:
    older = {"at": AT_MS, "inner": {"colour": "red", "shape": "round"}, "exclude": [], "more": 1}
    inner = Inner(colour=Colour.RED)
    assert from_record(Record, older) == Record(at=AT, inner=inner, exclude=())
    assert from_record(Word, ["w", "more"]) == Word("w")


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"at": "2026-01-05T09:00:00Z"}, "record.at should be a whole number, and is of type str"),
        ({"inner": {}}, "it lacks record.inner.colour"),
        ({"inner": {"colour": "green"}}, "record.inner.colour should be one of red, blue, and is"),
        ({"exclude": [["w"]]}, "record.exclude[0] should be an object with one member of Span"),
        ({"exclude": [{"Weather": ["w"]}]}, "record.exclude[0] should be an object with one"),
        ({"exclude": [{"Word": "w"}]}, "record.exclude[0] should be an array, and is of type str"),
        ({"exclude": [{"Span": ["2026-01-01"]}]}, "it lacks record.exclude[0].last"),
        ({"exclude": [{"Span": ["2026-01-01", 5]}]}, "record.exclude[0].last should be a date"),
        ({"spans": {"7": {}}}, "record.spans.7 should be an array, and is of type dict"),
        ({"spans": {"x": ["2026-02-01", "2026-02-02"]}}, "record.spans should be an object whose"),
        (
            {"shares": {"green": 1.0}},
            "record.shares should be an object whose names",
        ),
    ],
)
def test_what_does_not_fit_a_record_is_named_with_its_place(change: Any, said: str) -> None:
    with pytest.raises(Misfit) as raised:
        from_record(Record, {**KEPT, **change})
    assert str(raised.value).startswith(said)


def test_a_text_that_is_no_json_is_no_record() -> None:
    with pytest.raises(ValueError, match="Expecting value"):
        read_record(Record, "")
